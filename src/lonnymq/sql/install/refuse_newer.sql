-- Stops an old library from replacing what a newer one has installed.
-- The installer fills in what has a colon.
do $install$
begin
  if exists (select from lonnymq.migration m where m.version > :newest)
    or exists (select from lonnymq.installed i where i.library_rank > :rank::integer[])
  then
    raise exception 'the queue in schema lonnymq is newer than version % of the library', :version
      using errcode = 'LM006', hint = 'Upgrade the library.';
  end if;
end
$install$;
