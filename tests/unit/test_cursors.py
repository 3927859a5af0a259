"""A cursor has one user at a time."""

from lonnymq.client.calls.lease import MAX_TRIES, DequeueCursors, retry_pauses


def test_one_consumer_goes_on_where_it_stopped() -> None:
    cursors = DequeueCursors()
    with cursors.lend() as cursor:
        cursor.position = [5]
    with cursors.lend() as cursor:
        assert cursor.position == [5]


def test_two_at_once_have_a_cursor_each_and_neither_moves_the_other() -> None:
    cursors = DequeueCursors()
    with cursors.lend() as first, cursors.lend() as second:
        first.position, second.position = [1], [2]
    assert sorted(cursor.position or [] for cursor in cursors.idle[None]) == [[1], [2]]


def test_a_failed_dequeue_gives_its_cursor_back() -> None:
    cursors = DequeueCursors()
    try:
        with cursors.lend():
            raise RuntimeError
    except RuntimeError:
        pass
    assert len(cursors.idle[None]) == 1


def test_calls_that_ask_for_other_kinds_go_round_on_their_own() -> None:
    cursors = DequeueCursors()
    with cursors.lend(("email",)) as cursor:
        cursor.position = [5]
    with cursors.lend() as cursor:
        assert cursor.position is None


def test_the_tries_end_and_the_pauses_are_short() -> None:
    pauses = list(retry_pauses())
    assert 1 <= len(pauses) <= MAX_TRIES
    assert all(0 <= pause <= 0.02 for pause in pauses)
