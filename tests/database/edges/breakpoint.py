"""A dequeue that is stopped where it reads the clock: what others commit meanwhile falls into the middle of it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from database.rules.factories import Session, aside
from support import eventually, waits_for_a_lock

T = TypeVar("T")
KEY = 5_517_000
STOPPING_CLOCK = """
create sequence if not exists lonnymq.test_reading;
do $do$
begin
  execute format(
    'create or replace function lonnymq.epoch(%s) returns bigint language plpgsql volatile as %L',
    pg_get_function_arguments('lonnymq.epoch'::regproc), $f$
    begin
      if coalesce(current_setting('lonnymq_test.stop_at', true), '') <> '' then
        if nextval('lonnymq.test_reading') = current_setting('lonnymq_test.stop_at')::bigint then
          perform pg_advisory_lock_shared(5517000);
          perform pg_advisory_unlock_shared(5517000);
        end if;
      end if;
      return floor(extract(epoch from clock_timestamp()) * 1000)::bigint;
    end
    $f$);
end
$do$
"""


class Breakpoint:
    """Stops one task of a session at its n-th look at the clock, if it comes that far, until `resume` is called."""

    def __init__(self, watcher: Session) -> None:
        self.watcher = watcher
        watcher.rows(STOPPING_CLOCK)

    def stop(self, session: Session, reading: int, task: Callable[[], T]) -> Future[T]:
        self.watcher.rows(
            "select pg_advisory_lock(%s), setval('lonnymq.test_reading', 1, false)", KEY
        )
        session.rows("select set_config('lonnymq_test.stop_at', %s, false)", str(reading))
        future = aside(task)
        eventually(lambda: future.done() or waits_for_a_lock(self.watcher.connection, session.pid))
        return future

    def resume(self, session: Session, future: Future[T]) -> T:
        self.watcher.rows("select pg_advisory_unlock(%s)", KEY)
        result = future.result(timeout=60)
        session.rows("select set_config('lonnymq_test.stop_at', '', false)")
        return result
