-- Which of these channels have a capacity or are being retired, so that each message must be checked.
-- Answers: the names. The caller already has a transaction id (commit_durably).
create or replace function lonnymq.channel_has_capacity(p_channels text[])
returns text[]
language sql
stable
as $$
  select coalesce(array_agg(i.name), '{}')
  from unnest(p_channels) as i (name)
  cross join lateral lonnymq.channel_policy(i.name) p
  where p.max_size is not null or p.retiring
$$;

comment on function lonnymq.channel_has_capacity(text[]) is
'Which of these channels have a capacity or are being retired.';
