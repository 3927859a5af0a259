-- Applies one migration, once. The installer fills in what has a colon.
-- Whoever waits for a table holds up all who come after, so it does not wait for long.
do $install$
declare
  v_waiting text := current_setting('lock_timeout');
begin
  if exists (select from lonnymq.migration m where m.version = :number) then
    return;
  end if;
  perform set_config('lock_timeout', :waiting, true);
  execute :text;
  perform set_config('lock_timeout', v_waiting, true);
  insert into lonnymq.migration (version, name) values (:number, :name);
end
$install$;
