-- A transaction's position in history: the database's generation, then the transaction's id. Positions go
-- up through restores, ids do not. The generation of a database that was never restored is 0, and its
-- positions are ids.
-- One expression in SQL: it is written into the statement that calls it, and costs no call.
create or replace function lonnymq.history_position(p_generation integer)
returns xid8
language sql
stable
as $$
  select case when p_generation = 0 then pg_current_xact_id()
    else ((p_generation::bigint << 44) | pg_current_xact_id()::text::bigint)::text::xid8 end
$$;

comment on function lonnymq.history_position(integer) is
'The position of the present transaction in history, in a generation.';

-- The same in the present generation. A set of one row, which is written into the statement too.
create or replace function lonnymq.history_position()
returns setof xid8
language sql
stable
rows 1
as $$
  select lonnymq.history_position(g.number) from lonnymq.queue_generation() as g (number)
$$;

comment on function lonnymq.history_position() is
'The position of the present transaction in history.';
