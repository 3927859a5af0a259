"""A worker that a run starts, stops and kills: the library's own, with every call to the database written down.

python -m faults.programs.worker '{"dsn": …, "call_log": …, …}'
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import random
import re
import sys
import time
from collections.abc import Sequence
from typing import Any

import lonnymq.worker.runner
import lonnymq.worker.session
from faults.call_log import CallLog, lease_row
from faults.programs import end_with_parent, handlers
from lonnymq import Context, Worker
from lonnymq.client.call import Call
from lonnymq.worker.database import Database
from lonnymq.worker.execution import execute
from lonnymq.worker.handlers import Handler
from lonnymq.worker.outcomes import COMPLETE, Outcome
from lonnymq.worker.settings import Settings

FUNCTION = re.compile(r"\.(message_\w+)\(")
SETTLES = ("message_complete", "message_defer", "message_fail")


class RecordingDatabase(Database):
    """The worker's way to the database; what goes over it is written down before and after."""

    call_log: CallLog

    async def dequeue(self, settings: Settings, **given: Any) -> Any:
        """Write down what was leased, before any handler sees it."""
        number = self.call_log.begin("dequeue")
        try:
            dequeued = await super().dequeue(settings, **given)
        except BaseException as error:
            self.call_log.failed(number, "dequeue", error)
            raise
        rows = [lease_row(each) for each in dequeued.batch.messages]
        self.call_log.end(number, "dequeue", "ok", rows=rows)
        return dequeued

    async def run(self, call: Call[Any], **options: Any) -> Any:
        """Write down settlements and heartbeats."""
        found = FUNCTION.search(call.sql)
        what = found[1] if found else ""
        if what not in (*SETTLES, "message_heartbeat"):
            return await super().run(call, **options)
        kind = "settle" if what in SETTLES else "heartbeat"
        ids, tokens = list(call.parameters[0]), [each.hex for each in call.parameters[1]]
        number = self.call_log.begin(kind, what=what, ids=ids, tokens=tokens)
        try:
            answers = await super().run(call, **options)
        except BaseException as error:
            self.call_log.failed(number, kind, error)
            raise
        if kind == "settle":
            self.call_log.end(number, kind, "ok", answers=[word for word, _ in answers])
        else:
            self.call_log.end(number, kind, "ok", untils=[each.lease_until for each in answers])
        return answers


def never_poll() -> None:
    """A known-bad worker: it takes something when it is notified, and does not look by itself."""
    from lonnymq.worker.fetcher import Fetcher

    fetch = Fetcher.fetch

    async def fetch_and_wait(self: Fetcher, limit: int) -> float | None:
        pause = await fetch(self, limit)
        return 3600.0 if pause else pause

    async def never_maintain(_: Database) -> None:
        await asyncio.Event().wait()

    replace(Fetcher, "fetch", fetch_and_wait)
    replace(lonnymq.worker.session, "maintain_forever", never_maintain)


def skip_some_handlers() -> None:
    """A known-bad worker: it completes one message in ten without running the handler."""

    async def execute_most(handler: Handler, contexts: Sequence[Context]) -> list[Outcome]:
        if contexts[0].id % 10 == 0:
            return [COMPLETE for _ in contexts]
        return await execute(handler, contexts)

    replace(lonnymq.worker.runner, "execute", execute_most)


def run_some_handlers_twice() -> None:
    """A known-bad worker: it runs the handler of one message in ten twice under one lease."""

    async def execute_again(handler: Handler, contexts: Sequence[Context]) -> list[Outcome]:
        if contexts[0].id % 10 == 0:
            await execute(handler, contexts)
        return await execute(handler, contexts)

    replace(lonnymq.worker.runner, "execute", execute_again)


BAD_WORKERS = {
    "never polls": never_poll,
    "completes without running": skip_some_handlers,
    "runs handlers twice": run_some_handlers_twice,
}


def replace(owner: object, name: str, value: object) -> None:
    """Put another part into the worker; a name that is not there is an error."""
    getattr(owner, name)
    setattr(owner, name, value)


def main() -> None:
    """Work until told to stop."""
    given = json.loads(sys.argv[1])
    end_with_parent()
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(message)s")
    RecordingDatabase.call_log = CallLog(given["call_log"])
    replace(lonnymq.worker.session, "Database", RecordingDatabase)  # the session makes one
    if make_bad := BAD_WORKERS.get(given.get("variant") or ""):
        make_bad()
    worker = Worker(
        given["dsn"],
        name=given["name"],
        concurrency=given.get("concurrency", 20),
        processes=given.get("processes", 1),
        lease_ms=given.get("lease_ms", 2000),
        shutdown_timeout_ms=given.get("shutdown_timeout_ms", 2000),
        poll_interval_ms=given.get("poll_interval_ms"),
    )
    handlers.register(
        worker,
        RecordingDatabase.call_log,
        rng=random.Random(os.getpid() ^ time.time_ns()),
        gate=given.get("gate", ""),
    )
    worker.run()


if __name__ == "__main__":
    main()
