-- Applies one migration, once. The installer fills in what has a colon.
do $install$
begin
  if exists (select from lonnymq.migration m where m.version = :number) then
    return;
  end if;
  execute :text;
  insert into lonnymq.migration (version, name) values (:number, :name);
end
$install$;
