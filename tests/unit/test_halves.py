"""The sync and the async half say the same: equal names, equal signatures."""

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from lonnymq.handles import Channel, Message
from lonnymq.handles_async import AsyncChannel, AsyncMessage
from lonnymq.queue import Queue
from lonnymq.queue_async import AsyncQueue

HALVES = [(Queue, AsyncQueue), (Message, AsyncMessage), (Channel, AsyncChannel)]
PLAIN = {"channel"}  # makes a handle and touches no connection


def methods(kind: type) -> dict[str, Callable[..., Any]]:
    return {
        name: each
        for name, each in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("__")
    }


def parameters(method: Callable[..., Any]) -> list[tuple[str, Any, Any, Any]]:
    return [
        (each.name, each.kind, each.default, each.annotation)
        for each in inspect.signature(method).parameters.values()
    ]


@pytest.mark.parametrize(("sync", "asynchronous"), HALVES)
def test_both_halves_have_the_same_methods_with_the_same_parameters(
    sync: type, asynchronous: type
) -> None:
    left, right = methods(sync), methods(asynchronous)
    assert left.keys() == right.keys()
    assert {name: parameters(left[name]) for name in left} == {
        name: parameters(right[name]) for name in right
    }


@pytest.mark.parametrize(("sync", "asynchronous"), HALVES)
def test_all_methods_of_the_async_half_are_awaited(sync: type, asynchronous: type) -> None:
    assert not any(inspect.iscoroutinefunction(each) for each in methods(sync).values())
    waiting = {
        name for name, each in methods(asynchronous).items() if inspect.iscoroutinefunction(each)
    }
    assert methods(asynchronous).keys() - waiting <= PLAIN


@pytest.mark.parametrize("kind", [each for half in HALVES for each in half])
def test_every_public_method_says_what_it_is_for(kind: type) -> None:
    assert [
        name
        for name, each in methods(kind).items()
        if not name.startswith("_") and not each.__doc__
    ] == []
