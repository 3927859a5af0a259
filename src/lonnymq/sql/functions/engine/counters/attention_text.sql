-- What is wrong, in a sentence, for queue_attention.
create or replace function lonnymq.attention_text(
  p_reason text, p_figure bigint, p_total bigint, p_since_at bigint, p_now bigint
)
returns text
language sql
stable
as $$
  select case p_reason
    when 'no_workers' then 'Messages wait, and no worker is alive.'
    when 'failing' then format('%s of %s attempts failed in the last 10 minutes.', p_figure, p_total)
    when 'dying' then format('%s died in the last 10 minutes.', n.messages)
    when 'paused' then format('Paused, and %s due. The oldest has waited %s.', n.wait, t.age)
    when 'saturated' then format('At the limit, and %s due. The oldest has waited %s.', n.wait, t.age)
    when 'throttled'
      then format('At the rate limit, and %s due. The oldest has waited %s.', n.wait, t.age)
    else format('%s due. The oldest has waited %s.', n.wait, t.age)
  end
  from (
    select case p_figure when 1 then '1 message' else n.figure || ' messages' end as messages,
      case p_figure when 1 then '1 message is' else n.figure || ' messages are' end as wait
    from (
      select case when p_figure >= 1000 and p_since_at is not null then '1000 or more'
        else p_figure::text end as figure
    ) n
  ) n
  cross join (
    select case
      when s.seconds < 120 then s.seconds || ' s'
      when s.seconds < 7200 then s.seconds / 60 || ' min'
      when s.seconds < 172800 then s.seconds / 3600 || ' h'
      else s.seconds / 86400 || ' days'
    end as age
    from (select greatest(p_now - greatest(p_since_at, 0), 0) / 1000 as seconds) s
  ) t
$$;

comment on function lonnymq.attention_text(text, bigint, bigint, bigint, bigint) is
'What is wrong, in a sentence.';
