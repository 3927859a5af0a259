"""What Prometheus reads from the page, and what asks whether it is well."""

import httpx
import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families

from dashboard.conftest import TOKEN
from dashboard.sample_queue import HOSTILE, fill_queue
from dashboard.server import served
from lonnymq import Queue
from lonnymq.dashboard import QueueAt, create_app
from lonnymq.metrics import REST

NOWHERE = "postgresql://nobody:planted-secret@127.0.0.1:1/nothing"


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


def test_a_real_scrape_is_parsed(dsn_18):
    with Queue(dsn_18) as queue:
        fill_queue(queue)
    with served(create_app({"jobs": dsn_18}, token=TOKEN)) as address:
        assert httpx.get(f"{address}/metrics").status_code == 401
        answer = httpx.get(f"{address}/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    seen = scraped(answer.text)
    assert seen["lonnymq_up", "queue=jobs"] == 1
    assert seen["lonnymq_dead_messages", "queue=jobs"] == 4
    assert seen["lonnymq_running_messages", "queue=jobs"] == 2
    assert seen["lonnymq_workers_alive", "queue=jobs"] == 1
    assert seen["lonnymq_messages_created_total", "queue=jobs"] > 10
    assert seen["lonnymq_oldest_waiting_seconds", "queue=jobs"] >= 0
    for name in HOSTILE:
        assert seen["lonnymq_channel_waiting_messages", f"channel={name}", "queue=jobs"] == 1


async def test_ages_and_findings_of_the_doctor_are_told(page, dsn_18, connect):
    connection = connect(dsn_18)
    connection.execute("select lonnymq.sample_take(lonnymq.epoch() - 600000)")
    connection.execute("drop function lonnymq.message_explain")
    holder = connect(dsn_18)
    holder.execute("begin isolation level repeatable read")
    holder.execute("select 1 from lonnymq.queue")
    seen = scraped((await (await page()).get("/metrics")).text)
    assert 600 <= seen["lonnymq_maintenance_age_seconds", "queue=jobs"] < 3600
    assert seen["lonnymq_held_snapshot_seconds", "queue=jobs"] > 0
    assert seen["lonnymq_transaction_id_age", "queue=jobs"] > 0
    assert seen["lonnymq_doctor_checks", "queue=jobs"] > 30
    assert seen["lonnymq_doctor_problems", "check=functions", "level=broken", "queue=jobs"] == 1


async def test_a_queue_that_nobody_maintained_has_no_age(page):
    seen = scraped((await (await page()).get("/metrics")).text)
    assert ("lonnymq_maintenance_age_seconds", "queue=jobs") not in seen
    assert seen["lonnymq_up", "queue=jobs"] == 1


async def test_only_the_busiest_channels_have_a_line_of_their_own(page, dsn_18):
    with Queue(dsn_18) as queue:
        for number in range(60):
            for _ in range(1 + (number < 10)):
                queue.create(f"tenant {number}", b"x")
        queue.create(REST, b"a tenant with an odd name")
    seen = scraped((await (await page()).get("/metrics")).text)
    of_channels = [key for key in seen if key[0] == "lonnymq_channel_waiting_messages"]
    assert len(of_channels) <= 21
    for number in range(10):
        assert seen[of_channels[0][0], f"channel=tenant {number}", "queue=jobs"] == 2
    assert sum(seen[key] for key in of_channels) == 71


async def test_counters_and_histograms_count_every_attempt_and_a_chosen_channel_stays(page, dsn_18):
    sampled = "select lonnymq.sample_take(lonnymq.epoch() - %s)"
    with Queue(dsn_18) as queue, psycopg.connect(dsn_18, autocommit=True) as connection:
        connection.execute(sampled, (10_000,))
        queue.create_many([b"x"] * 5, channel="acme")
        for number, message in enumerate(queue.dequeue(5)):
            message.complete() if number else message.fail("no", dead=True)
        connection.execute(sampled, (0,))
        client = await page()
        seen = scraped((await client.get("/metrics")).text)
        labels = ("channel=acme", "outcome=completed", "queue=jobs")
        assert seen["lonnymq_channel_attempts_total", *labels] == 4
        assert seen["lonnymq_attempts_total", "outcome=dead", "queue=jobs"] == 1
        for name in ("wait", "run"):
            assert seen[f"lonnymq_{name}_seconds_count", "queue=jobs"] == 5
            assert seen[f"lonnymq_{name}_seconds_bucket", "le=+Inf", "queue=jobs"] == 5
        assert seen["lonnymq_attention_channels", "queue=jobs", "reason=dying"] == 1
        for number in range(25):
            queue.create_many([b"x"] * 2, channel=f"flood {number}")
    later = await page({"jobs": dsn_18})
    later._transport.app.state.dashboard.queues["jobs"].metric_channels = ["acme"]
    seen = scraped((await later.get("/metrics")).text)
    assert seen["lonnymq_channel_attempts_total", *labels] == 4
    assert len([key for key in seen if key[0] == "lonnymq_channel_waiting_messages"]) == 21


async def test_a_queue_that_does_not_answer_is_down_and_the_others_are_not(page, dsn_18, caplog):
    client = await page({"jobs": dsn_18, "gone": NOWHERE, "empty": QueueAt(dsn_18, schema="other")})
    seen = scraped((await client.get("/metrics")).text)
    assert seen["lonnymq_up", "queue=jobs"] == 1
    assert seen["lonnymq_up", "queue=gone"] == 0
    assert seen["lonnymq_up", "queue=empty"] == 0
    answer = await client.get("/ready")
    assert answer.status_code == 503
    assert answer.json() == {
        "ready": False,
        "queues": {"jobs": True, "gone": False, "empty": False},
    }
    assert (await client.get("/health")).json() == {"status": "ok"}
    away = await client.get("/api/queues/gone/overview")
    assert (away.status_code, away.json()["error"]["code"]) == (503, "unavailable")
    absent = await client.get("/api/queues/empty/overview")
    assert (absent.status_code, absent.json()["error"]["code"]) == (503, "not_installed")
    assert "lonnymq install" in absent.json()["error"]["advice"]
    assert "planted-secret" not in caplog.text + away.text + answer.text


@pytest.mark.parametrize("token", [None, TOKEN])
async def test_readiness_tells_strangers_only_whether(page, token):
    client = await page(token=token, signed_in=False)
    answer = (await client.get("/ready")).json()
    assert answer == {"ready": True, "queues": {} if token else {"jobs": True}}
