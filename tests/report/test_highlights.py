"""The highlights of a report: chosen by rule, in plain sentences with numbers."""

from typing import Any

from lonnymq.report.document import max_detailed, rank_tenants
from lonnymq.report.highlights import RULES, Highlight, find_highlights
from lonnymq.report.page import fill_template, to_script_json
from report.sample_document import BEGIN, document, nothing


def calm() -> dict[str, Any]:
    """A report in which nothing is wrong."""
    made = document(hostile=False)
    made["summary"] |= {"failed": 0, "expired": 0, "dead": 0}
    made["tenants"]["dead"] = [0] * 40
    made["tenants"]["wait_p99"] = [90 + place for place in range(40)]
    made["fairness"]["shop"]["jain"] = [0.99] * 72
    made["backlog"]["waiting_after"] = [3] * 72
    return made | {"noisy": [], "limits": [], "starvation": [], "errors": [], "forecast": []}


def output(made: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(each.level, each.title, each.text) for each in find_highlights(made)]


def all_of(made: dict[str, Any]) -> dict[str, Highlight]:
    return {each.section: each for rule in RULES for each in rule(made)}


def test_where_nothing_is_wrong_the_news_is_good():
    assert output(calm()) == [
        (
            "good",
            "Tenants were served fairly",
            "The mean of Jain's index was 0.99 over 72 hours with competing tenants, and never below 0.99. "
            "1 is perfectly fair.",
        ),
        (
            "good",
            "Short waits for all tenants",
            "tenant-00040 waited longest: 99% of the attempts began within 129 ms.",
        ),
        ("good", "No dead messages", "Every finished message was completed."),
    ]
    assert find_highlights(nothing()) == []


def test_the_gravest_come_first():
    made = calm()
    made["summary"] |= {"dead": 500, "completed": 9_500}
    made["tenants"]["dead"][3] = 480
    made["errors"] = [
        {
            "error": "no answer after # s",
            "attempts": 700,
            "dead": 500,
            "channels": 2,
            "channel": "x",
            "source": "shop",
        }
    ]
    level, title, text = output(made)[0]
    assert (level, title) == ("bad", "500 messages died")
    assert text == (
        "5% of all finished messages. tenant-00004 has 480 dead messages. "
        "The most frequent error is “no answer after # s”."
    )


def test_a_flood_that_nobody_felt_is_good_news():
    made = calm()
    flood = {
        "source": "shop",
        "channel": "tenant-00001",
        "hours": 5,
        "share": 0.8,
        "most_share": 0.9,
    }
    made["noisy"] = [flood | {"quiet_wait_p95": 120, "otherwise_wait_p95": 110}]
    assert all_of(made)["noisy"].text == (
        "tenant-00001 had 80% of all work for 5 hours. The p95 wait of the other tenants was 120 ms, "
        "and 110 ms at other times."
    )
    assert all_of(made)["noisy"].level == "good"
    made["noisy"] = [flood | {"quiet_wait_p95": 90_000, "otherwise_wait_p95": 110}]
    assert all_of(made)["noisy"].level == "bad"


def test_a_window_in_which_nobody_was_served_asks_for_the_workers():
    made = calm()
    window = {"source": "shop", "channel": "tenant-00009", "begins_at": BEGIN}
    window |= {"length_ms": 600_000, "is_held": False}
    made["starvation"] = [window | {"others": 0}]
    assert all_of(made)["starvation"].text.endswith("Check whether workers were running.")
    made["starvation"] = [window | {"others": 4_000}]
    assert all_of(made)["starvation"].text == (
        "From 1 Jan 2030, 00:00 UTC messages of tenant-00009 waited for 10 min without an attempt, "
        "while other tenants got 4,000 attempts. No limit of the tenant explains the wait."
    )
    made["starvation"] = [window | {"others": 4_000, "is_held": True}]
    assert "starvation" not in all_of(made)


def test_a_limit_is_worth_a_look_while_messages_wait():
    made = calm()
    limit = {
        "source": "shop",
        "channel": "tenant-00002",
        "max_concurrency": 2,
        "min_interval_ms": None,
    }
    limit |= {"hours_at_concurrency": 30, "hours_at_rate": 0, "waiting_meanwhile": 41.6}
    made["limits"] = [limit]
    assert all_of(made)["limits"].text == (
        "tenant-00002 was at the concurrency limit of 2 for 30 hours, while 42 messages waited on average. "
        "Raise the limit if the protected service can take more."
    )
    made["limits"] = [limit | {"waiting_meanwhile": 0.2}]
    assert "limits" not in all_of(made)


def test_tenants_that_stand_out_are_shown_in_full():
    rows = [
        dict.fromkeys(
            ("wait_p99", "dead", "waiting_most", "failed", "wait_p50", "expired", "size"), 0
        )
        | {"source": "s", "channel": str(place), "attempts": 10 + place}
        for place in range(50)
    ]
    rows[7]["dead"], rows[3]["wait_p99"] = 1, 5
    order = rank_tenants(rows, [("s", "20"), ("s", "not there")])
    assert order[0] == 20
    assert set(order[:5]) >= {3, 7, 49}
    assert sorted(order) == list(range(50))
    assert (max_detailed(744), max_detailed(24), max_detailed(1_000_000)) == (120, 120, 5)


def test_json_cannot_end_its_script():
    text = to_script_json({"</script>": "<!--<script>\u2028&"})
    assert not set("<>&\u2028") & set(text)
    assert fill_template("a {{one}} b {{two}}", one="{{two}}", two="2") == "a {{two}} b 2"
