"""What the page can be asked, on a queue with something of everything."""

from dataclasses import dataclass
from typing import Any

import httpx
import psycopg
import pytest

from dashboard.sample_queue import HOSTILE, fill_queue
from lonnymq import Queue
from support import fetch_row


def stop_the_clock(dsn: str) -> None:
    """Let all attempts have ended within the last 9 seconds, however long it took to fill the queue."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        (now,) = fetch_row(connection, "select lonnymq.epoch()")
        late = "update lonnymq.history set finished_at = greatest(finished_at, %s)"
        connection.execute(late, (now - 9000,))
        connection.execute(
            "create or replace function lonnymq.epoch(p_at timestamptz default clock_timestamp())"
            f" returns bigint language sql volatile as 'select {now}::bigint'".encode()
        )


@dataclass(frozen=True)
class Look:
    """Asks a page of a stocked queue: `await look("overview")`."""

    client: httpx.AsyncClient
    ids: dict[str, int]

    async def __call__(self, path: str, status: int = 200, **query: Any) -> Any:
        answer = await self.client.get(f"/api/queues/jobs/{path}", params=query)
        assert answer.status_code == status, answer.text
        return answer.json()


@pytest.fixture
async def look(page, dsn_18: str) -> Look:
    with Queue(dsn_18) as queue:
        ids = fill_queue(queue)
    stop_the_clock(dsn_18)
    return Look(await page(), ids)


async def test_the_overview_has_the_queue_at_a_glance(look):
    seen = await look("overview")
    assert seen["dead"] == {"value": 4, "exact": True}
    assert seen["running"] == {"value": 2, "exact": True}
    assert seen["waiting"] == {"value": 5 + len(HOSTILE), "exact": True}
    assert seen["workers"]["alive"] == 1
    assert seen["oldest_at"] <= seen["now_at"]
    assert (seen["out_per_s"], seen["failed_per_s"], seen["rate_ms"]) == (0.1, 0.5, 10_000)
    assert (seen["top"][0]["channel"], seen["top"][0]["out_per_s"]) == ("broken", 0.0)


async def test_the_series_has_what_a_sweep_sampled(look):
    for span, step in (("hour", 10_000), ("day", 300_000)):
        seen = await look("series", span=span)
        assert (seen["step_ms"], seen["sampled"]) == (step, True)
        (point,) = seen["points"]
        assert point["dead"] == 4
        assert point["at"] % step == 0


async def test_channels_are_listed_by_name_page_by_page(look):
    names: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        seen = await look("channels", limit=3, cursor=cursor)
        assert len(seen["channels"]) <= 3
        names += [each["channel"] for each in seen["channels"]]
        cursor = seen["next"]
    expected = {"acme", "broken", "narrow", "later", "stopped", *HOSTILE}
    assert names == sorted(expected, key=lambda name: name.encode())


async def test_a_channel_says_why_it_is_held(look):
    rows = {each["channel"]: each for each in (await look("channels"))["channels"]}
    assert rows["narrow"]["state"] == "saturated"
    assert rows["narrow"]["held"] == "At the limit: 1 of 1 are running."
    assert rows["stopped"]["held"].startswith("Paused: ")
    assert rows["later"]["next_at"] > rows["later"]["waiting"]["value"]
    assert rows["broken"]["dead"] == {"value": 4, "exact": True}
    assert rows["acme"]["running"] == 1
    assert rows["acme"]["held"] is None


@pytest.mark.parametrize(
    ("sort", "first"),
    [("dead", "broken"), ("rate", "acme"), ("running", None), ("oldest", "narrow")],
)
async def test_channels_are_ranked_by_what_goes_on_in_them(look, sort, first):
    seen = await look("channels", sort=sort)
    assert seen["ranked"] == "estimated"
    assert seen["channels"]
    if first:
        assert seen["channels"][0]["channel"] == first


async def test_a_small_queue_is_ranked_exactly_and_without_estimates(look):
    seen = await look("channels", sort="waiting")
    assert seen["ranked"] == "exact"
    assert all(each["waiting"]["exact"] for each in seen["channels"])


async def test_failures_are_counted_by_tenant_and_kind_and_the_rate_has_none_of_them(page, dsn_18):
    sampled = "select lonnymq.sample_take(lonnymq.epoch() - %s)"
    with Queue(dsn_18) as queue, psycopg.connect(dsn_18, autocommit=True) as connection:
        connection.execute(sampled, (10_000,))
        for number in range(12):
            queue.create("half", b"x", kind="mail")
            (message,) = queue.dequeue()
            message.complete() if number % 2 else message.fail("no", retry_ms=3_600_000)
        connection.execute(sampled, (0,))
    look = Look(await page(), {})
    (row,) = (await look("channels", sort="failing"))["channels"]
    assert (row["channel"], row["recent_failed"], row["failed_share"]) == ("half", 6, 0.5)
    assert (row["out_per_s"], row["turns_share"]) == (0.6, 1.0)
    (kind,) = (await look("kinds"))["kinds"]
    assert (kind["name"], kind["failed"], kind["failed_share"]) == ("mail", 6, 0.5)
    assert kind["run_p50_ms"] <= kind["run_p95_ms"] <= kind["run_p99_ms"]
    failing, workers = (await look("attention"))["rows"][::-1]
    assert (failing["channel"], failing["reason"], failing["figure"]) == ("half", "failing", 6)
    assert workers["reason"] == "no_workers"
    assert (await look("channel", name="half"))["stats"]["completed"] == 6


async def test_a_message_that_has_left_is_not_called_unknown(look):
    assert (await look(f"messages/{look.ids['completed']}"))["message"]["state"] == "completed"
    gone = (await look(f"messages/{10**9}", status=404))["error"]
    assert gone["message"] == "There is no message 1000000000 yet."


async def test_a_ranking_is_paged(look):
    first = await look("channels", sort="waiting", limit=2)
    second = await look("channels", sort="waiting", limit=2, cursor=first["next"])
    names = [each["channel"] for each in first["channels"] + second["channels"]]
    assert len(set(names)) == 4


@pytest.mark.parametrize(
    ("state", "name"),
    [("paused", "stopped"), ("saturated", "narrow"), ("scheduled", "later"), ("idle", "broken")],
)
async def test_channels_in_a_state_are_found(look, state, name):
    for sort in ("name", "waiting"):
        seen = await look("channels", state=state, sort=sort)
        assert name in [each["channel"] for each in seen["channels"]]


async def test_search_finds_names_by_beginning_first_and_then_by_what_they_contain(look):
    async def found(text: str) -> list[str]:
        names: list[str] = []
        cursor: str | None = ""
        while cursor is not None:
            seen = await look("channels", search=text, cursor=cursor)
            names += [each["channel"] for each in seen["channels"]]
            cursor = seen["next"]
        assert seen["complete"]
        return names

    assert await found("a") == [
        "a/b?c=d&e=%41#f", "acme", '"quoted" \\ $$ {schema} %(name)s', "'; drop table message; --",
        "<script>alert(1)</script>", "later", "line\nbreak\ttab", "narrow",
    ]  # fmt: skip
    assert await found("NARR") == ["narrow"]
    assert await found("%") == ['"quoted" \\ $$ {schema} %(name)s', "a/b?c=d&e=%41#f"]
    assert await found("nothing like it") == []


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_channel_with_a_hostile_name_is_shown_as_any_other(look, name):
    seen = await look("channel", name=name)
    assert seen["channel"]["channel"] == name
    assert (await look("channels", search=name))["channels"][0]["channel"] == name
    (message,) = (await look("messages", channel=name))["messages"]
    shown = await look(f"messages/{message['id']}")
    assert shown["message"]["content"]["text"] == name


async def test_one_channel_has_its_limits_and_its_recent_past(look):
    seen = await look("channel", name="broken")
    assert seen["channel"]["max_attempts"] == 1
    assert seen["defaults"]["max_attempts"] == 5
    assert (await look("channel", status=404, name="nobody"))["error"]["advice"]


async def test_a_channels_past_is_that_of_the_samples_or_of_the_latest_attempts(look, dsn_18):
    """The first sample counts nothing, since nobody knows since when; without any, history is looked at."""
    for span in ("hour", "day"):
        assert (await look("channel/series", name="broken", span=span))["points"] == []
    with psycopg.connect(dsn_18, autocommit=True) as connection:
        connection.execute("delete from lonnymq.sample")
    series = await look("channel/series", name="broken", span="six_hours")
    assert sum(each["died"] for each in series["points"]) == 4
    with psycopg.connect(dsn_18, autocommit=True) as connection, Queue(dsn_18) as queue:
        connection.execute("select lonnymq.sample_take(lonnymq.epoch() - 10000)")
        queue.create("quick", b"x")
        for message in queue.dequeue(100):
            queue.complete(message)
        connection.execute("select lonnymq.sample_take(lonnymq.epoch())")
    seen = await look("channel/series", name="quick")
    assert sum(each["completed"] for each in seen["points"]) == 1
    assert seen["exact"] is True


async def test_the_messages_of_a_channel_are_listed_in_their_order(look):
    first = await look("messages", channel="acme", limit=2)
    rest = await look("messages", channel="acme", limit=2, cursor=first["next"])
    seen = first["messages"] + rest["messages"]
    ids = [str(look.ids[word]) for word in ("leased", "waiting", "failed")]
    assert [each["id"] for each in seen] == ids
    assert [each["state"] for each in seen] == ["leased", "waiting", "scheduled"]
    assert seen[2]["error"] == "ValueError: no 17"
    assert seen[2]["preview"].startswith("00 ff 20")


async def test_a_message_that_failed_has_its_attempts_and_a_time_line(look):
    seen = await look(f"messages/{look.ids['failed']}")
    (attempt,) = seen["attempts"]
    assert (attempt["outcome"], attempt["summary"]) == ("failed", "ValueError: no 17")
    assert attempt["error"].startswith("Traceback")
    assert seen["message"]["content"]["kind"] == "hex"
    assert seen["explanation"]["answer"] == "scheduled"
    steps = [each["what"] for each in seen["timeline"]]
    assert steps == ["created", "leased", "failed", "retry_due"]
    assert [each["future"] for each in seen["timeline"]] == [False, False, False, True]


@pytest.mark.parametrize(
    ("word", "state"),
    [("leased", "leased"), ("waiting", "waiting"), ("scheduled", "scheduled"), ("dead", "dead"),
     ("completed", "completed"), ("saturated", "waiting")],
)  # fmt: skip
async def test_a_message_is_found_whatever_became_of_it(look, word, state):
    seen = await look(f"messages/{look.ids[word]}")
    assert seen["message"]["state"] == state
    assert seen["timeline"][0]["what"] == "created"
    if word == "saturated":
        assert seen["explanation"]["answer"] == "saturated"


async def test_a_message_that_never_was_is_not_found(look):
    assert (await look("messages/999999", status=404))["error"]["code"] == "not_found"
    assert (await look("messages/x", status=422))["error"]["code"] == "invalid"
    assert (await look("messages/99999999999999999999", status=422))["error"]["code"] == "invalid"


async def test_json_is_shown_in_lines_and_the_whole_content_can_be_saved(look):
    waiting = await look.client.get(f"/api/queues/jobs/messages/{look.ids['failed']}/content")
    assert waiting.content == b"\x00\xff binary"
    assert waiting.headers["content-type"] == "application/octet-stream"
    assert waiting.headers["content-disposition"].startswith("attachment")


async def test_dead_messages_are_grouped_by_what_their_errors_have_in_common(look):
    seen = await look("dead/groups")
    assert [(each["error"], each["count"]) for each in seen["groups"]] == [
        ("KeyError: 'row #'", 3),
        ("OSError: disk full", 1),
    ]
    assert seen["complete"] is True
    group = seen["groups"][0]["group"]
    listed = await look("dead", group=group, limit=2)
    assert len(listed["messages"]) == 2
    rest = await look("dead", group=group, limit=2, cursor=listed["next"])
    assert len(rest["messages"]) == 1
    assert listed["messages"][0]["id"] == str(look.ids["dead"])
    assert len((await look("dead", kind="import"))["messages"]) == 3
    assert (await look("dead/groups", channel="acme"))["groups"] == []


async def test_workers_and_schedules_are_listed(look):
    (worker,) = (await look("workers"))["workers"]
    assert (worker["name"], worker["alive"], worker["about"]["host"]) == ("w1", True, "h")
    (schedule,) = (await look("schedules"))["schedules"]
    assert (schedule["name"], schedule["cron"]) == ("nightly", "0 3 * * *")
    assert (await look("audit"))["entries"] == []


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("channels", {"sort": "sideways"}),
        ("channels", {"limit": "0"}),
        ("channels", {"limit": "201"}),
        ("channels", {"limit": "-1"}),
        ("channels", {"limit": "²"}),
        ("channels", {"cursor": "nonsense"}),
        ("channels", {"cursor": "W10"}),
        ("channels", {"search": "a\0b"}),
        ("channels", {"state": "odd"}),
        ("channel", {}),
        ("channel", {"name": "x" * 2000}),
        ("series", {"span": "year"}),
    ],
)
async def test_what_cannot_be_meant_is_refused_with_a_sentence(look, path, query):
    error = (await look(path, status=422, **query))["error"]
    assert error["code"] == "invalid"
    assert error["message"].endswith(".")


async def test_a_queue_that_is_not_shown_is_not_found(look):
    assert (await look.client.get("/api/queues/other/overview")).status_code == 404
