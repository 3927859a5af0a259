-- How many messages a channel with a capacity holds: what was folded, and what is committed but not
-- folded yet. Both are read from one snapshot, so that nothing counts twice.
-- Where counting has not begun (size_begin), because the capacity is new (also where there was another one
-- before, and none in between) or messages came in by COPY a
-- moment ago, they are counted one by one; so they are when a lease from before the capacity has ended.
create or replace function lonnymq.channel_size(
  p_channel text, p_channel_id bigint, p_is_folded boolean, p_max_size bigint
)
returns bigint
language plpgsql
stable
as $$
declare
  v_channel record;
  v_size bigint;
  v_is_told boolean;
begin
  select c.recount_after, c.early_ids,
    p_is_folded and c.recount_after is distinct from '0'::xid8 and c.size_epoch = coalesce((
      select s.limit_epoch from lonnymq.channel_setting s where s.name = p_channel
    ), 0) as is_counted into v_channel
  from lonnymq.channel c where c.id = p_channel_id;
  if v_channel.is_counted then
    select m.size into v_size from lonnymq.channel_counter m
    where m.channel_id = p_channel_id order by m.version desc limit 1;
    select coalesce(v_size, 0) + t.size, t.has_changes into v_size, v_is_told
    from lonnymq.size_unfolded(p_channel, v_channel.recount_after is not null) t;
  end if;
  if v_is_told and not exists (
    select from unnest(v_channel.early_ids) as i (id)
    where (
      select m.id from lonnymq.message m
      where m.id = i.id and m.token is not null and m.slot & 4 = 0 limit 1
    ) is null)
  then
    return v_size;
  end if;
  return (
    select count(*) from (
      select from lonnymq.message m where m.channel = p_channel limit p_max_size + 1000
    ) m
  );
end
$$;

comment on function lonnymq.channel_size(text, bigint, boolean, bigint) is
'How many messages a channel with a capacity holds.';
