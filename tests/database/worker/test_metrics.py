"""What a worker answers to programs: its figures for Prometheus, whether it runs, whether it takes messages."""

import asyncio
import logging
from collections import Counter

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from lonnymq import Worker
from lonnymq.metrics import REST
from lonnymq.worker.metrics import (
    MAX_CHANNELS,
    MAX_CLASSES,
    MAX_WATCHED,
    ChannelLabels,
    TenantClasses,
)
from running_worker import outcomes, running_worker, session_of, soon


def scraped(text: str) -> dict[tuple[str, ...], float]:
    """The samples by name and labels."""
    return {
        (
            sample.name,
            *(f"{key}={value}" for key, value in sorted(sample.labels.items())),
        ): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def port_of(caplog: pytest.LogCaptureFixture) -> int:
    """Where the worker answers."""
    found: list[int] = await soon(
        lambda: [each.port for each in caplog.records if hasattr(each, "port")]
    )
    return found[-1]


async def test_a_worker_tells_prometheus_what_it_has_done(dsn_18, queue_18, caplog) -> None:
    caplog.set_level(logging.INFO, "lonnymq.worker")
    worker = Worker(
        metrics=0,
        concurrency=7,
        tenant_class=lambda channel: "small" if channel == "other" else "big",
    )

    @worker.handler("good")
    async def good(content: bytes) -> None: ...

    @worker.handler("bad", max_attempts=1)
    async def bad(content: bytes) -> None:
        raise ValueError

    for _ in range(5):
        queue_18.create('a "tenant"\n', b"x", kind="good")
    queue_18.create("other", b"x", kind="bad")
    async with running_worker(worker, dsn_18), httpx.AsyncClient() as client:
        await soon(lambda: len(outcomes(queue_18)) == 6)
        address = f"http://127.0.0.1:{await port_of(caplog)}"
        results: dict[str, int] = session_of(
            worker
        ).reporter.counts  # history is written before it is told
        await soon(lambda: (results.get("completed"), results.get("dead")) == (5, 1))
        answer = await client.get(f"{address}/metrics")
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        seen = scraped(answer.text)
        assert seen["lonnymq_worker_settled_total", "answer=completed"] == 5
        assert seen["lonnymq_worker_settled_total", "answer=dead"] == 1
        assert seen["lonnymq_worker_slots",] == 7
        assert seen["lonnymq_worker_up",] == 1
        assert seen["lonnymq_worker_handling_seconds_count", "kind=good"] == 5
        assert seen["lonnymq_worker_handling_seconds_bucket", "kind=good", "le=+Inf"] == 5
        assert seen["lonnymq_worker_waiting_seconds_count", "tenant_class=big"] == 5
        assert seen["lonnymq_worker_waiting_seconds_count", "tenant_class=small"] == 1
        channels = [each for each in seen if each[0] == "lonnymq_worker_channel_settled_total"]
        assert sum(seen[each] for each in channels) == 6
        assert (await client.get(f"{address}/health")).status_code == 200
        assert (await client.get(f"{address}/ready")).status_code == 200
        assert (await client.get(f"{address}/other")).status_code == 404
        assert (await client.post(f"{address}/metrics")).status_code == 405
        assert (await client.head(f"{address}/metrics")).status_code == 200


async def test_a_worker_that_stops_is_not_ready_but_well(dsn_18, queue_18, caplog) -> None:
    caplog.set_level(logging.INFO, "lonnymq.worker")
    worker, go_on = Worker(metrics="127.0.0.1:0"), asyncio.Event()

    @worker.handler()
    async def waits(content: bytes) -> None:
        await go_on.wait()

    queue_18.create("acme", b"x")
    async with running_worker(worker, dsn_18), httpx.AsyncClient() as client:
        address = f"http://127.0.0.1:{await port_of(caplog)}"
        await soon(lambda: queue_18.channel("acme").stats().leased == 1)
        worker.stop()
        answer = await client.get(f"{address}/ready")
        assert (answer.status_code, answer.text) == (503, "The worker is stopping.\n")
        assert (await client.get(f"{address}/health")).status_code == 200
        go_on.set()


async def test_a_worker_whose_port_is_taken_works_without(dsn_18, queue_18, caplog) -> None:
    caplog.set_level(logging.INFO, "lonnymq.worker")
    taken = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    worker = Worker(metrics=taken.sockets[0].getsockname()[1])

    @worker.handler()
    async def done(content: bytes) -> None: ...

    queue_18.create("acme", b"x")
    async with taken, running_worker(worker, dsn_18):
        await soon(lambda: outcomes(queue_18) == ["completed"])
    assert "cannot serve metrics" in caplog.text


async def test_clients_that_say_nothing_keep_nobody_waiting(dsn_18, caplog) -> None:
    caplog.set_level(logging.INFO, "lonnymq.worker")
    worker = Worker(metrics="[::1]:0")
    worker.handler()(lambda: None)
    async with running_worker(worker, dsn_18), httpx.AsyncClient(timeout=4) as client:
        port = await port_of(caplog)
        silent = [(await asyncio.open_connection("::1", port))[1] for _ in range(3)]
        assert (await client.get(f"http://[::1]:{port}/health")).status_code == 200
        for each in silent:
            each.close()
    with pytest.raises(OSError, match="Connect"):
        await asyncio.open_connection("::1", port)


async def test_a_blocked_event_loop_fails_the_health_check(dsn_18, caplog) -> None:
    caplog.set_level(logging.INFO, "lonnymq.worker")
    worker = Worker(metrics=0)
    worker.handler()(lambda: None)
    async with running_worker(worker, dsn_18):
        address = f"http://127.0.0.1:{await port_of(caplog)}/health"
        assert (await asyncio.to_thread(httpx.get, address)).status_code == 200
        with pytest.raises(httpx.ReadTimeout):  # this very call blocks the loop
            httpx.get(address, timeout=httpx.Timeout(60, read=0.2))


def test_only_channels_with_many_messages_have_a_label_of_their_own_for_good() -> None:
    labels, counts = ChannelLabels(), Counter[str]()
    for number in range(20_000):
        channels = [f"small {number}", "big", *([REST] if number % 10 == 0 else [])]
        had = set(labels.labels)
        counts.update(map(labels.label, channels))
        assert had <= labels.labels
    assert len(counts) <= MAX_CHANNELS + 1
    assert len(labels.watched) <= MAX_WATCHED
    assert counts["big"] > 19_900
    assert counts.total() == labels.total == 42_000


def test_a_channel_that_becomes_big_late_gets_its_label() -> None:
    labels = ChannelLabels()
    for number in range(5_000):
        labels.label(f"small {number % 3000}")
    assert [labels.label("late") for _ in range(1_000)].count("late") > 800


def test_without_a_function_all_tenants_are_of_one_class() -> None:
    assert TenantClasses(None).label("acme") == "default"


def test_the_number_of_tenant_classes_is_bounded() -> None:
    classes = TenantClasses(lambda channel: channel)
    assert [classes.label(str(number)) for number in range(MAX_CLASSES)][-1] == str(MAX_CLASSES - 1)
    assert classes.label("one more") == "(other)"
    assert classes.label("0") == "0"


def test_a_function_of_tenant_classes_that_fails_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    classes = TenantClasses(lambda channel: {"acme": "gold"}[channel])
    assert [classes.label(each) for each in ("acme", "x", "y")] == ["gold", "(other)", "(other)"]
    assert caplog.text.count("tenant_class failed: KeyError at") == 1
