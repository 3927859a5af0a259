-- What becomes of messages that are to be created, before any is: see message_create_each. A key that is
-- taken, or that came before among them, is a duplicate; a capacity is given to the rest in their order.
--
-- Answers: one row a message, in the order given: the answer with its reason; the id, drawn in that order; the live
--   message that holds the key, or this one; the ordinal of the first of its key among them.
create or replace function lonnymq.message_judge(p_channels text[], p_keys text[])
returns table (
  answer text, id bigint, holder_id bigint, first integer, reason text, size bigint, max_size bigint
)
language sql
volatile
as $$
  with drawn as materialized (
    select i.*, nextval('lonnymq.message_id_seq') as id
    from unnest(p_channels, p_keys) with ordinality as i (channel, key, ordinal)
  ), level as materialized (
    select c.name as channel, l.*
    from (select distinct i.name from unnest(p_channels) as i (name)) c
    cross join lateral lonnymq.channel_level(c.name) l
  ), keyed as materialized (
    select d.*,
      min(d.ordinal) over (
        partition by d.channel, coalesce(d.key, d.ordinal::text), d.key is null) as first,
      coalesce((
        -- An older snapshot shows a message that is gone beside the caller's own. Not by the primary key.
        select m.id from lonnymq.message m where m.channel = d.channel and m.key = d.key order by -m.id limit 1
      ), (
        select h.message_id from lonnymq.key_hold h
        where h.channel = d.channel and h.key = d.key and h.until_at > lonnymq.epoch() limit 1
      )) as live_id
    from drawn d
  ), ranked as materialized (
    select n.*, count(*) filter (where n.live_id is null and n.first = n.ordinal)
        over (partition by n.channel order by n.ordinal) as rank
    from keyed n
  ), judged as (
    select k.*, l.answer as no, l.reason, l.max_size,
      case when l.max_size is not null then l.size + least(k.rank, l.room) end as size,
      case
        when k.live_id is not null then 'duplicate'
        when first_value(k.rank) over (partition by k.channel, k.first order by k.ordinal) > l.room
          then l.answer
        when k.first < k.ordinal then 'duplicate'
        else 'created'
      end as answer
    from ranked k join level l on l.channel = k.channel
  )
  select j.answer, j.id, coalesce(j.live_id, j.id), j.first::integer,
    case when j.answer = j.no then j.reason end, j.size, j.max_size
  from judged j
  order by j.ordinal
$$;

comment on function lonnymq.message_judge(text[], text[]) is
'The outcome of messages before they are created: existing keys, capacities.';
