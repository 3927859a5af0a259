-- Lists the streams by name, with the claims that are not acknowledged yet.
create or replace function lonnymq.stream_list()
returns table (
  name text, epoch bigint, acknowledged bigint, opened_at bigint, claims bigint, messages bigint,
  claimed_at bigint
)
language sql
stable
as $$
  select s.name, s.epoch, s.acknowledged, s.opened_at, count(c.seq),
    coalesce(sum(p.messages), 0)::bigint, min(c.made_at)
  from lonnymq.stream s
  left join lonnymq.claim c on c.stream = s.name
  left join lateral (
    select sum(cardinality(p.message_ids)) as messages
    from lonnymq.claim_part p where p.stream = c.stream and p.seq = c.seq
  ) p on true
  group by s.name
  order by s.name
$$;

comment on function lonnymq.stream_list() is
'Lists the streams and their claims.';
