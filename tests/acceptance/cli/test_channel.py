"""`lonnymq channel`: list, show, set, pause, resume, release."""

import pytest

import lonnymq
from commands import run


@pytest.fixture
def queue(dsn_18: str):
    with lonnymq.Queue(dsn_18) as queue:
        yield queue


def test_limits_are_set_as_people_write_them(queue: lonnymq.Queue, dsn_18: str) -> None:
    options = [
        "--max-concurrency", 4, "--min-interval", "1.5s", "--burst", 3, "--max-size", "10,000",
        "--when-full", "drop", "--weight", 7, "--max-attempts", 2, "--retry-delays", "1s,2m",
        "--retry-jitter", "0.5",
    ]  # fmt: skip
    ran = run("channel", "set", "acme", *options, dsn=dsn_18)
    assert (ran.code, ran.out) == (
        0,
        "created: acme, 4 at once, 1 per 1.5 s, 3 in a burst, 10,000 live, weight 7\n",
    )
    stats = queue.channel("acme").stats()
    assert stats is not None
    assert (stats.max_concurrency, stats.min_interval_ms, stats.burst) == (4, 1500, 3)
    assert (stats.max_size, stats.when_full, stats.weight) == (10_000, "drop", 7)
    assert (stats.max_attempts, stats.retry_delays_ms, stats.retry_jitter) == (
        2,
        [1000, 120_000],
        0.5,
    )


def test_none_takes_a_limit_away_and_the_others_stay(queue: lonnymq.Queue, dsn_18: str) -> None:
    queue.channel("acme").set(max_concurrency=4, weight=2)
    ran = run("channel", "set", "acme", "--max-concurrency", "none", "--json", dsn=dsn_18)
    assert ran.json == {"channel": "acme", "answer": "changed", "set": {"max_concurrency": None}}
    stats = queue.channel("acme").stats()
    assert stats is not None
    assert (stats.max_concurrency, stats.weight) == (None, 2)


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--max-concurrency", "many", "'many' is not a whole number"),
        ("--min-interval", "5", "'5' is not a duration"),
        ("--retry-delays", "1s,soon", "'soon' is not a duration"),
        ("--weight", "0", "Weight must be a whole number from 1 to 1000"),
        ("--when-full", "explode", "when_full"),
    ],
)
def test_a_limit_that_makes_no_sense_is_a_matter_of_usage(
    dsn_18: str, option: str, value: str, words: str
) -> None:
    ran = run("channel", "set", "acme", option, value, dsn=dsn_18)
    assert ran.code == 2
    assert words.lower() in ran.err.lower()


def test_channels_are_listed_a_page_at_a_time(queue: lonnymq.Queue, dsn_18: str) -> None:
    for name in ("acme", "bloom", "cedar"):
        queue.channel(name).create(b"x")
    first = run("channel", "list", "--limit", 2, "--json", dsn=dsn_18).json
    assert [each["channel"] for each in first["channels"]] == ["acme", "bloom"]
    rest = run(
        "channel", "list", "--limit", 2, "--after", first["next_after"], "--json", dsn=dsn_18
    )
    assert [each["channel"] for each in rest.json["channels"]] == ["cedar"]
    assert rest.json["next_after"] is None
    people = run("channel", "list", "--limit", 2, dsn=dsn_18)
    assert "acme" in people.out
    assert people.err == "There may be more: lonnymq channel list --after bloom\n"


def test_a_listed_channel_has_the_keys_that_its_figures_have(
    queue: lonnymq.Queue, dsn_18: str
) -> None:
    queue.channel("acme").create(b"x")
    [channel] = run("channel", "list", "--json", dsn=dsn_18).json["channels"]
    assert set(channel) == {
        "channel", "state", "waiting", "scheduled", "leased", "dead", "oldest_at", "next_at",
        "in_flight", "size", "counted_exactly", "max_concurrency", "min_interval_ms", "burst",
        "max_size", "when_full", "weight", "max_attempts", "retry_delays_ms", "retry_jitter",
        "paused", "retiring",
    }  # fmt: skip


def test_an_empty_queue_says_so(dsn_18: str) -> None:
    assert run("channel", "list", dsn=dsn_18).out.startswith("No channels yet")


def test_a_channel_is_shown_with_why_it_is_held_back(queue: lonnymq.Queue, dsn_18: str) -> None:
    queue.channel("acme").set(max_concurrency=1)
    queue.channel("acme").create_many([b"1", b"2"])
    queue.dequeue(limit=2)
    ran = run("channel", "show", "acme", dsn=dsn_18)
    assert "saturated: 1 of 1 running" in ran.out
    document = run("channel", "show", "acme", "--json", dsn=dsn_18).json
    assert (document["reason"], document["channel"]["waiting"]) == ("1 of 1 running", 1)


def test_a_channel_is_paused_and_resumed(queue: lonnymq.Queue, dsn_18: str) -> None:
    queue.channel("acme").create(b"x")
    assert run("channel", "pause", "acme", dsn=dsn_18).out == "paused: acme\n"
    assert run("channel", "pause", "acme", dsn=dsn_18).out == "already paused: acme\n"
    assert not queue.dequeue()
    assert run("channel", "resume", "acme", "--json", dsn=dsn_18).json == {
        "channel": "acme",
        "answer": "resumed",
    }
    assert queue.dequeue()


def test_a_release_says_what_it_does_and_wants_a_yes(queue: lonnymq.Queue, dsn_18: str) -> None:
    queue.channel("acme").create_many([b"1", b"2"])
    asked = run("channel", "retire", "acme", dsn=dsn_18)
    assert asked.code == 1
    assert "This will retire channel 'acme'" in asked.err
    assert "workers still get 2 messages" in asked.err
    assert asked.err.endswith("Add --yes to confirm.\n")
    assert run("channel", "retire", "acme", "--yes", dsn=dsn_18).out == "retiring: acme\n"


def test_what_tenants_call_their_channels_has_no_power_over_the_terminal(
    queue: lonnymq.Queue, dsn_18: str
) -> None:
    queue.channel("[red]\x1b[31m\n").create(b"\x1b]0;owned\x07")
    for command in (("channel", "list"), ("message", "peek", "[red]\x1b[31m\n"), ("status",)):
        ran = run(*command, dsn=dsn_18)
        assert ran.code == 0, ran
        assert "\x1b" not in ran.out
    assert "[red]\\x1b[31m\\n" in run("channel", "list", dsn=dsn_18).out


def test_options_may_stand_before_the_command(queue: lonnymq.Queue, dsn_18: str) -> None:
    queue.channel("acme").create(b"x")
    ran = run(
        "--dsn", dsn_18, "--json", "channel", "show", "acme", dsn="postgresql://127.0.0.1:1/x"
    )
    assert ran.json["channel"]["channel"] == "acme"


def test_another_schema_is_another_queue(dsn_18: str) -> None:
    assert run("install", "--schema", "billing", dsn=dsn_18).code == 0
    run("channel", "set", "acme", "--schema", "billing", "--weight", 2, dsn=dsn_18)
    assert run("channel", "show", "acme", "--schema", "billing", dsn=dsn_18).code == 0
    assert run("channel", "show", "acme", dsn=dsn_18).code == 1
