"""Pages are opened in the browser of the dashboard's tests, figures computed in the session of the Spark tests."""

import inspect
from pathlib import Path

import pytest

from browser.conftest import browser
from spark.conftest import spark

__all__ = ["browser", "spark"]
HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # before xdist looks at groups, wherever it is started
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            is_async = inspect.iscoroutinefunction(getattr(item, "function", None))
            needs_spark = "spark" in getattr(item, "fixturenames", ())
            group = "browser" if is_async else "spark" if needs_spark else "report"
            item.add_marker(pytest.mark.xdist_group(group))
            item.add_marker(pytest.mark.timeout(900))  # on a machine that may be busy
            if is_async:
                item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
