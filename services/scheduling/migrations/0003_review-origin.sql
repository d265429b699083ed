-- Up Migration
-- Which request made a review: the id under which every tier logged it, and the caller's W3C trace, if there was one.
-- Named as the headers are, since request_id is already the name of what makes a write repeatable.
ALTER TABLE scheduling.reviews ADD COLUMN x_request_id text, ADD COLUMN traceparent text;
