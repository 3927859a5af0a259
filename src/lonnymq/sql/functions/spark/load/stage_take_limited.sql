-- The careful half of stage_take: the rows of channels that have a capacity or are being released. A
-- capacity takes the first ones that fit; a row whose key is taken needs no room.
create or replace function lonnymq.stage_take_limited(
  p_stage bigint,
  p_channels text[],
  p_now bigint,
  p_begin bigint,
  out created bigint,
  out duplicate bigint,
  out dropped bigint,
  out rejected bigint
)
language plpgsql
as $$
declare
  v_added text[];
begin
  execute format('
    with room as materialized (
      select i.name as channel, r.room, r.answer, r.reason
      from unnest($3) as i (name) cross join lateral lonnymq.channel_free_capacity(i.name) r
    ), drawn as materialized (
      select s.*, s.ctid as place, nextval(''lonnymq.message_id_seq'') as id
      from lonnymq.%1$I s where s.answer is null and s.channel = any ($3)
    ), keyed as materialized (
      select d.*,
        row_number() over (partition by d.channel, d.key order by d.place) as nth,
        (
          select m.id from lonnymq.message m where m.channel = d.channel and m.key = d.key limit 1
        ) is not null as is_live
      from drawn d
    ), ranked as materialized (
      select n.*, count(*) filter (where not n.is_live and (n.key is null or n.nth = 1))
          over (partition by n.channel order by n.place) as rank
      from keyed n
    ), judged as materialized (
      select k.*, r.answer as no, r.reason as why, case
          when k.is_live then ''duplicate''
          when k.key is not null and k.nth > 1 then case
            when first_value(k.rank) over (partition by k.channel, k.key order by k.nth) <= r.room
              then ''duplicate'' else r.answer end
          when k.rank <= coalesce(r.room, k.rank) then ''created''
          else r.answer
        end as fate
      from ranked k join room r on r.channel = k.channel
    ), added as (
      insert into lonnymq.message (id, channel, content, dequeue_at, created_at, key, kind, headers)
      select j.id, j.channel, j.content, coalesce(j.dequeue_at,
          case when j.delay_ms > 0 then $1 + j.delay_ms else $2 end), $1, j.key, j.kind, j.headers
      from judged j where j.fate = ''created''
      order by j.channel, j.key nulls last, j.id
      on conflict (channel, key) where key is not null do nothing
      returning message.channel
    ), kept as (
      update lonnymq.%1$I s set answer = j.fate, reason = j.why,
        detail = format(''channel %%s is %%s'', s.channel,
          case j.why when ''full'' then ''full'' else ''being released'' end)
      from judged j where s.ctid = j.place and j.fate in (''dropped'', ''rejected'')
    )
    select array(select a.channel from added a), (select count(*) from added),
      count(*) filter (where j.fate in (''created'', ''duplicate'')) - (select count(*) from added),
      count(*) filter (where j.fate = ''dropped''), count(*) filter (where j.fate = ''rejected'')
    from judged j', 'stage_' || p_stage)
  into v_added, created, duplicate, dropped, rejected using p_now, p_begin, p_channels;
  insert into lonnymq.change (channel, rescan, notified, size)
  select a.channel, true, true, count(*) from unnest(v_added) as a (channel) group by a.channel;
end
$$;

comment on function lonnymq.stage_take_limited(bigint, text[], bigint, bigint) is
'The careful half of stage_take: capacities, channels being released.';
