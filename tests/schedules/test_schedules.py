"""A budget of random schedules in every run of the tests; `make fuzz` runs more of them."""

from collections.abc import Iterator
from os import getpid

import pytest

from lonnymq.embedded_postgres import TemporaryServer
from schedules.scheduler import Failure, play, shrink
from schedules.stage import Stage, stage_on
from schedules.steps import draw_schedule
from schedules.worlds import WORLDS
from support import first_quick

SEEDS, GROUP = 500, 25
BAD = {
    "a pause that is not obeyed": """
        create or replace function lonnymq.channel_pause(p_channel text) returns text language sql
        as $$ select 'paused' $$""",
    "a heartbeat that extends nothing": """
        create or replace function lonnymq.message_heartbeat(
          p_ids bigint[], p_tokens uuid[], p_lease_ms bigint default 30000)
        returns table (id bigint, answer text, lease_until bigint) language sql
        as $$ select i, 'extended', lonnymq.epoch() + p_lease_ms from unnest(p_ids) as i $$""",
    "an announcement that nobody hears": """
        create or replace function lonnymq.message_announce(p_channels text[]) returns bigint language sql
        as $$ select 1::bigint $$""",
}


@pytest.fixture(scope="module")
def stage(postgresql_18: TemporaryServer) -> Iterator[Stage]:
    with stage_on(postgresql_18.dsn, name=f"schedules_{getpid()}") as stage:
        yield stage


def first_failure(stage: Stage, seeds: range) -> Failure | None:
    for seed in seeds:
        if failure := play(stage, draw_schedule(seed, large=False)):
            print(f"seed {seed}: PYTHONPATH=src python -m tests.schedules --seed {seed}")
            return failure
    return None


@pytest.mark.parametrize(
    "first",
    first_quick(*range(1, SEEDS, GROUP), quick=3),
    ids=lambda first: f"seeds {first} to {first + GROUP - 1}",
)
def test_random_schedules_keep_the_contract(stage: Stage, first: int) -> None:
    failure = first_failure(stage, range(first, first + GROUP))
    if failure:
        pytest.fail(str(shrink(stage, failure, seconds=10)), pytrace=False)


@pytest.mark.parametrize("name", BAD)
def test_a_known_bad_queue_is_found(postgresql_18: TemporaryServer, name: str) -> None:
    def spoil(connection) -> None:
        connection.execute(BAD[name])

    with stage_on(postgresql_18.dsn, spoil, name=f"spoilt_{getpid()}") as stage:
        assert first_failure(stage, range(1, 300)) is not None


@pytest.mark.parametrize("world", first_quick("crash", "restore"))
def test_a_schedule_goes_on_in_another_world(world: str) -> None:
    with WORLDS[world]() as travel:
        for seed in (1, 2, 3):
            assert (failure := travel(seed)) is None, f"seed {seed}\n{failure}"


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("world", WORLDS)
def test_many_schedules_go_on_in_another_world(world: str) -> None:
    with WORLDS[world]() as travel:
        for seed in range(100, 115):
            assert (failure := travel(seed)) is None, f"seed {seed}\n{failure}"
