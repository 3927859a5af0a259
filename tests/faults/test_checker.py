"""The checker finds what it is there to find: one record for each thing that must never be."""

import pytest
from faults.checker import run_checks, tell_story
from faults.observations import (
    Answer,
    Attempt,
    Change,
    Create,
    Delivery,
    HandlerRun,
    Observations,
    Stored,
)


def lease(at: int = 1000, *, until: int = 3000, token: str = "a", attempt: int = 1) -> Delivery:
    return Delivery(1, token, "p-1", "acme", attempt, at, until, at - 5, at + 5, "worker-0")


def ended(outcome: str, at: int = 1000, finished: int = 2000, attempt: int = 1) -> Attempt:
    return Attempt(1, "acme", attempt, outcome, at, finished, "worker-0")


def answered(word: str, token: str = "a", at: float = 2005) -> Answer:
    return Answer(1, token, "message_complete", word, at, "worker-0", begun=at - 10)


def handled(
    begin: float = 1010, end: float = 1990, *, token: str = "a", phase: str = "returned",
    who: str = "worker-0", kind: str = "slow",
) -> HandlerRun:  # fmt: skip
    return HandlerRun(1, token, "p-1", kind, 1, begin, who, end, phase)


@pytest.fixture
def good() -> Observations:
    """One message: created, leased, handled, completed."""
    observed = Observations()
    observed.creates["p-1"] = Create("p-1", "acme", 900, "ok", ids=[1])
    observed.deliveries[1].append(lease())
    observed.runs[1].append(handled())
    observed.attempts[1].append(ended("completed"))
    observed.answers[1].append(answered("completed"))
    return observed


def red(observed: Observations) -> set[str]:
    return {name for name, found in run_checks(observed).items() if found}


def test_nothing_is_found_where_all_is_well(good: Observations) -> None:
    assert red(good) == set()


def test_a_message_that_is_nowhere_is_lost(good: Observations) -> None:
    good.creates["p-2"] = Create("p-2", "acme", 900, "ok", ids=[2])
    assert red(good) == {"lost"}


@pytest.mark.parametrize("phase", ["begin", "unknown", "rejected"])
def test_a_message_that_was_not_acknowledged_may_be_nowhere(good: Observations, phase: str) -> None:
    good.creates["p-2"] = Create("p-2", "acme", 900, phase)
    assert red(good) == set()


def test_a_dead_and_a_stored_message_are_not_lost(good: Observations) -> None:
    good.creates["p-2"] = Create("p-2", "acme", 900, "ok", ids=[2])
    good.creates["p-3"] = Create("p-3", "acme", 900, "ok", ids=[3])
    good.dead[2] = "p-2"
    good.stored[3] = Stored(3, "p-3", "acme", None, None)
    assert red(good) == set()


def test_a_message_that_nobody_created_is_a_ghost(good: Observations) -> None:
    good.stored[7] = Stored(7, "who", "acme", None, None)
    assert red(good) == {"ghosts"}


def test_a_message_whose_create_was_rejected_is_a_ghost(good: Observations) -> None:
    good.creates["p-1"].phase = "rejected"
    assert "ghosts" in red(good)


def test_a_rolled_back_message_that_is_there_is_found(good: Observations) -> None:
    good.creates["p-1"].phase, good.creates["p-1"].rolled_back = "rejected", True
    assert red(good) == {"rolled back"}


def test_two_completions_of_one_message_are_found(good: Observations) -> None:
    good.deliveries[1].append(lease(4000, until=6000, token="b", attempt=2))
    good.runs[1].append(handled(4010, 4990, token="b"))
    good.attempts[1].append(ended("completed", 4000, 5000, 2))
    good.answers[1].append(answered("completed", "b", 5005))
    assert "doubly completed" in red(good)


def test_a_completion_of_which_history_does_not_know_is_found(good: Observations) -> None:
    good.attempts[1][0].outcome = "expired"
    good.attempts[1][0].finished = 3000
    good.stored[1] = Stored(1, "p-1", "acme", None, None)
    assert red(good) == {"unfounded"}


def test_a_stale_completion_that_was_accepted_is_found(good: Observations) -> None:
    good.attempts[1] = [ended("expired", 1000, 3000), ended("completed", 3001, 3500, 2)]
    good.deliveries[1].append(lease(3001, until=5000, token="b", attempt=2))
    good.runs[1].append(handled(3010, 3490, token="b"))
    assert red(good) == {"unfounded"}


def test_a_stale_completion_that_was_rejected_is_fine(good: Observations) -> None:
    good.attempts[1] = [ended("expired", 1000, 3000), ended("completed", 3001, 3500, 2)]
    good.deliveries[1].append(lease(3001, until=5000, token="b", attempt=2))
    good.runs[1].append(handled(3010, 3490, token="b"))
    good.answers[1] = [answered("lease_lost"), answered("completed", "b", 3505)]
    assert red(good) == set()


def test_two_leases_at_one_moment_overlap(good: Observations) -> None:
    good.attempts[1] = [ended("failed", 1000, 2500), ended("completed", 2400, 3500, 2)]
    good.answers[1].clear()
    assert "overlaps" in red(good)


def test_a_lease_that_expired_before_its_time_is_found(good: Observations) -> None:
    good.attempts[1] = [ended("expired", 1000, 2999)]
    good.answers[1].clear()
    good.stored[1] = Stored(1, "p-1", "acme", None, None)
    assert red(good) == {"overlaps"}


def test_a_lease_without_an_end_is_an_extra_delivery_unless_the_server_crashed(
    good: Observations,
) -> None:
    good.deliveries[1].insert(0, lease(400, until=950, token="z"))
    assert red(good) == {"extra"}
    good.crashes.append((500, 520))
    assert red(good) == set()


def test_a_crash_excuses_no_lease_that_was_on_disk(good: Observations) -> None:
    good.deliveries[1].insert(0, lease(400, until=950, token="z"))
    good.crashes.append((500, 520))
    good.durable.append(
        (406, 515)
    )  # a commit that waits for the disk, begun after the lease was heard
    assert red(good) == {"extra"}


@pytest.mark.parametrize("commit", [(404, 515), (406, 530)])
def test_a_commit_that_began_before_the_lease_or_was_never_acknowledged_says_nothing_of_the_lease(
    good: Observations, commit: tuple[float, float]
) -> None:
    good.deliveries[1].insert(0, lease(400, until=950, token="z"))
    good.crashes.append((500, 520))
    good.durable.append(commit)
    assert red(good) == set()


@pytest.mark.parametrize("crash", [(380, 390), (1500, 1520)])
def test_a_crash_before_the_lease_or_long_after_it_excuses_nothing(
    good: Observations, crash: tuple[float, float]
) -> None:
    good.deliveries[1].insert(0, lease(400, until=950, token="z"))
    good.crashes.append(crash)
    assert red(good) == {"extra"}


def test_a_message_is_lost_though_history_has_its_completion(good: Observations) -> None:
    good.runs.clear()
    assert red(good) == {"lost", "not run"}


def test_a_deferred_run_is_no_end_of_a_message(good: Observations) -> None:
    good.runs[1][0].phase = "deferred"
    good.attempts[1][0].outcome = "deferred"
    good.answers.clear()
    assert red(good) == {"lost"}


def test_a_completion_before_the_handler_ended_is_found(good: Observations) -> None:
    good.runs[1][0].end = 2001
    assert red(good) == {"not run"}


def test_a_consumer_without_handlers_completes_by_itself(good: Observations) -> None:
    good.runs.clear()
    good.attempts[1][0].worker = good.answers[1][0].who = "consumer-0"
    assert red(good) == set()


def test_a_handler_that_runs_twice_under_one_lease_is_found(good: Observations) -> None:
    good.runs[1].insert(0, handled(1001, 1005))
    assert red(good) == {"run twice"}


def test_a_handler_that_runs_without_a_lease_is_found(good: Observations) -> None:
    good.runs[1].insert(0, handled(1001, 1005, token="q"))
    assert red(good) == {"run twice"}


def two_at_once(observed: Observations, **first: str) -> Observations:
    observed.deliveries[1].insert(0, lease(100, until=800, token="z"))
    observed.attempts[1].insert(0, ended("expired", 100, 801))
    observed.runs[1].insert(
        0, handled(110, 1500, token="z", phase="raised", who="worker-1", **first)
    )
    return observed


def test_two_handlers_of_one_message_at_once_are_found(good: Observations) -> None:
    assert red(two_at_once(good)) == {"run at once"}


def test_a_suspended_worker_and_a_thread_may_run_beside_another(good: Observations) -> None:
    two_at_once(good)
    good.faults.append({"fault": "suspended", "who": "worker-1", "t": 500, "seconds": 1})
    assert red(good) == set()
    good.faults.clear()
    good.runs[1][0].kind = "thread"
    assert red(good) == set()


def test_a_suspension_of_another_worker_excuses_nothing(good: Observations) -> None:
    two_at_once(good)
    good.faults.append({"fault": "suspended", "who": "worker-2", "t": 500, "seconds": 1})
    assert red(good) == {"run at once"}


def test_a_lease_after_the_completion_is_found(good: Observations) -> None:
    good.deliveries[1].append(lease(2001, token="b"))
    good.crashes.append((2010, 2020))
    assert red(good) == {"extra"}


def test_a_message_that_nobody_was_given_and_that_is_done_is_found(good: Observations) -> None:
    good.deliveries.clear()
    good.answers.clear()
    assert "phantoms" in red(good)


def limited(observed: Observations, *changes: Change) -> Observations:
    observed.changes["acme"].extend(changes)
    for number in range(2, 5):
        label = f"p-{number}"
        observed.creates[label] = Create(label, "acme", 900, "ok", ids=[number])
        delivery = Delivery(number, "t", label, "acme", 1, 1000, 3000, 995, 1005, "worker-0")
        observed.deliveries[number].append(delivery)
        run = HandlerRun(number, "t", label, "slow", 1, 1010, "worker-0", 1990, "returned")
        observed.runs[number].append(run)
        attempt = Attempt(number, "acme", 1, "completed", 1000, 2000, "worker-0")
        observed.attempts[number].append(attempt)
    return observed


def test_a_sweep_finds_leases_over_the_concurrency(good: Observations) -> None:
    assert red(limited(good, Change(0, 1, {"max_concurrency": 4}))) == set()
    good.changes["acme"][0].options["max_concurrency"] = 3
    assert red(good) == {"over limit"}


def test_a_limit_that_was_being_lowered_is_not_held_against_a_dequeue_that_had_begun(
    good: Observations,
) -> None:
    lowered = Change(996, 1010, {"max_concurrency": 1})
    assert red(limited(good, Change(0, 1, {"max_concurrency": 4}), lowered)) == set()
    lowered.begin, lowered.end = 980, 990
    assert red(good) == {"over limit"}


def test_a_limit_that_was_raised_before_the_answer_was_heard_may_have_been_in_force(
    good: Observations,
) -> None:
    raised = Change(1000.1, 1002, {"max_concurrency": 4})
    assert red(limited(good, Change(0, 1, {"max_concurrency": 1}), raised)) == set()
    raised.begin, raised.end = 1006, 1010
    assert red(good) == {"over limit"}


def test_leases_sooner_than_the_rate_are_found(good: Observations) -> None:
    allowed = Change(0, 1, {"min_interval_ms": 10, "burst": 4})
    assert red(limited(good, allowed)) == set()
    allowed.options["burst"] = 3
    assert red(good) == {"over limit"}


def test_a_failure_shows_the_history_of_its_message(good: Observations) -> None:
    lines = tell_story(good, 1)
    assert "message 1 (p-1)" in lines[0]
    words = [line.split("  ")[-1].split(" ")[0] for line in lines[1:]]
    assert words == [
        "create", "leased:", "handler", "handler", "history:", "message_complete",
    ]  # fmt: skip
