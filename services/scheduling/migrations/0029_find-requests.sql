-- Up Migration
-- A request leads to what was done in it, by its ID or by what pages show of it: the last 8 characters, which are random. Imported reviews
-- have none. No review is made while the index is built.
CREATE INDEX reviews_by_request_ending ON scheduling.reviews (right(x_request_id, 8)) WHERE x_request_id IS NOT NULL;
CREATE INDEX snoozes_by_request_ending ON scheduling.snoozes (right(x_request_id, 8)) WHERE x_request_id IS NOT NULL;
