"""Actions: each has a preview, runs, and is written to the audit log."""

from typing import Any

import psycopg
import pytest

from dashboard.conftest import TOKEN
from dashboard.sample_queue import HOSTILE, fill_queue
from lonnymq import NewMessage, Queue
from lonnymq.client import calls


class Acting:
    """A page on which may be acted, over a stocked queue."""

    def __init__(self, client: Any, queue: Queue, ids: dict[str, int], dsn: str) -> None:
        self.client, self.queue, self.ids, self.queue_dsn = client, queue, ids, dsn

    async def post(self, action: str, body: Any, status: int = 200, **more: Any) -> Any:
        answer = await self.client.post(f"/api/queues/jobs/actions/{action}", json=body, **more)
        assert answer.status_code == status, answer.text
        return answer.json()

    async def look(self, path: str, **query: Any) -> Any:
        return (await self.client.get(f"/api/queues/jobs/{path}", params=query)).json()


@pytest.fixture
async def acting(page, dsn_18: str) -> Any:
    with Queue(dsn_18) as queue:
        yield Acting(await page(actions=True, token=TOKEN), queue, fill_queue(queue), dsn_18)


async def test_pausing_and_resuming_a_channel_is_previewed_done_and_written_down(acting):
    will = await acting.post("pause/preview", {"channel": "acme"})
    assert will["count"] == 1
    assert "will not get 1 waiting message" in will["message"]
    assert acting.queue.channel("acme").stats().paused is False
    did = await acting.post("pause", {"channel": "acme"})
    assert did["answer"] == "paused"
    assert acting.queue.channel("acme").stats().paused is True
    assert (await acting.post("pause/preview", {"channel": "acme"}))["warning"]
    assert (await acting.post("resume", {"channel": "acme"}))["answer"] == "resumed"
    entries = (await acting.look("audit"))["entries"]
    assert [(each["action"], each["subject"], each["who"]) for each in entries] == [
        ("resume", "acme", "token"),
        ("pause", "acme", "token"),
    ]
    assert entries[1]["id"] == did["audit_id"]
    assert len((await acting.look("audit", subject="acme"))["entries"]) == 2
    assert (await acting.look("audit", subject="other"))["entries"] == []


async def test_limits_are_set_and_a_bad_one_is_refused_with_a_sentence(acting):
    body = {"channel": "acme", "options": {"max_concurrency": 4, "min_interval_ms": 100}}
    will = await acting.post("set_limits/preview", body)
    assert "max_concurrency from none to 4" in will["message"]
    assert acting.queue.channel("acme").stats().max_concurrency is None
    await acting.post("set_limits", body)
    assert acting.queue.channel("acme").stats().max_concurrency == 4
    await acting.post("set_limits", {"channel": "acme", "options": {"max_concurrency": None}})
    assert acting.queue.channel("acme").stats().max_concurrency is None
    for options in ({"max_concurrency": 0}, {"burst": "x"}, {"odd": 1}, {}, None, {"weight": 1e9}):
        bad = {"channel": "acme", "options": options}
        for path in ("set_limits", "set_limits/preview"):
            assert (await acting.post(path, bad, status=422))["error"]["message"]
    assert len((await acting.look("audit"))["entries"]) == 2


async def test_a_waiting_message_is_cancelled_and_a_running_one_after_a_warning(acting):
    waiting, leased = str(acting.ids["waiting"]), str(acting.ids["leased"])
    assert (await acting.post("cancel/preview", {"id": leased}))["warning"]
    assert (await acting.post("cancel", {"id": leased}))["answer"] == "cancelled"
    assert (await acting.post("cancel", {"id": waiting}))["answer"] == "cancelled"
    await acting.post("cancel", {"id": waiting}, status=404)
    subjects = [each["subject"] for each in (await acting.look("audit"))["entries"]]
    assert sorted(subjects) == sorted([waiting, leased])


async def test_a_group_of_dead_messages_is_redriven_and_the_others_stay(acting):
    group = (await acting.look("dead/groups"))["groups"][0]["group"]
    will = await acting.post("redrive/preview", {"group": group})
    assert (will["count"], will["exact"]) == (3, True)
    did = await acting.post("redrive", {"group": group})
    assert (did["count"], did["more"]) == (3, False)
    assert acting.queue.channel("broken").stats().dead == 1
    assert acting.queue.channel("broken").stats().waiting == 3


async def test_dead_messages_are_chosen_by_id_by_channel_or_all_and_never_by_nothing(acting):
    one = str(acting.ids["dead"])
    assert (await acting.post("redrive", {"ids": [one]}))["count"] == 1
    assert (await acting.post("purge_dead/preview", {"channel": "broken"}))["count"] == 3
    assert (await acting.post("purge_dead", {"channel": "broken", "kind": "import"}))["count"] == 2
    bodies: list[dict[str, Any]] = [
        {}, {"ids": []}, {"all": False}, {"ids": ["x"]}, {"ids": "1"}, {"channel": 3}
    ]  # fmt: skip
    for body in bodies:
        await acting.post("purge_dead", body, status=422)
    assert (await acting.post("purge_dead", {"all": True}))["count"] == 1
    assert acting.queue.stats().dead == 0


async def test_a_channels_waiting_messages_are_purged_and_what_runs_goes_on(acting):
    assert (await acting.post("purge/preview", {"channel": "acme"}))["count"] == 2
    assert (await acting.post("purge", {"channel": "acme"}))["count"] == 2
    assert acting.queue.channel("acme").stats().leased == 1


async def test_a_purge_deletes_nothing_that_came_after_its_preview(acting):
    will = await acting.post("purge/preview", {"channel": "acme"})
    acting.queue.create("acme", b"after the preview")
    did = await acting.post("purge", {"channel": "acme", **will["bound"]})
    assert did["count"] == will["count"] == 2
    assert acting.queue.channel("acme").stats().waiting == 1
    (entry,) = (await acting.look("audit"))["entries"]
    assert entry["parameters"] == will["bound"]


async def test_an_action_on_dead_messages_leaves_those_that_died_after_its_preview(acting):
    will = await acting.post("purge_dead/preview", {"channel": "broken"})
    later = int(will["bound"]["died_before"]) + 1
    with psycopg.connect(acting.queue_dsn, autocommit=True) as connection:
        connection.execute(
            "update lonnymq.dead set died_at = %s where id = %s", (later, acting.ids["dead"])
        )
    did = await acting.post("purge_dead", {"channel": "broken", **will["bound"]})
    assert (will["count"], did["count"]) == (4, 3)
    (entry,) = (await acting.look("audit"))["entries"]
    assert entry["parameters"]["channel"] == "broken"
    assert entry["parameters"]["error"] == "OSError: disk full"


async def test_the_audit_has_the_old_and_the_new_limits(acting):
    acting.queue.channel("acme").set(max_concurrency=2)
    await acting.post("set_limits", {"channel": "acme", "options": {"max_concurrency": 4}})
    (entry,) = (await acting.look("audit"))["entries"]
    assert entry["parameters"] == {
        "options": {"max_concurrency": 4},
        "before": {"max_concurrency": 2},
    }


async def test_a_schedule_is_run_now(acting):
    assert "acme" in (await acting.post("run_schedule/preview", {"name": "nightly"}))["message"]
    assert (await acting.post("run_schedule", {"name": "nightly"}))["answer"] == "created"
    await acting.post("run_schedule", {"name": "weekly"}, status=404)


async def test_a_schedule_is_paused_and_resumed(acting):
    body = {"name": "nightly"}
    assert "acme" in (await acting.post("pause_schedule/preview", body))["message"]
    assert (await acting.post("pause_schedule", body))["answer"] == "paused"
    assert (await acting.post("pause_schedule/preview", body))[
        "warning"
    ] == "The schedule is already paused."
    assert "acme" in (await acting.post("resume_schedule/preview", body))["message"]
    assert (await acting.post("resume_schedule", body))["answer"] == "resumed"
    assert (await acting.look("audit"))["entries"][0]["action"] == "resume_schedule"
    for action in ("pause_schedule", "resume_schedule", "pause_schedule/preview"):
        await acting.post(action, {"name": "weekly"}, status=404)


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_name_is_acted_on_as_any_other(acting, name):
    assert (await acting.post("pause", {"channel": name}))["answer"] == "paused"
    assert acting.queue.channel(name).stats().paused is True
    assert (await acting.look("audit"))["entries"][0]["subject"] == name


async def test_without_actions_their_routes_are_not_there(page):
    client = await page(token=TOKEN)
    for path in ("pause", "pause/preview"):
        answer = await client.post(f"/api/queues/jobs/actions/{path}", json={"channel": "acme"})
        assert answer.status_code == 404


async def test_nobody_acts_who_is_not_signed_in_or_is_sent_by_another_page(acting, page):
    body = {"channel": "acme"}
    for headers in ({"X-CSRF-Token": ""}, {"Origin": "https://evil.test"}, {"X-CSRF-Token": "1"}):
        await acting.post("pause", body, status=403, headers=headers)
    stranger = await page(actions=True, token=TOKEN, signed_in=False)
    answer = await stranger.post("/api/queues/jobs/actions/pause", json=body)
    assert answer.status_code == 401
    answer = await stranger.post(
        "/api/queues/jobs/actions/pause", json=body, headers={"Authorization": "Bearer wrong"}
    )
    assert answer.status_code == 401
    assert acting.queue.channel("acme").stats().paused is False
    assert (await acting.look("audit"))["entries"] == []


async def test_a_program_acts_with_the_token_alone(acting, page):
    program = await page(actions=True, token=TOKEN, signed_in=False)
    program.cookies.clear()
    del program.headers["X-CSRF-Token"]
    answer = await program.post(
        "/api/queues/jobs/actions/pause",
        json={"channel": "acme"},
        headers={"Authorization": f"Bearer {TOKEN}"},
    )
    assert answer.json()["answer"] == "paused"


async def test_what_is_not_json_is_refused(acting):
    url = "/api/queues/jobs/actions/pause"
    for content, kind, status in (
        (b"channel=acme", "application/x-www-form-urlencoded", 415),
        (b"{", "application/json", 422),
        (b"[1]", "application/json", 422),
        (b"[" * 50_000, "application/json", 422),
        (b'{"channel": "' + b"x" * 70_000 + b'"}', "application/json", 413),
        (b'{"channel": "a\\u0000b"}', "application/json", 422),
        (b'{"channel": "\\ud800"}', "application/json", 422),
        (b'{"channel": "' + b"x" * 300 + b'"}', "application/json", 422),
    ):
        answer = await acting.client.post(url, content=content, headers={"Content-Type": kind})
        assert answer.status_code == status, content[:30]
    await acting.post("fly", {}, status=404)
    await acting.post("pause", {"channel": "nobody"}, status=404)


async def test_an_action_and_its_entry_are_stored_together_or_not_at_all(acting, dsn_18):
    with psycopg.connect(dsn_18, autocommit=True) as connection:
        connection.execute("alter table lonnymq.audit add check (subject <> 'acme')")
    await acting.post("pause", {"channel": "acme"}, status=503)
    assert acting.queue.channel("acme").stats().paused is False


async def test_looking_cannot_write(page, dsn_18):
    client = await page()
    queue = client._transport.app.state.dashboard.queues["jobs"]
    from lonnymq.dashboard.errors import ApiError

    with pytest.raises(ApiError):
        await queue.rows(calls.channel_set, "acme", {"weight": 2})
    with pytest.raises(ApiError):
        await queue.rows(calls.message_create, NewMessage(b"x", channel="acme"))


async def test_selected_messages_are_cancelled_and_no_other(acting):
    ids = [str(acting.ids[each]) for each in ("waiting", "leased", "completed")]
    will = await acting.post("cancel_many/preview", {"ids": ids})
    assert (will["count"], will["warning"]) == (2, "Workers are running 1 message.")
    assert "No longer in the queue: 1 message." in will["message"]
    did = await acting.post("cancel_many", {"ids": ids})
    assert did["count"] == 2
    assert sorted((await acting.look("audit"))["entries"][0]["parameters"]["ids"]) == sorted(
        ids[:2]
    )
    await acting.post("cancel_many", {"ids": []}, status=422)


async def test_a_dead_message_is_edited_and_queued_again(acting):
    dead = str(acting.ids["dead"])
    body = {"id": dead, "content": '{"fixed": "ä"}'}
    will = await acting.post("edit_dead/preview", body)
    assert "15 bytes" in will["message"]
    did = await acting.post("edit_dead", body)
    new = (await acting.look("audit"))["entries"][0]["parameters"]["id"]
    assert did["message"] == f"Message {new} replaces message {dead}."
    seen = (await acting.look(f"messages/{new}"))["message"]
    assert (seen["channel"], seen["kind"], seen["state"]) == ("broken", "import", "waiting")
    assert seen["content"]["text"] == '{\n  "fixed": "ä"\n}'
    assert acting.queue.channel("broken").stats().dead == 3
    await acting.post("edit_dead", body, status=404)


async def test_a_dead_message_stays_if_its_key_is_taken(acting):
    queue = acting.queue
    queue.create("broken", b"x", key="order-7")
    (message,) = [each for each in queue.dequeue(100) if each.key == "order-7"]
    queue.fail(message, error="no")
    queue.create("broken", b"y", key="order-7")
    before = queue.channel("broken").stats().dead
    body = {"id": str(message.id), "content": "z"}
    assert (await acting.post("edit_dead", body, status=409))["error"]["code"] == "conflict"
    assert queue.channel("broken").stats().dead == before


async def test_the_result_and_the_progress_of_a_message_are_shown(acting):
    queue = acting.queue
    done = queue.create("fresh", b"x")
    (message,) = [each for each in queue.dequeue(100) if each.id == done.id]
    queue.heartbeat(message, progress=0.4, note="rendering")
    seen = (await acting.look(f"messages/{done.id}"))["message"]
    assert (round(seen["progress"], 3), seen["progress_note"]) == (0.4, "rendering")
    queue.complete(message, result=b'{"frames": 7}')
    acting.client._transport.app.state.dashboard.cache.answers.clear()  # of the last second
    seen = (await acting.look(f"messages/{done.id}"))["message"]
    assert seen["result"]["text"] == '{\n  "frames": 7\n}'


async def test_messages_of_all_channels_are_found(acting):
    for state, name in (("running", "leased"), ("retrying", "failed"), ("scheduled", "scheduled"),
                        ("completed", "completed"), ("dead", "dead"), ("waiting", "waiting")):  # fmt: skip
        found = await acting.look("find", state=state)
        assert str(acting.ids[name]) in [each["id"] for each in found["messages"]], state
        assert found["next"] is None
        assert found["looked_at"] > 0
    acting.queue.create("acme", b'{"user": {"id": 7}}', key="order-7")
    for query in (
        {"field": "user.id", "value": "7"},
        {"key": "order-7"},
        {"key": "order-7", "channel": "acme"},
    ):
        found = await acting.look("find", **query)
        assert [each["key"] for each in found["messages"]] == ["order-7"]
    first = await acting.look("find", limit=2)
    second = await acting.look("find", limit=2, cursor=first["next"])
    assert not {each["id"] for each in first["messages"]} & {
        each["id"] for each in second["messages"]
    }
    in_line = await acting.look("find", limit=1, channel="acme")
    assert (await acting.look("find", channel="acme", cursor=in_line["next"]))["messages"]
    for bad in (
        {"field": "x"},
        {"state": "odd"},
        {"cursor": "x"},
        {"channel": "acme", "cursor": first["next"]},
    ):
        assert (await acting.look("find", **bad))["error"]["code"] == "invalid"
    for odd in ("NaN", "1e999", '"', "[" * 5000):
        assert (await acting.look("find", field="x", value=odd)).get("messages") == [] or len(
            odd
        ) > 1024


async def test_the_audit_log_is_filtered_by_user_and_action_and_paged(acting):
    for action in ("pause", "resume") * 3:
        await acting.post(action, {"channel": "acme"})
    seen, cursor = [], None
    while True:
        query = {"action": "pause", "user": "TOK", "limit": 2} | (
            {"cursor": cursor} if cursor else {}
        )
        found = await acting.look("audit", **query)
        seen += found["entries"]
        cursor = found["next"]
        if cursor is None:
            break
    assert [each["action"] for each in seen] == ["pause"] * 3
    assert (await acting.look("audit", user="nobody"))["entries"] == []
    assert (await acting.look("audit", action="fly"))["error"]["code"] == "invalid"


async def test_a_series_between_two_times_has_a_bounded_number_of_steps(acting):
    now = (await acting.look("series"))["now_at"]
    for length in (60_000, 3_600_000, 86_400_000):
        for path, query in (("series", {}), ("channel/series", {"name": "acme"})):
            found = await acting.look(path, start=now - length, end=now, **query)
            assert length / found["step_ms"] <= 360
            assert found["to_at"] == now
    for start, end in (
        (now, now - 1),
        (now - 100, now),
        (now - 10**10, now - 10**9),
        (now + 10**6, now + 10**7),
    ):
        assert (await acting.look("series", start=start, end=end))["error"]["code"] == "invalid"
