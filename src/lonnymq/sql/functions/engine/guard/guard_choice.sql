-- Rejects kinds and channels that a dequeue cannot ask for: none, too many, or one that no message can have. A null
-- among the kinds is messages without a kind.
-- Answers: nothing. Raises LM001.
create or replace function lonnymq.guard_choice(p_kinds text[], p_channels text[])
returns void
language plpgsql
immutable
as $$
declare
  v_each text;
begin
  if p_kinds is not null then
    perform lonnymq.guard_range('number of kinds', cardinality(p_kinds), 1, 1000);
    foreach v_each in array p_kinds loop
      if v_each is not null then
        perform lonnymq.guard_text('kind', v_each);
      end if;
    end loop;
  end if;
  if p_channels is not null then
    perform lonnymq.guard_range('number of channels', cardinality(p_channels), 1, 1000);
    foreach v_each in array p_channels loop
      perform lonnymq.guard_text('channel', v_each);
    end loop;
  end if;
end
$$;

comment on function lonnymq.guard_choice(text[], text[]) is
'Rejects kinds and channels that a dequeue cannot ask for.';
