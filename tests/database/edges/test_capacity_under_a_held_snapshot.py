"""A channel with a capacity costs the same, however much went through it while somebody holds a snapshot."""

from database.rules.conftest import OpenSession

CREATE = "select * from lonnymq.message_create('a', '')"


def test_a_create_and_a_dequeue_read_no_more_pages_after_thousands_of_messages(
    open_session: OpenSession, dsn_18: str
) -> None:
    session, holder = open_session(dsn_18), open_session(dsn_18)
    session.set("a", max_size=100_000)
    session.fill("a", 500)
    session.drain()
    pages = []
    with holder.open():
        holder.rows("set transaction isolation level repeatable read")
        holder.rows("select count(*) from lonnymq.message")
        for _ in range(2):
            for _ in range(5):
                session.fill("a", 1000)
                session.drain(1000)
            session.create("a")
            session.drain()
            created = min(session.buffers(CREATE) for _ in range(3))
            session.drain()
            session.create("a")
            pages.append((created, session.dequeue_buffers()))
            session.drain()
    (create_before, dequeue_before), (create_after, dequeue_after) = pages
    assert create_after <= create_before + 8
    assert dequeue_after <= dequeue_before + 30
