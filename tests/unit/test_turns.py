"""A place in the ring has one user at a time."""

from lonnymq.turns import MOST_TRIES, Turns, patience


def test_one_consumer_goes_on_where_it_stopped() -> None:
    turns = Turns()
    with turns.turn() as turn:
        turn.cursor = [5]
    with turns.turn() as turn:
        assert turn.cursor == [5]


def test_two_at_once_have_a_place_each_and_neither_moves_the_other() -> None:
    turns = Turns()
    with turns.turn() as first, turns.turn() as second:
        first.cursor, second.cursor = [1], [2]
    assert sorted(turn.cursor or [] for turn in turns.idle) == [[1], [2]]


def test_a_failed_dequeue_gives_its_place_back() -> None:
    turns = Turns()
    try:
        with turns.turn():
            raise RuntimeError
    except RuntimeError:
        pass
    assert len(turns.idle) == 1


def test_patience_has_an_end_and_its_pauses_are_short() -> None:
    pauses = list(patience())
    assert 1 <= len(pauses) <= MOST_TRIES
    assert all(0 <= pause <= 0.02 for pause in pauses)
