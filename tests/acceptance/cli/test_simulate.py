"""`lonnymq simulate`: what was recorded, or is made up, under other limits, workers and numbers of messages."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from commands import run
from documents import ROOT

SMALL = ("simulate", "--synthetic", "--messages", 3000, "--tenants", 10)


def test_waits_are_shown_with_the_settings_and_without() -> None:
    ran = run(*SMALL, "--noisy", 0.6, "--workers", "4,8", "--set", "tenant-01.max_concurrency=1")
    assert ran.code == 0
    assert "tenant-01.max_concurrency=1" in ran.out
    assert "3,000" in ran.out or "3000" in ran.out


def test_as_json_every_tenant_is_told_of_for_every_scenario() -> None:
    ran = run(*SMALL, "--workers", "4,8", "--set", "*.max_concurrency=1", "--json")
    assert ran.code == 0
    scenarios = ran.json["scenarios"]
    assert [(each["workers"], each["set"]) for each in scenarios] == [
        (4, []),
        (4, ["*.max_concurrency=1"]),
        (8, []),
        (8, ["*.max_concurrency=1"]),
    ]
    assert all(len(each["tenants"]) == 10 for each in scenarios)
    assert all(each["all"]["messages"] == 3000 for each in scenarios)


def test_the_same_seed_gives_the_same_answer() -> None:
    first, again, other = (run(*SMALL, "--json", "--seed", seed).json for seed in (3, 3, 4))
    assert first == again
    assert first != other


def test_what_is_made_up_needs_no_spark_and_a_lake_says_what_it_needs() -> None:
    without = "import sys; sys.modules.update(dict.fromkeys(['pyspark', 'pyarrow', 'deltalake']));"
    asked = f"{without} from lonnymq.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", asked, "simulate", "--messages", "100"]
    ran = subprocess.run([*command, "--synthetic"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    ran = subprocess.run([*command, "--lake", "nowhere"], capture_output=True, text=True)
    assert ran.returncode == 1
    assert "pip install 'lonnymq[spark]'" in ran.stderr


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Made-up history in a lake, with a limit on the noisy tenant."""
    place = str(tmp_path_factory.mktemp("lake"))
    made = ("--noisy", 0.6, "--load", 1.1, "--workers", 4, "--set", "tenant-01.max_concurrency=2")
    ran = run(*SMALL, *made, "--failing", 0.05, "--deferring", 0.05, "--lake", place)
    assert ran.code == 0, ran.err
    assert f"attempts written to {place}, source synthetic." in ran.out
    return place


def test_the_calibration_is_shown_before_the_answers(lake: str) -> None:
    ran = run(
        "simulate", "--lake", lake, "--set", "tenant-01.max_concurrency=4", "--workers", "4,8"
    )
    assert ran.code == 0, ran.err
    assert "The error of the replay at the recorded settings is" in ran.out
    assert ran.out.index("recorded") < ran.out.index("replayed") < ran.out.index("error")
    assert ran.out.index("error") < ran.out.index("tenant-01.max_concurrency=4")


def test_the_recorded_settings_are_those_that_nothing_set_means(lake: str) -> None:
    asked = ("simulate", "--lake", lake, "--workers", "4", "--json")
    same, freed = (
        run(*asked, "--set", f"tenant-01.max_concurrency={value}").json for value in (2, "none")
    )
    assert same["calibration"]["workers"] == same["calibration"]["max_concurrent"] == 4
    assert same["calibration"]["error"] < 0.25
    nothing, again = same["scenarios"]
    assert nothing["all"] == again["all"] == same["calibration"]["replayed"]
    assert freed["scenarios"][1]["tenants"]["tenant-01"] != nothing["tenants"]["tenant-01"]


def test_growth_and_several_values_are_tried_one_by_one(lake: str) -> None:
    asked = ("--growth", "0.5,1", "--set", "*.max_concurrency=1,2", "--workers", "4,6")
    scenarios = run("simulate", "--lake", lake, *asked, "--json").json["scenarios"]
    assert len(scenarios) == 2 * 2 * 3
    assert {each["growth"] for each in scenarios} == {0.5, 1}
    assert scenarios[0]["all"]["messages"] < 0.6 * scenarios[-1]["all"]["messages"]


def test_a_replay_that_is_off_is_refused_and_what_it_found_is_shown(lake: str) -> None:
    ran = run("simulate", "--lake", lake, "--recorded-workers", 64, "--workers", 128)
    assert (ran.code, "--set" in ran.out) == (1, False)
    assert "The error of the replay" in ran.out
    assert " recorded and" in ran.err
    assert "give the number of workers" in ran.err
    ran = run("simulate", "--lake", lake, "--recorded-workers", 64, "--max-error", 100, "--json")
    assert ran.code == 0
    assert ran.json["calibration"]["error"] > 0.25


@pytest.mark.parametrize("kind", ["svg", "html"])
def test_a_picture_is_drawn_into_a_file(lake: str, tmp_path: Path, kind: str) -> None:
    file = tmp_path / f"what if.{kind}"
    ran = run("simulate", "--lake", lake, "--workers", "4,8", "--picture", file)
    assert ran.code == 0, ran.err
    assert f"The picture is in {file}." in ran.err
    drawn = file.read_text()
    assert "tenant-01" in drawn
    if kind == "svg":
        ElementTree.fromstring(drawn)
    else:
        assert drawn.startswith("<!doctype html>")
        assert "Calibration" in drawn


def test_the_picture_in_the_guide_is_what_its_commands_draw(tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "what-if.md").read_text()
    first, second = re.findall(r"^lonnymq (simulate .* made-up .*)$", guide, re.MULTILINE)[:2]
    for command in (first, second):
        words = shlex.split(command.replace("made-up", str(tmp_path / "made-up")))
        words = [str(tmp_path / each) if each.endswith(".svg") else each for each in words]
        assert run(*words).code == 0
    drawn = (tmp_path / "what-if.svg").read_text()
    assert drawn == (ROOT / "docs" / "pictures" / "what-if.svg").read_text()


def test_a_stretch_is_chosen_by_days_or_moments(lake: str) -> None:
    whole = run("simulate", "--lake", lake, "--json").json["calibration"]
    middle = (whole["begin"] + whole["end"]) // 2
    ran = run("simulate", "--lake", lake, "--from", middle, "--workers", 4, "--json")
    assert ran.code == 0, ran.err
    assert ran.json["calibration"]["begin"] == middle
    assert ran.json["calibration"]["recorded"]["messages"] < whole["recorded"]["messages"]
    ran = run("simulate", "--lake", lake, "--from", "2023-11-14", "--to", "2023-11-14", "--json")
    assert ran.json["calibration"]["recorded"] == whole["recorded"]


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (["--set", "tenant-1.max_concurrency=4"], "did you mean 'tenant-01' or "),
        (["--set", "Tenant-1.max_concurrency=4"], "did you mean 'tenant-01' or "),
        (["--set", "acme.max_concurrency=0"], "whole number from 1 to 2147483647, or none"),
        (["--from", "yesterday"], "not a day or a time"),
        (["--from", "99999999999999999999"], "not a day or a time"),
        (["--to", "9999-12-31"], "not a day or a time"),
        (["--from", "2030-01-02", "--to", "2030-01-01"], "ends before it begins"),
        (["--from", "2030-01-02"], "lake has no attempts of that period"),
        (["--source", "synthetik"], "only 'synthetic'"),
        (["--picture", "waits.png"], ".svg or .html"),
        (["--picture", "/no/such/folder/waits.svg"], "does not exist: create the folder first"),
        (["--growth", "0"], "like 1,1.5,2"),
        (["--growth", "nan"], "like 1,1.5,2"),
        (["--synthetic"], "choose another --source"),
        (["--synthetic", "--source", "b", "--workers", "4,8"], "one value of each setting"),
    ],
)
def test_what_cannot_be_asked_of_a_lake_is_refused_with_what_to_write(
    lake: str, arguments: list[str], output: str
) -> None:
    ran = run("simulate", "--lake", lake, *arguments)
    assert ran.code in (1, 2)
    assert output in ran.err


def test_a_place_without_a_lake_is_refused(tmp_path: Path) -> None:
    ran = run("simulate", "--lake", tmp_path / "nothing")
    assert ran.code == 1
    assert "lonnymq lake sync" in ran.err
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize(
    ("arguments", "output"),
    [
        (["simulate"], "--synthetic"),
        ([*SMALL, "--days", 3], "--days needs --synthetic and --lake"),
        (["simulate", "--synthetic", "--messages", 10_000_001], "Use --days for more"),
        ([*SMALL, "--set", "acme.weight=9"], "no messages of channel 'acme'"),
        ([*SMALL, "--set", "acme"], "channel.option=value"),
        ([*SMALL, "--set", "acme.speed=9"], "max_concurrency"),
        ([*SMALL, "--workers", "few"], "8,16,32"),
        ([*SMALL, "--workers", "0"], "8,16,32"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_what_to_write(arguments, output) -> None:
    ran = run(*arguments)
    assert ran.code != 0
    assert output in ran.err
