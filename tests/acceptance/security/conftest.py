"""The server that the tests of TLS and of secrets share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from acceptance.security.secure_server import SecureServer, secured


@pytest.fixture(scope="session")
def fort(debian_15: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureServer]:
    with secured(debian_15, tmp_path_factory.mktemp("authority")) as server:
        yield server
