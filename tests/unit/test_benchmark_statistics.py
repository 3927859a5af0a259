"""The arithmetic of the benchmark on inputs that were worked out by hand."""

import pytest
from benchmarks.goals import Goal, Sense, named_in_goals
from benchmarks.record import Record
from benchmarks.report import table
from benchmarks.summary_statistics import percentile, ratios_by_round, spread


@pytest.mark.parametrize(("share", "value"), [(0.5, 50), (0.99, 99), (1.0, 100), (0.001, 1)])
def test_a_percentile_is_a_value_that_was_measured(share: float, value: int) -> None:
    assert percentile(list(range(100, 0, -1)), share) == value


def test_a_percentile_of_few_values_is_not_below_its_share() -> None:
    assert percentile([1.0, 2.0, 3.0], 0.99) == 3.0
    assert percentile([1.0, 2.0, 3.0], 0.5) == 2.0


def test_the_spread_is_half_the_range_over_the_median() -> None:
    assert spread([80, 100, 140]) == pytest.approx(0.3)


def test_a_ratio_is_taken_within_each_round() -> None:
    assert ratios_by_round([10, 30, 60], [5, 10, 20]) == [2, 3, 3]
    assert ratios_by_round([10, 30], [5]) == [2]


def record(ours: list[float], theirs: list[float]) -> Record:
    kept = Record()
    kept.entry("drain", {"batch": 1}, "ours", "messages/s").samples.extend(ours)
    kept.entry("drain", {"batch": 1}, "theirs", "messages/s").samples.extend(theirs)
    return kept


def goal(sense: Sense, bound: float) -> Goal:
    both = ("ours", {"batch": 1}), ("theirs", {"batch": 1})
    return Goal("drain", "ours ÷ theirs", *both, sense, bound)


@pytest.mark.parametrize(
    ("sense", "bound", "verdict"),
    [
        ("at least", 2.0, "ok"),
        ("at least", 2.01, "not reached"),
        ("at most", 2.0, "ok"),
        ("at most", 1.9, "not reached"),
    ],
)
def test_a_goal_is_judged_by_the_median_of_the_rounds(
    sense: Sense, bound: float, verdict: str
) -> None:
    found = goal(sense, bound).verdict(record([10, 20, 90], [10, 10, 10]))
    assert (found["value"], found["least"], found["most"]) == (2, 1, 9)
    assert found["verdict"] == verdict


def test_a_goal_without_samples_is_not_measured_and_not_reached() -> None:
    assert goal("at least", 1.0).verdict(record([10], []))["verdict"] == "not measured"


def test_an_entry_is_found_by_scenario_case_and_system() -> None:
    kept = record([1], [2])
    assert kept.entry("drain", {"batch": 1}, "ours", "messages/s").samples == [1]
    assert kept.find("drain", {"batch": 10}, "ours") is None


def test_the_table_shows_medians_with_spread_and_says_who_failed() -> None:
    kept = record([90, 100, 110], [])
    kept.entries[1].error = "it does not install"
    entries = [entry.as_json() for entry in kept.entries]
    broken = {
        "not_installed": {"wings==1": "no such thing"},
        "broken_scenarios": {"steady": "Wrong"},
    }
    text = table.render_report(
        {"entries": entries, "scenarios": ["drain"], "verdicts": [], **broken}
    )
    assert "100 ±10%" in text
    assert "theirs failed in drain (batch 1): it does not install" in text
    assert "wings==1 did not install: no such thing" in text
    assert "the scenario steady broke: Wrong" in text


def test_who_knows_no_channels_has_one_figure_for_all_numbers_of_them() -> None:
    kept = Record()
    for count, value in ((1, 5.0), (100, 6.0)):
        kept.entry("steady", {"channels": count}, "ours", "messages/s").samples.append(value)
    kept.entry("steady", {"channels": "any"}, "plain", "messages/s").samples.append(7.0)
    entries = [entry.as_json() for entry in kept.entries]
    rows = table.build_channel_table(entries)
    assert rows[0] == ["messages/s", "1 channel", "100 channels"]
    assert rows[2] == ["plain", "7.00", "7.00"]


def test_rivals_are_those_whom_a_goal_of_the_shape_names() -> None:
    assert named_in_goals("create") == {"pgmq archive", "pgmq pooled"}
    assert {"PgQueuer", "Procrastinate", "channel table"} < named_in_goals("drain")
    assert named_in_goals("worker") == {"PgQueuer", "Procrastinate"}
    assert named_in_goals("limits") == {"lonnymq"}


def test_a_goal_is_judged_if_both_sides_were_tried_though_one_failed() -> None:
    tried = record([10], [])
    assert goal("at least", 1.0).was_tried(tried)
    tried.entries.pop()
    assert not goal("at least", 1.0).was_tried(tried)
