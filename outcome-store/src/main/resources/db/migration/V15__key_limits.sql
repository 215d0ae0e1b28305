-- What a key may do at most, where it differs from what the installation allows every key; null for no difference.
alter table api_key add column rate_per_second double precision check (rate_per_second > 0);
alter table api_key add column rate_burst int check (rate_burst > 0);
alter table api_key add column max_body_bytes bigint check (max_body_bytes > 0);
