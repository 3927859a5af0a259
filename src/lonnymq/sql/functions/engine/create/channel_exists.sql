-- Whether anything is known of a channel: settings, its row, or a message that is not folded yet.
create or replace function lonnymq.channel_exists(p_channel text)
returns boolean
language sql
stable
as $$
  select exists (select from lonnymq.channel_setting s where s.name = p_channel)
    or exists (select from lonnymq.channel c where c.name = p_channel)
    or exists (select from lonnymq.message m where m.channel = p_channel)
$$;

comment on function lonnymq.channel_exists(text) is
'Whether anything is known of a channel.';
