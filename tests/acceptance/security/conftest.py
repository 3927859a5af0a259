"""The server that the tests of TLS and of secrets share."""

from collections.abc import Iterator

import pytest

from acceptance.security.secured import Secured, secured


@pytest.fixture(scope="session")
def fort(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    with secured(tmp_path_factory.mktemp("authority")) as server:
        yield server
