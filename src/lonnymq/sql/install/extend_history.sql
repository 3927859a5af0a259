-- Makes the coming days of history, so that nothing ever has to be kept elsewhere for want of one. Where
-- somebody is in the way, the next maintenance does it. The installer fills in what has a colon.
do $install$
begin
  if :newer then
    return;
  end if;
  perform lonnymq.history_extend(lonnymq.epoch(), 15);
end
$install$;
