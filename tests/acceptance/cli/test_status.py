"""`lonnymq status`, `install` and `sql`: where the queue is, and how it comes there."""

import subprocess
from importlib.metadata import version
from pathlib import Path

import psycopg
import pytest

import lonnymq
from commands import process, run
from lonnymq import install_script
from lonnymq.embedded_postgres.cluster import embedded_binaries


@pytest.fixture
def queue(dsn_18: str):
    with lonnymq.Queue(dsn_18) as queue:
        yield queue


def test_status_tells_the_whole_queue(queue: lonnymq.Queue, dsn_18: str) -> None:
    queue.channel("acme").create_many([b"x"] * 3)
    document = run("status", "--json", dsn=dsn_18).json
    assert set(document) == {
        "server", "schema", "installed_version", "library_version", "queue", "rate", "channels",
        "workers",
    }  # fmt: skip
    assert document["queue"]["waiting"] == 3
    assert [each["channel"] for each in document["channels"]] == ["acme"]
    assert document["server"]["version"].startswith("18")
    people = run("status", dsn=dsn_18).out
    assert "Busiest channels" in people
    assert "none alive" in people


def test_workers_are_told_of(queue: lonnymq.Queue, dsn_18: str, connect) -> None:
    connect(dsn_18).execute(
        "select lonnymq.worker_seen('worker 1', 8, 2, p_about => '{\"kinds\": [\"transcode\", null]}')"
    )
    people = run("status", dsn=dsn_18).out
    assert "1 alive" in people
    assert "transcode, any" in people
    [worker] = run("status", "--json", dsn=dsn_18).json["workers"]
    assert (worker["name"], worker["running"], worker["concurrency"]) == ("worker 1", 2, 8)


def test_install_says_what_it_did(dsn_18: str) -> None:
    first = run("install", "--schema", "other", dsn=dsn_18)
    assert first.out == f"installed: queue {version('lonnymq')} in schema other\n"
    again = run("install", "--schema", "other", "--json", dsn=dsn_18).json
    assert again == {
        "answer": "unchanged",
        "schema": "other",
        "version": version("lonnymq"),
        "before": version("lonnymq"),
    }
    with psycopg.connect(dsn_18, autocommit=True) as connection:
        connection.execute("drop function other.channel_active")
        connection.execute("update other.installed set functions_checksum = 'older'")
    assert run("install", "--schema", "other", dsn=dsn_18).out.startswith("upgraded: ")
    for harm in ("drop function other.channel_active", "drop index other.message_line_ix"):
        with psycopg.connect(dsn_18, autocommit=True) as connection:
            connection.execute(harm.encode())
        assert run("install", "--schema", "other", dsn=dsn_18).out.startswith("restored: ")
    with psycopg.connect(dsn_18, autocommit=True) as connection:
        connection.execute(
            "update other.installed set library_rank = '{99}', library_version = '99'"
        )
    assert (
        run("install", "--schema", "other", dsn=dsn_18).out == "newer: queue 99 in schema other\n"
    )


def test_the_printed_script_is_that_of_install_and_needs_no_server(
    dsn_18: str, tmp_path: Path
) -> None:
    ran = process("sql", "--schema", "by_hand", dsn="postgresql://127.0.0.1:1/x")
    assert ran.out == install_script("by_hand")
    without = process("sql", "--schema", "by_hand", "--no-transaction", dsn="postgresql:///x").out
    assert f"begin;\nset transaction isolation level read committed;\n{without}commit;\n" == ran.out
    psql = [str(embedded_binaries() / "psql"), "-q", "-v", "ON_ERROR_STOP=1", dsn_18]
    subprocess.run(psql, input=ran.out, text=True, check=True, capture_output=True, cwd="/")
    assert run("status", "--schema", "by_hand", dsn=dsn_18).code == 0


def test_a_private_server_is_used_if_asked_for_and_its_data_stays(tmp_path: Path) -> None:
    home = {"XDG_DATA_HOME": str(tmp_path)}
    assert process("status", "--embedded", variables=home).code == 4
    assert process("install", "--embedded", variables=home).out.startswith("installed: ")
    assert (
        process("--embedded", "message", "create", "acme", "kept", variables=home).out
        == "created: 1\n"
    )
    assert "kept" in process("message", "peek", "acme", "--embedded", variables=home).out


def test_without_a_dsn_nothing_is_started(tmp_path: Path) -> None:
    for command in (["install"], ["status"], ["message", "create", "acme", "x"], ["doctor"]):
        ran = process(*command, variables={"XDG_DATA_HOME": str(tmp_path)})
        assert ran.code == 2
        assert "--dsn or the variable LONNYMQ_DSN, or --embedded" in " ".join(ran.err.split())
    assert list(tmp_path.iterdir()) == []


def test_the_option_comes_before_the_variable(dsn_18: str) -> None:
    assert run("status", "--dsn", dsn_18, dsn="postgresql://127.0.0.1:1/x").code == 0


def test_the_version_is_that_of_the_library() -> None:
    assert run("--version").out == f"lonnymq {version('lonnymq')}\n"


def test_attention_names_the_tenants_in_trouble(queue: lonnymq.Queue, dsn_18: str) -> None:
    assert "Nothing needs attention." in run("attention", dsn=dsn_18).out
    queue.create("bad\nname", b"x")
    queue.channel_pause("bad\nname")
    rows = run("attention", "--json", dsn=dsn_18).json
    assert [(each["channel"], each["reason"]) for each in rows] == [
        (None, "no_workers"),
        ("bad\nname", "paused"),
    ]
    people = run("attention", "--target", "1m", dsn=dsn_18).out
    assert "bad\\nname" in people
