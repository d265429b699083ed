-- Up Migration
-- A request is found by its ID, or by what pages show of it: the last 8 characters. One index serves both.
CREATE INDEX user_events_by_request_ending ON accounts.user_events (right(request_id, 8));
DROP INDEX accounts.user_events_by_request;
CREATE INDEX refused_requests_by_request_ending ON accounts.refused_requests (right(request_id, 8));
DROP INDEX accounts.refused_requests_by_request;
