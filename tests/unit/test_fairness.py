"""Jain's index on shares that were worked out by hand."""

import pytest

from lonnymq.fairness import jain_index


@pytest.mark.parametrize(
    ("shares", "index"),
    [([7, 7, 7, 7], 1), ([12, 0, 0, 0], 0.25), ([1, 2, 3], 36 / (3 * 14)), ([2, 1], 0.9)],
)
def test_it_is_one_for_equal_shares_and_an_nth_if_one_has_all(
    shares: list[float], index: float
) -> None:
    assert jain_index(shares) == pytest.approx(index)


@pytest.mark.parametrize("shares", [[], [1], [0, 0]])
def test_it_is_unknown_for_fewer_than_two_and_where_nobody_has_anything(
    shares: list[float],
) -> None:
    assert jain_index(shares) is None
