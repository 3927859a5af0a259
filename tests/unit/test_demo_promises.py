"""The demo's verdict: counted from history, and red on a history in which a promise was broken."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from examples.demo.lake_report import default_file, judged
from examples.demo.promises import (
    Promise,
    breaks_of_rate,
    limits_kept,
    most_at_once,
    promises,
    waits,
    waits_by_age,
)
from examples.demo.scenario import Killed, Scenario

from lonnymq.results import Created, Duplicate, HistoryRow

ROW = HistoryRow(
    xid=1, message_id=1, channel="acme", kind=None, key=None, attempt=1, worker=None,
    outcome="completed", created_at=0, dequeue_at=0, dequeued_at=10, finished_at=20, size=1,
    error=None, headers=None, content=None,
)  # fmt: skip


def job(number: int, **more) -> HistoryRow:
    return replace(ROW, message_id=number, **more)


def good() -> tuple[list[HistoryRow], Scenario]:
    """A history in which everything was kept."""
    no_queue: Any = None
    scenario = Scenario(queue=no_queue, codec=Path("none"))
    rows = [job(n, dequeued_at=n * 10, finished_at=n * 10 + 5) for n in range(1, 6)]
    rows.append(job(6, created_at=5, dequeue_at=-1, dequeued_at=12, finished_at=14))
    rows += [
        job(7, channel="bloom", outcome=outcome, created_at=15, dequeued_at=at, finished_at=at + 1)
        for outcome, at in (("deferred", 20), ("deferred", 30), ("completed", 40))
    ]
    rows += [
        job(8, channel="ember", outcome=outcome, attempt=attempt, dequeued_at=attempt, finished_at=attempt)
        for attempt, outcome in enumerate(("failed", "failed", "dead", "completed"), 1)
    ]  # fmt: skip
    scenario.later, scenario.keyed = 1, [Created(1), Duplicate(1)]
    rows += [
        job(9, outcome="expired", worker="killed", dequeued_at=60, finished_at=61),
        job(9, worker="another", dequeued_at=70, finished_at=71),
    ]
    scenario.killed = Killed(1, "killed", frozenset({9}))
    rows += [job(20 + n, channel="reports", key=f"report {n}") for n in range(3)]
    scenario.created, scenario.upload, scenario.poison = set(range(1, 10)), 7, 8
    return rows, scenario


def killed(scenario: Scenario, who: Killed | None) -> None:
    scenario.killed = who


def upload_again(rows: list[HistoryRow], scenario: Scenario) -> None:
    rows.append(job(5, outcome="deferred"))
    scenario.upload = 5


def broken(found: list[Promise]) -> list[str]:
    return [each.words for each in found if not each.kept]


def test_a_good_history_keeps_every_promise() -> None:
    rows, scenario = good()
    assert broken(promises(rows, scenario, left=0)) == []


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda rows, scenario: scenario.created.add(99), "lost 1"),
        (lambda rows, scenario: rows.append(job(1, dequeued_at=90, finished_at=91)), "completed twice: 1"),
        (lambda rows, scenario: rows.append(job(30, channel="reports", key="report 1")), "1 twice"),
        (lambda rows, scenario: upload_again(rows, scenario), "deferred 1"),
        (lambda rows, scenario: setattr(scenario, "poison", 1), "tried 0 times"),
        (lambda rows, scenario: rows.append(job(5, dequeue_at=11)), "before their time: 1"),
        (lambda rows, scenario: setattr(scenario, "later", 98), "before their time: 0"),
        (lambda rows, scenario: setattr(scenario, "keyed", [Created(1), Created(2)]), "2 message"),
        (lambda rows, scenario: rows.append(job(40, channel="delta", dequeued_at=900, finished_at=901)), "1 waited"),
        (lambda rows, scenario: killed(scenario, None), "nothing was shown"),
        (lambda rows, scenario: killed(scenario, Killed(1)), "nothing was shown"),
        (lambda rows, scenario: killed(scenario, Killed(1, "killed", frozenset({9, 98}))), "others completed 1"),
        (lambda rows, scenario: killed(scenario, Killed(1, "another", frozenset({9}))), "of 0 ran out"),
        (lambda rows, scenario: rows.remove(rows[5]), "overtook 0"),
        (lambda rows, scenario: rows.extend(job(50 + n) for n in range(11)), "10 at once allowed"),
    ],
)  # fmt: skip
def test_a_broken_promise_is_called_broken(spoil, words: str) -> None:
    rows, scenario = good()
    spoil(rows, scenario)
    assert words in " ".join(broken(promises(rows, scenario, left=0)))


def test_what_is_left_is_not_lost_but_told() -> None:
    rows, scenario = good()
    scenario.created.add(99)
    assert broken(promises(rows, scenario, left=1)) == ["left in the queue: 1"]


def test_leases_that_touch_do_not_overlap() -> None:
    rows = [job(1, dequeued_at=0, finished_at=10), job(2, dequeued_at=10, finished_at=20)]
    assert most_at_once(rows) == 1
    assert most_at_once([*rows, job(3, dequeued_at=9, finished_at=11)]) == 2


@pytest.mark.parametrize(
    ("times", "breaks"),
    [([0, 200, 400], 0), ([0, 0, 200], 0), ([0, 0, 199], 1), ([0, 0, 0], 1), ([0, 0, 400, 400], 0)],
)
def test_a_rate_with_a_burst_is_judged_over_every_span(times: list[int], breaks: int) -> None:
    rows = [job(n, dequeued_at=at) for n, at in enumerate(times)]
    assert breaks_of_rate(rows, 200, 2) == breaks


def test_by_age_alone_the_same_moments_go_to_the_oldest() -> None:
    rows = [
        job(1, created_at=0, dequeued_at=10),
        job(2, created_at=1, dequeued_at=30),
        job(3, created_at=5, dequeued_at=20, channel="bloom"),
    ]
    assert waits_by_age(rows) == {1: 10, 2: 19, 3: 25}
    found = {each.tenant: each for each in waits(rows)}
    assert (found["bloom"].longest_ms, found["bloom"].by_age_longest_ms) == (15, 25)


def test_limits_are_judged_from_the_leases() -> None:
    crowd = [job(n, channel=f"tenant {n}") for n in range(17)]
    assert "the queue: 16 at once allowed, at most 17 were" in broken(limits_kept(crowd))


def test_a_report_is_judged_by_its_attempts_and_its_tenants() -> None:
    page = "acme bloom cedar delta ember"
    assert broken(judged(7, 7, page)) == broken(judged(7, None, page)) == []
    assert broken(judged(6, 7, page)) == ["Spark brought 6 attempts into a lake, the history has 7"]
    assert broken(judged(0, None, page)) == ["Spark brought 0 attempts into a lake"]
    assert broken(judged(7, 7, "acme cedar")) == ["the report tells of 2 of 5 tenants"]


def test_the_report_is_kept_among_the_user_s_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert default_file() == Path("/data/lonnymq/demo-report.html")
