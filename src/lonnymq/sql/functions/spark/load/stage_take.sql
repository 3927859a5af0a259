-- Makes messages of the rows of a stage, in their order, inside the caller's transaction. What message_create
-- would answer to each is what becomes of it: keys that are taken add nothing, a capacity takes the
-- first ones that fit. Rows that are not made messages stay in the stage, with the answer and the reason.
--
-- p_rows is how many there must be: a stage is not logged, and a crash of the server empties it.
--
-- Answers: how many rows were created, are duplicates, were dropped or rejected by their channel, or cannot
--   be messages; raises LM010 if rows are missing.
-- Locks: equal keys, in the order of keys.
-- Notifies: yes.
create or replace function lonnymq.stage_take(
  p_stage bigint,
  p_rows bigint,
  out created bigint,
  out duplicate bigint,
  out dropped bigint,
  out rejected bigint,
  out invalid bigint
)
language plpgsql
set synchronize_seqscans = off
set jit = off
as $$
declare
  v_table text := lonnymq.guard_stage(p_stage);
  v_now bigint := lonnymq.epoch();
  v_begin bigint := lonnymq.epoch(now());
  v_rows bigint;
  v_has_keys boolean;
  v_has_headers boolean;
  v_channels text[];
  v_careful text[];
  v_candidates bigint;
  v_fit record;
begin
  perform lonnymq.commit_durably();
  execute format('
    select coalesce(sum(c.rows), 0), coalesce(sum(c.invalid), 0), coalesce(bool_or(c.has_keys), false),
      coalesce(bool_or(c.has_headers), false),
      coalesce(array_agg(c.channel) filter (where c.rows > c.invalid), ''{}'')
    from (
      select s.channel, count(*) as rows, count(s.answer) as invalid,
        bool_or(s.key is not null) as has_keys, bool_or(s.headers is not null) as has_headers
      from lonnymq.%I s group by s.channel
    ) c', v_table)
  into v_rows, invalid, v_has_keys, v_has_headers, v_channels;
  if v_rows is distinct from p_rows then
    raise exception using errcode = 'LM010',
      message = format('of %s rows staged in stage_%s, %s are left', p_rows, p_stage, v_rows),
      hint = 'Load them again: nothing of the load was published.';
  end if;
  if current_user <> session_user then
    perform lonnymq.guard_channel(c.name) from unnest(v_channels) as c (name);
  end if;
  if v_has_headers then
    execute format('
      update lonnymq.%I s set answer = ''invalid'', reason = ''too_large'',
        detail = ''headers are more than 16384 bytes''
      where s.answer is null and octet_length(s.headers::text) > 16384', v_table);
    get diagnostics v_candidates = row_count;
    invalid := invalid + v_candidates;
  end if;

  v_careful := lonnymq.channel_has_capacity(v_channels);
  dropped := 0;
  rejected := 0;
  if not v_has_keys then
    execute format('
      insert into lonnymq.message (channel, content, dequeue_at, created_at, kind, headers)
      select s.channel, s.content, coalesce(s.dequeue_at,
          case when s.delay_ms > 0 then $1 + s.delay_ms else $2 end), $1, s.kind, s.headers
      from lonnymq.%I s where s.answer is null %s', v_table,
      case when cardinality(v_careful) > 0 then 'and s.channel <> all ($3)' else '' end)
    using v_now, v_begin, v_careful;
    get diagnostics created = row_count;
    duplicate := 0;
  else
    -- Ids are drawn in the order of the rows; keys go in in the order of keys.
    execute format('
      with drawn as materialized (
        select s.*, nextval(''lonnymq.message_id_seq'') as id
        from lonnymq.%I s where s.answer is null and s.channel <> all ($3)
      ), added as (
        insert into lonnymq.message (id, channel, content, dequeue_at, created_at, key, kind, headers)
        select d.id, d.channel, d.content, coalesce(d.dequeue_at,
            case when d.delay_ms > 0 then $1 + d.delay_ms else $2 end), $1, d.key, d.kind, d.headers
        from drawn d order by d.channel, d.key nulls last, d.id
        on conflict (channel, key) where key is not null do nothing
        returning 1
      )
      select (select count(*) from added), (select count(*) from drawn)', v_table)
    into created, v_candidates using v_now, v_begin, v_careful;
    duplicate := v_candidates - created;
  end if;
  if cardinality(v_careful) > 0 then
    v_fit := lonnymq.stage_take_limited(p_stage, v_careful, v_now, v_begin);
    created := created + v_fit.created;
    duplicate := duplicate + v_fit.duplicate;
    dropped := v_fit.dropped;
    rejected := v_fit.rejected;
  end if;

  insert into lonnymq.change (channel, rescan, recount, notified)
  select c.name, true, true, true from unnest(v_channels) as c (name)
  where c.name <> all (v_careful);
  perform pg_notify('lonnymq', '');
end
$$;

comment on function lonnymq.stage_take(bigint, bigint) is
'Makes messages of the rows of a stage.';
