-- Rejects options that are not an object, have a name that is not known, or a value out of range.
-- p_known names each option and what it must be: 'count' (1 to 2147483647), 'ms' (1 or more),
-- 'burst' (1 to 1000000: times the longest interval that is still a bigint), 'weight' (1 to 1000),
-- 'share' (0 to 1), 'delays' (an array of milliseconds), 'full' (reject, drop), 'history' (off,
-- outcomes, content), 'time' (epoch milliseconds), 'priority' (0 to 1000),
-- 'duplicate' (keep, replace, postpone, refuse); 'count?' and the like allow null.
-- Answers: nothing; raises LM001.
create or replace function lonnymq.guard_options(p_options jsonb, p_known jsonb)
returns void
language plpgsql
immutable
as $$
declare
  v_option record;
  v_kind text;
  v_is_sound boolean;
  v_number numeric;
begin
  if p_options is null or jsonb_typeof(p_options) <> 'object' then
    raise exception using errcode = 'LM001', message = 'options must be a JSON object';
  end if;
  for v_option in
    select o.key, o.value, jsonb_typeof(o.value) as type from jsonb_each(p_options) as o
  loop
    v_kind := p_known ->> v_option.key;
    if v_kind is null then
      raise exception using errcode = 'LM001',
        message = format('there is no option %s', quote_literal(v_option.key)),
        hint = format('The options are: %s.',
          (select string_agg(k.key, ', ' order by k.key) from jsonb_object_keys(p_known) as k (key)));
    end if;
    continue when v_option.type = 'null' and right(v_kind, 1) = '?';
    v_kind := rtrim(v_kind, '?');
    v_number := case when v_option.type = 'number' then (v_option.value #>> '{}')::numeric end;
    v_is_sound := case v_kind
      when 'count' then v_number between 1 and 2147483647 and v_number = trunc(v_number)
      when 'ms' then v_number between 1 and 3155760000000 and v_number = trunc(v_number)
      when 'burst' then v_number between 1 and 1000000 and v_number = trunc(v_number)
      when 'weight' then v_number between 1 and 1000 and v_number = trunc(v_number)
      when 'share' then v_number between 0 and 1
      when 'time' then v_number between -9223372036854775807 and 9223372036854775807
        and v_number = trunc(v_number)
      when 'priority' then v_number between 0 and 1000 and v_number = trunc(v_number)
      when 'duplicate' then v_option.value in ('"keep"', '"replace"', '"postpone"', '"refuse"')
      when 'full' then v_option.value in ('"reject"', '"drop"')
      when 'history' then v_option.value in ('"off"', '"outcomes"', '"content"')
      when 'delays' then v_option.type = 'array'
        and jsonb_array_length(v_option.value) between 1 and 100
        and not exists (
          select from jsonb_array_elements(v_option.value) as e (value)
          where jsonb_typeof(e.value) <> 'number'
            or not jsonb_path_exists(e.value, '$ ? (@ >= 0 && @ <= 3155760000000)')
            or e.value::numeric <> trunc(e.value::numeric)
        )
    end;
    if v_is_sound is not true then
      raise exception using errcode = 'LM001',
        message = format('%s must be %s, not %s', v_option.key, case v_kind
          when 'count' then 'a whole number from 1 to 2147483647'
          when 'ms' then 'a whole number of milliseconds from 1 to 3155760000000'
          when 'burst' then 'a whole number from 1 to 1000000'
          when 'weight' then 'a whole number from 1 to 1000'
          when 'share' then 'a number from 0 to 1'
          when 'time' then 'epoch milliseconds'
          when 'priority' then 'a whole number from 0 to 1000'
          when 'duplicate' then '"keep", "replace", "postpone" or "refuse"'
          when 'full' then '"reject" or "drop"'
          when 'history' then '"off", "outcomes" or "content"'
          else 'an array of 1 to 100 whole numbers of milliseconds' end
          || case when right(p_known ->> v_option.key, 1) = '?' then ', or null for none' else ''
            end,
          left(v_option.value::text, 100));
    end if;
  end loop;
end
$$;

comment on function lonnymq.guard_options(jsonb, jsonb) is
'Rejects options that are not known or out of range.';
