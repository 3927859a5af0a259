-- Makes the coming days of history, so that nothing ever has to be kept elsewhere for want of one. Where
-- somebody is in the way, the next sweep does it.
do $install$
begin
  perform lonnymq.history_extend(lonnymq.epoch(), 15);
end
$install$;
