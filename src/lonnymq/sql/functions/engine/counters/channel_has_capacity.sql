-- Which of these channels cannot simply be filled, because they have a capacity or are being released.
-- Answers: their names. Whoever asks has been given its transaction id before (commit_durably).
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
'Which of these channels have a capacity or are being released.';
