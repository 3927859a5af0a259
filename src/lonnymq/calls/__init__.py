"""One pure builder a SQL function: checks values, writes the statement, reads the rows."""

from lonnymq.calls.bulk import Bulk
from lonnymq.calls.call import Call, schema_name
from lonnymq.calls.channel import (
    channel_active,
    channel_name,
    channel_pause,
    channel_release,
    channel_resume,
    channel_set,
    channel_stats,
)
from lonnymq.calls.check import Bytes, Duration, Moment
from lonnymq.calls.dead import dead_ids, dead_list, dead_purge, dead_redrive
from lonnymq.calls.dequeue import Dequeued, message_dequeue
from lonnymq.calls.history import history_confirm, history_horizon, history_prune, history_read
from lonnymq.calls.lease import (
    message_complete,
    message_complete_many,
    message_defer,
    message_defer_many,
    message_fail,
    message_fail_many,
    message_heartbeat,
    message_heartbeat_many,
)
from lonnymq.calls.message import (
    message_announce,
    message_cancel,
    message_cancel_many,
    message_create,
    message_create_many,
    message_explain,
    message_peek,
    message_purge,
)
from lonnymq.calls.new_message import NewMessage
from lonnymq.calls.options import ChannelOptions, QueueOptions
from lonnymq.calls.producer import (
    channel_permitted,
    producer_confine,
    producer_free,
    producer_list,
)
from lonnymq.calls.queue import (
    epoch,
    queue_check,
    queue_installed,
    queue_repair,
    queue_set,
    queue_stats,
    queue_sweep,
)
from lonnymq.calls.schedule import (
    schedule_delete,
    schedule_due,
    schedule_list,
    schedule_pause,
    schedule_resume,
    schedule_run,
    schedule_set,
    schedule_tick,
)
from lonnymq.calls.worker import worker_gone, worker_list, worker_seen

__all__ = [
    "Bulk",
    "Bytes",
    "Call",
    "ChannelOptions",
    "Dequeued",
    "Duration",
    "Moment",
    "NewMessage",
    "QueueOptions",
    "channel_active",
    "channel_name",
    "channel_pause",
    "channel_permitted",
    "channel_release",
    "channel_resume",
    "channel_set",
    "channel_stats",
    "dead_ids",
    "dead_list",
    "dead_purge",
    "dead_redrive",
    "epoch",
    "history_confirm",
    "history_horizon",
    "history_prune",
    "history_read",
    "message_announce",
    "message_cancel",
    "message_cancel_many",
    "message_complete",
    "message_complete_many",
    "message_create",
    "message_create_many",
    "message_defer",
    "message_defer_many",
    "message_dequeue",
    "message_explain",
    "message_fail",
    "message_fail_many",
    "message_heartbeat",
    "message_heartbeat_many",
    "message_peek",
    "message_purge",
    "producer_confine",
    "producer_free",
    "producer_list",
    "queue_check",
    "queue_installed",
    "queue_repair",
    "queue_set",
    "queue_stats",
    "queue_sweep",
    "schedule_delete",
    "schedule_due",
    "schedule_list",
    "schedule_pause",
    "schedule_resume",
    "schedule_run",
    "schedule_set",
    "schedule_tick",
    "schema_name",
    "worker_gone",
    "worker_list",
    "worker_seen",
]
