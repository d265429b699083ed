-- Up Migration
-- Reports whose counts are in key_requests, for 7 days, so that one that is sent again counts once.
CREATE TABLE accounts.key_request_reports (
  report_id uuid PRIMARY KEY,
  report_time timestamptz NOT NULL
);

-- For the sweep.
CREATE INDEX key_request_reports_oldest ON accounts.key_request_reports (report_time);
