"""The session of the Spark tests, and rows of history made by hand."""

from pathlib import Path

import pytest

from spark.conftest import spark

__all__ = ["spark"]
HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # before xdist looks at groups, wherever it is started
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("spark"))
            item.add_marker(pytest.mark.timeout(900))  # a Spark on a machine that may be busy
