"""More and fewer messages than came: the same from the same seed, where they came, with their further attempts."""

import pytest

from lonnymq.errors import InvalidArgument
from lonnymq.simulate import Workload, WorkloadShape, make_workload, scale_workload

SMALL = Workload(["a", "b"], [0, 1, 0], [0, 5, 100], [0, -1, 700], [1, 2, 3])


def test_twice_the_messages_come_in_pairs_before_the_next_of_their_tenant() -> None:
    made, counted = scale_workload(SMALL, 2)
    assert counted is None
    assert made.channel == [0, 0, 1, 1, 0, 0]
    assert (
        made.created_at[0]
        == 0
        <= made.created_at[1]
        < 100
        == made.created_at[4]
        <= made.created_at[5]
        < 200
    )
    assert (
        made.created_at[2] == made.created_at[3] == 5
    )  # no other of its tenant says how often it comes
    assert made.due_at[2] == made.due_at[3] == -1  # urgent is urgent
    assert made.due_at[5] - made.created_at[5] == 600  # so much later than it came
    assert made.service_ms == [1, 1, 2, 2, 3, 3]


def test_once_the_messages_are_the_messages() -> None:
    assert scale_workload(SMALL, 1, counted=[2]) == (SMALL, [2])


@pytest.mark.parametrize("by", [0.25, 0.8, 1.5, 3.25])
def test_about_so_many_come_and_the_same_from_the_same_seed(by: float) -> None:
    work = make_workload(WorkloadShape(messages=4_000, tenants=7))
    made, _ = scale_workload(work, by, seed=3)
    assert len(made) / len(work) == pytest.approx(by, rel=0.1)
    assert scale_workload(work, by, seed=3)[0] == made
    assert scale_workload(work, by, seed=4)[0] != made
    assert min(made.created_at) >= min(work.created_at)


def test_a_message_brings_its_further_attempts_and_what_counts_along() -> None:
    work = make_workload(WorkloadShape(messages=500, tenants=3, failing=0.3, max_attempts=4))
    made, counted = scale_workload(work, 2, counted=range(0, len(work), 2))
    assert len(made) == 2 * len(work)
    assert len(made.after) == 2 * len(work.after)
    assert all(
        made.channel[later] == made.channel[first] for later, (first, _) in made.after.items()
    )
    assert counted is not None
    assert len(counted) == 2 * len(range(0, len(work), 2))


def test_nothing_grows_into_nothing() -> None:
    assert len(scale_workload(Workload([], [], [], [], []), 2)[0]) == 0


@pytest.mark.parametrize("by", [0, -1, 1001, float("nan")])
def test_growth_is_a_number_that_can_be(by: float) -> None:
    with pytest.raises(InvalidArgument, match="growth"):
        scale_workload(SMALL, by)
