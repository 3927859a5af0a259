-- How many messages a channel with a capacity holds: what was folded, and what is committed but not
-- folded yet. All is read from one snapshot, so that no note counts twice.
-- Where that is not known, because the capacity is new or messages came in by COPY a moment ago, they are
-- counted, up to p_most.
create or replace function lonnymq.channel_size(
  p_channel text, p_channel_id bigint, p_is_folded boolean, p_most bigint
)
returns bigint
language sql
stable
as $$
  select case when p_is_folded and not c.recount then c.size else (
      select count(*) from (
        select from lonnymq.message m where m.channel = p_channel limit p_most
      ) m
    ) end
  from (
    select coalesce(bool_or(n.recount), false) as recount, coalesce(sum(n.size), 0) + coalesce((
        select m.size from lonnymq.meter m
        where m.channel_id = p_channel_id
        order by m.version desc limit 1
      ), 0) as size
    from lonnymq.tick_now() t
    cross join lateral (
      select n.size, n.recount from lonnymq.note n
      where n.channel = p_channel and (n.size <> 0 or n.recount) and n.xid >= t.until
      union all
      select n.size, n.recount from lonnymq.note n
      where n.channel = p_channel and (n.size <> 0 or n.recount) and n.xid = any (t.again)
        and n.xid < t.until
    ) n
  ) c
$$;

comment on function lonnymq.channel_size(text, bigint, boolean, bigint) is
'How many messages a channel with a capacity holds.';
