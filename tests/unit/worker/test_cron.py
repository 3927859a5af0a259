"""The runs of schedules: cron lines in a time zone, daylight saving both ways, intervals, and runs that were missed."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice, pairwise, takewhile
from zoneinfo import ZoneInfo

import pytest

from lonnymq.errors import InvalidArgument
from lonnymq.worker.cron import (
    check_cron,
    check_zone,
    next_run,
    runs_after,
    runs_before,
    runs_to_create,
    ticks_between,
)

BERLIN, NEW_YORK, LORD_HOWE = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000


@dataclass(frozen=True)
class Table:
    cron: str | None = None
    every_ms: int | None = None
    timezone: str = "UTC"


def ms(text: str, timezone: str = "UTC") -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(timezone)).timestamp()) * 1000


def local(run: int, timezone: str) -> str:
    return datetime.fromtimestamp(run / 1000, ZoneInfo(timezone)).strftime("%m-%d %H:%M%z")


def first(table: Table, start: str, count: int) -> list[str]:
    runs = islice(runs_after(table, ms(start, table.timezone)), count)
    return [local(run, table.timezone) for run in runs]


def test_a_time_that_is_skipped_in_spring_comes_once_when_the_clocks_have_jumped() -> None:
    assert first(Table("30 2 * * *", timezone=BERLIN), "2026-03-28 00:00", 3) == [
        "03-28 02:30+0100",
        "03-29 03:00+0200",
        "03-30 02:30+0200",
    ]


def test_a_time_that_comes_twice_in_autumn_ticks_once() -> None:
    assert first(Table("30 2 * * *", timezone=BERLIN), "2026-10-24 00:00", 3) == [
        "10-24 02:30+0200",
        "10-25 02:30+0200",
        "10-26 02:30+0100",
    ]


def test_every_hour_is_every_hour_across_both_changes() -> None:
    table = Table("0 * * * *", timezone=BERLIN)
    for start in ("2026-03-28 22:00", "2026-10-24 22:00"):
        runs = list(islice(runs_after(table, ms(start, BERLIN)), 8))
        assert [late - early for early, late in pairwise(runs)] == [HOUR] * 7


@pytest.mark.parametrize("timezone", [BERLIN, NEW_YORK, LORD_HOWE, "Pacific/Apia", "UTC"])
@pytest.mark.parametrize("line", ["15 3 * * *", "0 0 * * *", "30 2 * * *", "30 1 * * *"])
def test_a_daily_line_ticks_once_on_each_day_of_a_year(timezone: str, line: str) -> None:
    runs = list(
        islice(runs_after(Table(line, timezone=timezone), ms("2025-12-31 12:00", timezone)), 365)
    )
    days = [datetime.fromtimestamp(run / 1000, ZoneInfo(timezone)).date() for run in runs]
    assert days == [days[0] + timedelta(days=n) for n in range(365)]


@pytest.mark.parametrize("timezone", [BERLIN, NEW_YORK, LORD_HOWE])
@pytest.mark.parametrize("line", ["*/10 * * * *", "30 2 * * *", "5 1,2,3 * * *"])
def test_looking_back_sees_what_looking_ahead_saw(timezone: str, line: str) -> None:
    table = Table(line, timezone=timezone)
    for day in ("03-07", "03-28", "04-04", "10-03", "10-24", "10-31"):  # before clocks change
        start = ms(f"2026-{day} 12:00", timezone)
        end = start + 2 * DAY
        ahead = list(takewhile(end.__ge__, runs_after(table, start)))
        back = list(islice(runs_before(table, end), len(ahead)))
        assert back[::-1] == ahead


def test_ticks_come_strictly_after_the_moment_and_looking_back_includes_it() -> None:
    table, noon = Table("0 12 * * *"), ms("2026-05-01 12:00")
    assert next_run(table, noon - 1) == noon
    assert next_run(table, noon) == noon + DAY
    assert next(runs_before(table, noon)) == noon
    assert next(runs_before(table, noon - 1)) == noon - DAY


def test_intervals_are_multiples_since_1970_whenever_one_looks() -> None:
    table = Table(every_ms=15 * MINUTE)
    at = ms("2026-05-01 12:07")
    assert next_run(table, at) == ms("2026-05-01 12:15")
    assert next(runs_before(table, at)) == ms("2026-05-01 12:00")


NOW = ms("2026-05-05 07:00") + 30_000
HOURLY = Table("0 * * * *")


@pytest.mark.parametrize(
    ("misfire", "hours"), [("skip", [7]), ("once", [7]), ("all", [4, 5, 6, 7])]
)
def test_a_punctual_tick_is_created_whatever_is_done_about_the_missed_ones(misfire, hours) -> None:
    runs = runs_to_create(HOURLY, misfire, ms("2026-05-05 03:00"), NOW)
    assert runs == [ms(f"2026-05-05 {hour:02}:00") for hour in hours]


@pytest.mark.parametrize(("misfire", "hours"), [("skip", []), ("once", [7]), ("all", [6, 7])])
def test_missed_ticks_are_skipped_made_up_for_once_or_all(misfire, hours) -> None:
    runs = runs_to_create(HOURLY, misfire, ms("2026-05-05 05:00"), NOW + 5 * MINUTE)
    assert runs == [ms(f"2026-05-05 {hour:02}:00") for hour in hours]


@pytest.mark.parametrize("misfire", ["skip", "once", "all"])
def test_nothing_is_created_where_nothing_has_come(misfire) -> None:
    assert runs_to_create(HOURLY, misfire, NOW - 1, NOW) == []


@pytest.mark.parametrize("table", [Table(every_ms=1000), Table("* * * * *")])
def test_of_years_of_missed_ticks_the_newest_thousand_are_made_up_for(table: Table) -> None:
    runs = ticks_between(table, ms("2016-01-01 00:00"), NOW)
    step = table.every_ms or MINUTE
    last = NOW // step * step
    assert runs == [last - n * step for n in range(999, -1, -1)]


def test_a_yearly_line_that_was_missed_for_a_decade_is_found() -> None:
    runs = ticks_between(Table("0 0 1 1 *"), ms("2016-06-01 00:00"), NOW)
    assert runs == [ms(f"{year}-01-01 00:00") for year in range(2017, 2027)]


@pytest.mark.parametrize(
    "line", ["61 * * * *", "* * * *", "", "a b c d e", "@daily", "* * * * * *"]
)
def test_a_bad_line_is_refused_in_words(line: str) -> None:
    with pytest.raises(InvalidArgument, match=r"is not a cron line: .*five fields"):
        check_cron(line)


def test_a_line_whose_moment_never_comes_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="Bad day-of-month"):
        check_cron("0 0 31 2 *")


@pytest.mark.parametrize("timezone", ["Atlantis", "", "../etc", "Europe/"])
def test_a_zone_that_is_none_is_refused(timezone: str) -> None:
    with pytest.raises(InvalidArgument, match="unknown time zone"):
        check_zone(timezone)
