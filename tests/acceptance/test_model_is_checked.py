"""The protocol's model holds, and leaving out any one of its rules breaks what that rule is for."""

import importlib
import re

import pytest

from documents import ROOT
from lonnymq.client.installation import sql_files
from support import first_quick

SQL_NAMES = ("message", "note", "tick", "place", "in_flight", "fold_lock")


@pytest.fixture(scope="module")
def model():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "scripts")
        yield importlib.import_module("check_model")


@pytest.mark.parametrize("number", first_quick(2, 0, 1, 3, 4, 5))
def test_the_protocol_holds(model, number: int) -> None:
    found = model.check(model.SMALL[number])
    assert found.violated is None, found.output
    assert found.distinct > 5_000, found.output


@pytest.mark.parametrize("number", first_quick(*range(17)))
def test_a_protocol_without_one_of_its_rules_is_found_broken(model, number: int) -> None:
    case = model.BROKEN[number]
    found = model.check(case)
    assert found.violated == case.breaks, f"{case.name}: {found.output}"


def test_every_case_is_run_and_every_rule_is_left_out_once(model) -> None:
    assert (len(model.SMALL), len(model.BROKEN)) == (6, 17)
    assert {case.without for case in model.BROKEN} == set(model.RULES)


def test_the_model_speaks_of_functions_and_tables_that_there_are(model) -> None:
    text = model.MODEL.read_text()
    stored = " ".join(sql_files("migrations").values()) + " ".join(sql_files("functions"))
    assert all(re.search(rf"\b{name}\b", stored) for name in SQL_NAMES)
    named = set(
        re.findall(
            r"\b(?:message|queue|channel|ring|lease|commit|walk|fold|note|limit|engine)_[a-z]+\b",
            text,
        )
    )
    known = set(sql_files("functions")) | {
        "message_lock",
        "channel_lock",
        "lease_lost",
        "lease_checked",
        "limit_wait",
    }
    assert named <= known, named - known
