"""A task pool runs jobs one after another in few tasks, as if each had a task of its own."""

import asyncio
from contextvars import ContextVar

from lonnymq.worker.pools import TaskPool
from running_worker import soon

seen: ContextVar[str] = ContextVar("seen", default="nothing")


class Step:
    """A job that tells its name to the work."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.task: asyncio.Task[None] | None = None


async def test_jobs_that_never_wait_share_a_task_and_end_in_order() -> None:
    ended: list[tuple[str, object]] = []

    async def work(step: Step) -> None:
        ended.append((step.name, asyncio.current_task()))

    pool = TaskPool(work)
    for name in "abc":
        pool.add(Step(name))
    await soon(lambda: len(ended) == 3)
    assert [name for name, _ in ended] == ["a", "b", "c"]
    assert len({task for _, task in ended}) == 1
    pool.close()
    await soon(lambda: not pool.tasks)


async def test_jobs_that_wait_all_run_at_once() -> None:
    begun, gate = [], asyncio.Event()

    async def work(step: Step) -> None:
        begun.append(step.name)
        await gate.wait()

    pool = TaskPool(work)
    for name in map(str, range(50)):
        pool.add(Step(name))
    await soon(lambda: len(begun) == 50)
    gate.set()
    await soon(lambda: len(pool.idle) == 50)
    pool.add(Step("one more"))
    await soon(lambda: begun[-1] == "one more")
    pool.close()
    await soon(lambda: not pool.tasks)


async def test_a_context_variable_that_a_job_leaves_set_is_not_seen_by_the_next() -> None:
    found: list[str] = []

    async def work(step: Step) -> None:
        found.append(seen.get())
        seen.set(step.name)

    pool = TaskPool(work)
    for name in "abc":
        pool.add(Step(name))
    await soon(lambda: len(found) == 3)
    assert found == ["nothing"] * 3
    pool.close()


async def test_a_cancellation_of_one_job_is_not_felt_by_the_next() -> None:
    ended: list[str] = []
    waiting = asyncio.Event()

    async def work(step: Step) -> None:
        try:
            if step.name == "cancelled":
                waiting.set()
                await asyncio.Event().wait()
            async with asyncio.timeout(60):
                await asyncio.sleep(0)
            ended.append(step.name)
        except asyncio.CancelledError:
            ended.append("felt it")

    pool = TaskPool(work)
    job = Step("cancelled")
    pool.add(job)
    await waiting.wait()
    assert job.task is not None
    job.task.cancel()
    pool.add(Step("next"))
    await soon(lambda: len(ended) == 2)
    assert sorted(ended) == ["felt it", "next"]
    pool.close()


async def test_jobs_that_have_not_begun_can_be_taken_out_of_line() -> None:
    async def work(step: Step) -> None:
        raise AssertionError("it was taken out")

    pool = TaskPool(work)
    jobs = [Step("a"), Step("b")]
    for job in jobs:
        pool.add(job)
    assert pool.remove_waiting() == jobs
    await soon(lambda: len(pool.idle) == 1)
    pool.close()
