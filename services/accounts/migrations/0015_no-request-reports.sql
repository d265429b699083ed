-- Up Migration
-- A report of requests is sent once.
DROP TABLE accounts.key_request_reports;
