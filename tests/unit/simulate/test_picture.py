"""The picture and the page: well-formed, by themselves, and with nothing of a tenant's but its name."""

import re
from xml.etree import ElementTree

from lonnymq.simulate import (
    ReplayResult,
    Scenario,
    Trial,
    WaitStats,
    WorkloadShape,
    parse_setting,
    render_page,
    render_svg,
)
from lonnymq.simulate.picture import Scale, choose_rows
from lonnymq.simulate.replay import Calibration, run_scenario
from lonnymq.simulate.sweep import make_trials, run_trials
from lonnymq.simulate.synthetic import make_workload
from lonnymq.simulate.workload import RecordedWorkload, ReplayTimes

WAITS = WaitStats(10, 5.0, 40, 900, 70_000, 90_000)
NAMES = [
    "<script>alert(1)</script>",
    "Bücher 書店 🦀",
    "a\x00b\u202e\uffff",
    '&amp; "quoted"',
    "x" * 255,
]


def strange() -> list[tuple[Trial, ReplayResult]]:
    given = ReplayResult(WAITS, dict.fromkeys(NAMES, WAITS), 0.87, dict.fromkeys(NAMES, 0.5))
    changes = (parse_setting("<b>.max_concurrency=1"),)
    return [(Trial(Scenario(4)), given), (Trial(Scenario(8), changes, 1.5), given)]


def texts(svg: str) -> list[str]:
    """What is written, without what is shown where it is pointed at."""
    found = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return [(each[0].tail if len(each) else each.text) or "" for each in found]


def test_any_name_can_be_drawn_and_none_has_power() -> None:
    svg = render_svg(strange())
    shown = texts(svg)
    assert "Bücher 書店 🦀" in shown
    assert "<script>" not in svg
    assert any("a\\x00b\\u202e\\uffff" in each for each in shown)
    assert any(each.endswith("…") for each in shown)
    made = render_page(strange())
    assert "<script>" not in made
    assert "Bücher 書店 🦀" in made


def test_nothing_is_fetched_from_elsewhere() -> None:
    for made in (render_svg(strange()), render_page(strange())):
        assert not re.search(r"(href|src)=|@import|url\(", made)
        assert "prefers-color-scheme: dark" in made


def test_each_scenario_has_a_panel_with_its_settings_and_its_fairness() -> None:
    shown = texts(render_svg(strange()))
    assert "4 workers" in shown
    assert "8 workers, 1.5 times the messages" in shown
    assert any("<b>.max_concurrency=1" in each for each in shown)
    assert shown.count("fairness 0.87") == 2
    assert shown.count("0.50") == 2 * len(NAMES)


def test_tenants_beyond_the_first_are_summed_up() -> None:
    work = make_workload(WorkloadShape(messages=3_000, tenants=40, workers=4, load=1.2, noisy=0.5))
    asked = make_trials(Scenario(4), workers=[4, 8])
    found = list(
        zip(asked, run_trials(RecordedWorkload(work, ReplayTimes([], []), 0), asked), strict=True)
    )
    rows = choose_rows(found)
    assert len(rows) == 12
    assert rows[0] is None
    assert rows[-1] == ""
    assert "30 others (median)" in texts(render_svg(found))


def test_a_page_shows_the_calibration_first() -> None:
    made = render_page(strange(), known=Calibration(WAITS, WAITS))
    assert made.index("differs by 0% at most") < made.index("<svg")
    assert "Calibration" not in render_page(strange())


def test_an_empty_answer_and_one_without_waits_are_drawn() -> None:
    nothing = run_scenario(
        RecordedWorkload(make_workload(WorkloadShape(messages=0)), ReplayTimes([], []), 0),
        Scenario(1),
    )
    ElementTree.fromstring(render_svg([(Trial(Scenario(1)), nothing)]))
    assert "no competing backlogs" in render_page([(Trial(Scenario(1)), nothing)])
    ElementTree.fromstring(render_svg([]))


def test_waits_are_placed_by_their_logarithm() -> None:
    scale = Scale(100, 8_000)
    assert [scale.at(each) for each in (0, 1, 10, 100, 1_000, 10_000)] == [0, 0, 25, 50, 75, 100]
    assert scale.at(10**9) == 100
