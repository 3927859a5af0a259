"""Schedules at work: declared by the program or stored by SQL, advanced when the database's clock says so."""

import logging
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from lonnymq import Worker
from lonnymq.testing import Clock
from lonnymq.worker.database import Database
from lonnymq.worker.scheduler import Scheduler
from running_worker import outcomes, running_worker, soon

HOUR = 3_600_000


@pytest.fixture
def clock(dsn_18):
    clock = Clock(dsn_18)
    yield clock
    clock.close()


@pytest.fixture
async def scheduler(dsn_18):
    database = Database(dsn_18, "lonnymq")
    yield Scheduler(database)
    await database.close()


def ms(text: str, timezone: str = "Europe/Berlin") -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(timezone)).timestamp()) * 1000


def runs(queue, channel: str = "reports") -> list[str]:
    timezone = ZoneInfo("Europe/Berlin")
    found = [each.headers["run_at"] for each in queue.peek(channel, limit=1000)]
    return [
        datetime.fromtimestamp(each / 1000, timezone).strftime("%m-%d %H:%M%z") for each in found
    ]


async def test_a_declared_schedule_is_stored_and_its_ticks_reach_the_handler(dsn, queue) -> None:
    worker, seen = Worker(), []

    @worker.handler("report")
    async def report(content: str, context) -> None:
        seen.append((content, context.headers["schedule"], context.headers["run_at"] % 1000))

    worker.schedule("often", channel="reports", every_ms=1000, kind="report", content=b"daily")
    async with running_worker(worker, dsn):
        await soon(lambda: len(seen) >= 2)
    assert seen[:2] == [("daily", "often", 0)] * 2
    assert queue.schedule_list()[0].next_at % 1000 == 0


async def test_starting_again_changes_nothing_about_a_schedule(dsn_18, queue_18, clock) -> None:
    worker = Worker()
    worker.handler()(lambda: None)
    worker.schedule("nightly", channel="reports", cron="0 3 * * *", timezone="Europe/Berlin")
    versions = set()
    for _ in range(2):
        async with running_worker(worker, dsn_18):
            await soon(lambda: queue_18.schedule_list()[0].next_at)
            versions.add(queue_18.schedule_list()[0].version)
    assert len(versions) == 1


@pytest.mark.parametrize(
    ("start", "seen"),
    [
        ("2026-03-28 12:00", ["03-29 03:00+0200", "03-30 02:30+0200"]),
        ("2026-10-24 12:00", ["10-25 02:30+0200", "10-26 02:30+0100"]),
    ],
    ids=["spring", "autumn"],
)
async def test_a_nightly_schedule_advances_once_a_night_when_the_clocks_change(
    queue_18, clock, scheduler, start: str, seen: list[str]
) -> None:
    clock.set(ms(start))
    queue_18.schedule_set("nightly", channel="reports", cron="30 2 * * *", timezone="Europe/Berlin")
    for _ in range(4 * 40):
        await scheduler.create_due()
        clock.advance(HOUR // 4)
    assert runs(queue_18) == seen


@pytest.mark.parametrize(("misfire", "count"), [("skip", 0), ("once", 1), ("all", 5)])
async def test_ticks_that_nobody_was_there_for_are_dealt_with_as_chosen(
    queue_18, clock, scheduler, misfire, count: int
) -> None:
    clock.set(ms("2026-05-05 02:30"))
    queue_18.schedule_set("hourly", channel="reports", cron="0 * * * *", misfire=misfire)
    await scheduler.create_due()
    clock.advance(5 * HOUR)
    await scheduler.create_due()
    await scheduler.create_due()
    assert len(runs(queue_18)) == count
    clock.advance(HOUR // 2)
    await scheduler.create_due()
    assert len(runs(queue_18)) == count + 1


async def test_no_tick_comes_early(queue_18, clock, scheduler) -> None:
    clock.set(ms("2026-05-05 02:59"))
    queue_18.schedule_set("nightly", channel="reports", cron="0 3 * * *", timezone="Europe/Berlin")
    await scheduler.create_due()
    clock.advance(59_999)
    assert await scheduler.create_due() <= 0.001
    assert runs(queue_18) == []
    clock.advance(1)
    await scheduler.create_due()
    assert runs(queue_18) == ["05-05 03:00+0200"]


async def test_a_line_that_no_worker_can_read_is_told_of_once_and_harms_no_other(
    queue_18, scheduler, caplog, dsn_18
) -> None:
    queue_18.schedule_set("bad", channel="reports", cron="99 * * * *")
    queue_18.schedule_set("good", channel="reports", every_ms=1000)
    for _ in range(3):
        await scheduler.create_due()
    queue_18.schedule_delete("good")
    assert await scheduler.create_due() > 5  # it is not looked at again and again
    queue_18.schedule_set("good", channel="reports", every_ms=1000)
    await scheduler.create_due()
    results = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [record.schedule for record in results] == ["bad"]
    assert [each.name for each in queue_18.schedule_list() if each.next_at] == ["good"]


async def test_a_schedule_may_be_stored_by_anybody_and_every_worker_ticks_it(dsn, queue) -> None:
    worker = Worker()
    worker.handler("report")(lambda: None)
    queue.schedule_set("often", channel="reports", every_ms=1000, kind="report")
    async with running_worker(worker, dsn):
        await soon(lambda: "completed" in outcomes(queue))


async def test_a_full_channel_is_told_of(queue_18, clock, scheduler, caplog) -> None:
    queue_18.channel_set("reports", max_size=1)
    queue_18.create("reports", b"x")
    queue_18.schedule_set("often", channel="reports", every_ms=1000)
    await scheduler.create_due()
    clock.advance(1000)
    await scheduler.create_due()
    assert "schedule often: the channel accepted 0 of 1 messages" in caplog.text
