-- When a key was last used, exact to about a minute.
alter table api_key add column last_used_at timestamptz;
