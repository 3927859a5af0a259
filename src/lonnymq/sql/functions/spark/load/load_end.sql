-- Records the outcomes of the rows of a load, in the transaction that publishes the load.
--
-- Answers: nothing.
-- Locks: the key of the load, which `load_begin` has locked.
-- Notifies: no.
create or replace function lonnymq.load_end(
  p_app text, p_version bigint, p_created bigint, p_duplicate bigint, p_dropped bigint,
  p_refused bigint, p_invalid bigint
)
returns void
language sql
volatile
as $$
  update lonnymq.load l
  set created = p_created, duplicate = p_duplicate, dropped = p_dropped, rejected = p_refused,
    invalid = p_invalid
  where l.app = p_app and l.version = p_version
$$;

comment on function lonnymq.load_end(
  text, bigint, bigint, bigint, bigint, bigint, bigint
) is
'Records the outcomes of the rows of a load.';
