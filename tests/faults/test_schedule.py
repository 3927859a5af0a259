"""A schedule is drawn from its seed alone."""

from faults.schedule import KINDS, draw_schedule


def test_the_same_seed_draws_the_same_schedule() -> None:
    assert draw_schedule(7, count=50, gap=1) == draw_schedule(7, count=50, gap=1)
    assert draw_schedule(7, count=50, gap=1) != draw_schedule(8, count=50, gap=1)


def test_every_kind_of_fault_comes_where_there_is_room() -> None:
    assert {fault.kind for fault in draw_schedule(1, count=len(KINDS), gap=1)} == set(KINDS)
