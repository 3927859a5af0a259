-- Stops a library that the newer schema does not serve any more. A library that the schema serves goes on, and all
-- steps after this one leave the schema as it is. The installer fills in what has a colon.
do $install$
declare
  v_serves integer[];
begin
  if not :newer then
    return;
  end if;
  v_serves := (select i.serves_rank from lonnymq.installed i);
  if v_serves > :rank::integer[] then
    raise exception 'the queue in schema lonnymq serves versions from % on, and this library has version %',
      array_to_string(v_serves, '.'), :version
      using errcode = 'LM006', hint = 'Upgrade the library.';
  end if;
end
$install$;
