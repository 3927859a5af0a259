-- Rejects invalid schedules, and names the allowed values. Only the form of a cron line is checked: the
-- worker checks the numbers.
-- Answers: nothing. Raises LM001.
create or replace function lonnymq.guard_schedule(
  p_name text, p_cron text, p_every_ms bigint, p_timezone text, p_misfire text
)
returns void
language plpgsql
stable
as $$
begin
  if p_name is null or octet_length(p_name) not between 1 and 200 then
    raise exception using errcode = 'LM001',
      message = format('the name of a schedule must be 1 to 200 bytes long, not %s',
        coalesce(octet_length(p_name)::text, 'null'));
  end if;
  if (p_cron is null) = (p_every_ms is null) then
    raise exception using errcode = 'LM001', message = 'give cron or every_ms, and not both',
      hint = 'Examples: cron ''0 3 * * *'', or every_ms 60000.';
  end if;
  if p_cron !~ '^\s*[-0-9A-Za-z*,/#]+(\s+[-0-9A-Za-z*,/#]+){4}\s*$' or octet_length(p_cron) > 255
  then
    raise exception using errcode = 'LM001',
      message = format('%s is not a cron line', quote_literal(left(p_cron, 100))),
      hint = 'A cron line has five fields: minute, hour, day of the month, month, day of the week.';
  end if;
  if p_every_ms is not null then
    perform lonnymq.guard_range('every_ms', p_every_ms, 1000, 3155760000000);
  end if;
  if p_misfire is null or p_misfire not in ('skip', 'once', 'all') then
    raise exception using errcode = 'LM001',
      message = format('misfire must be skip, once or all, not %s', coalesce(p_misfire, 'null'));
  end if;
  -- PostgreSQL reads all zones from their files to list them: 40 ms.
  perform from lonnymq.schedule s where s.timezone = p_timezone limit 1;
  if found or p_timezone = 'UTC' then
    return;
  end if;
  perform from pg_catalog.pg_timezone_names z where z.name = p_timezone;
  if not found then
    raise exception using errcode = 'LM001',
      message = format('there is no time zone %s', coalesce(quote_literal(left(p_timezone, 100)), 'null')),
      hint = 'Use a name such as UTC or Europe/Berlin. The view pg_timezone_names lists all names.';
  end if;
end
$$;

comment on function lonnymq.guard_schedule(text, text, bigint, text, text) is
'Rejects invalid schedules.';
