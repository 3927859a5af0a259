"""A consumer that takes messages, is stopped past its leases, and completes them when it goes on.

python -m faults.programs.zombie '{"dsn": …, "call_log": …, "take": 10, …}'
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from faults.call_log import CallLog, lease_row
from faults.programs import end_with_parent
from lonnymq import Queue


def main(given: dict[str, Any]) -> None:
    """Take, stop, complete."""
    call_log, queue = CallLog(given["call_log"]), Queue(given["dsn"])
    queue.epoch()  # connected before the start
    call_log.write(ready=True)
    while not Path(given["start"]).exists():
        time.sleep(0.01)
    number = call_log.begin("dequeue")
    batch = queue.dequeue(limit=given["take"], lease_ms=given["lease_ms"], worker=given["name"])
    rows = [lease_row(each) for each in batch]
    call_log.end(number, "dequeue", "ok", rows=rows)
    os.kill(os.getpid(), signal.SIGSTOP)
    for message in batch:
        number = call_log.begin(
            "settle", what="message_complete", ids=[message.id], tokens=[message.token.hex]
        )
        call_log.end(number, "settle", "ok", answers=[message.complete()])
    call_log.write(done=True)


if __name__ == "__main__":
    end_with_parent()
    main(json.loads(sys.argv[1]))
