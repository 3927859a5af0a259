"""What is written from the descriptions and from the async half of the client is up to date."""

import inspect

import make_methods
import make_sync
import pytest

from lonnymq import AsyncQueue, Queue
from lonnymq.client import AsyncMessage, Message
from lonnymq.client.calls import DESCRIPTIONS
from lonnymq.client.installation import sql_files


def test_the_methods_are_those_of_the_descriptions() -> None:
    assert make_methods.methods_text() == make_methods.METHODS.read_text(), "run: make client"


def test_the_grants_are_those_of_the_descriptions() -> None:
    assert make_methods.grants_text() == make_methods.GRANTS.read_text(), "run: make client"


def test_the_sync_half_is_written_from_the_async_half() -> None:
    found = {path: path.read_text() for path in (make_sync.CLIENT / "_sync").glob("*.py")}
    assert make_sync.sync_files() == found, "run: make client"


def test_a_file_that_was_edited_by_hand_is_named(monkeypatch, tmp_path, capsys) -> None:
    edited = tmp_path / "queue.py"
    edited.write_text("by hand")
    monkeypatch.setattr("sys.argv", ["make_sync.py", "--check"])
    assert make_sync.write_or_compare({edited: "as written"}) == 1
    assert "queue.py" in capsys.readouterr().out
    assert edited.read_text() == "by hand"


@pytest.mark.parametrize("kind", [Queue, AsyncQueue, Message, AsyncMessage])
def test_every_method_says_what_it_is_for_and_waits_in_one_half_only(kind: type) -> None:
    methods = dict(inspect.getmembers(kind, inspect.isfunction))
    public = {name: each for name, each in methods.items() if not name.startswith("_")}
    assert [name for name, each in public.items() if not each.__doc__] == []
    waiting = {name for name, each in public.items() if inspect.iscoroutinefunction(each)}
    assert waiting == (public.keys() - {"channel", "group"} if "Async" in kind.__name__ else set())


def test_every_public_function_is_described() -> None:
    described = {each.function for each in DESCRIPTIONS.values()}
    assert set(sql_files("functions/api")) <= described
    assert described <= set(sql_files("functions/api")) | set(sql_files("functions/spark"))


def test_the_forms_of_a_function_are_for_the_same_roles() -> None:
    first = {each.function: each for each in reversed(DESCRIPTIONS.values())}
    forms = [each for each in DESCRIPTIONS.values() if each.roles != first[each.function].roles]
    assert forms == []
