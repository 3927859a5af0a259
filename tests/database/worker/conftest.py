"""Queues for the tests of the worker."""

import pytest

from lonnymq import Queue


@pytest.fixture
def queue(dsn: str):
    with Queue(dsn) as queue:
        yield queue


@pytest.fixture
def queue_18(dsn_18: str):
    with Queue(dsn_18) as queue:
        yield queue
