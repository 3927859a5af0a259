"""The examples under deploy/ fit their schemas, and the commands in them start and answer the probes in them."""

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from commands import PROGRAM, environment, lint
from support import eventually

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
MANIFESTS = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))
DOCKERFILES = ("Dockerfile", "spark.Dockerfile")
UNITS = sorted(DEPLOY.glob("systemd/*.service"))


def pod(name: str) -> dict[str, Any]:
    """The pod of a deployment or a job."""
    named = [each["spec"] for each in MANIFESTS if each["metadata"]["name"] == name]
    [found] = [spec for spec in named if "template" in spec]
    return found["template"]["spec"]


def option(arguments: list[str], name: str) -> str:
    return arguments[arguments.index(name) + 1]


# Schemas


@pytest.mark.parametrize("dockerfile", DOCKERFILES)
def test_a_dockerfile_is_clean(dockerfile: str, tmp_path: Path) -> None:
    ran = lint("hadolint", DEPLOY / dockerfile)
    assert ran.returncode == 0, ran.stdout
    bad = tmp_path / "Dockerfile"
    bad.write_text("FROM python:latest\nRUN cd /tmp && pip install lonnymq\n")
    assert lint("hadolint", bad).returncode == 1


@pytest.mark.parametrize("dockerfile", DOCKERFILES)
def test_an_image_does_not_run_as_root(dockerfile: str) -> None:
    users = re.findall(r"^USER (\S+)$", (DEPLOY / dockerfile).read_text(), re.MULTILINE)
    assert users == ["10001"]


@pytest.mark.parametrize("dockerfile", DOCKERFILES)
def test_an_image_copies_files_that_there_are_and_that_are_not_ignored(dockerfile: str) -> None:
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", (DEPLOY / dockerfile).read_text(), re.MULTILINE)  # fmt: skip
    kept = (DEPLOY / f"{dockerfile}.dockerignore").read_text().splitlines()
    assert copied
    for name in " ".join(copied).split():
        assert (ROOT / name).exists()
        assert f"!{name}" in kept


def test_the_compose_file_fits_its_schema(tmp_path: Path) -> None:
    schema = ["--builtin-schema", "vendor.compose-spec"]
    ran = lint("check-jsonschema", *schema, DEPLOY / "compose.yaml")
    assert ran.returncode == 0, ran.stdout
    bad = tmp_path / "compose.yaml"
    bad.write_text("services: {worker: {imagine: lonnymq}}\n")
    assert lint("check-jsonschema", *schema, bad).returncode == 1


def test_the_manifests_fit_the_schemas_of_kubernetes(tmp_path: Path) -> None:
    ran = lint("kubernetes-validate", "--strict", DEPLOY / "kubernetes.yaml")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    bad = tmp_path / "bad.yaml"
    bad.write_text((DEPLOY / "kubernetes.yaml").read_text().replace("replicas: 2", "replicas: two"))
    assert lint("kubernetes-validate", "--strict", bad).returncode != 0


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd on this machine")
@pytest.mark.parametrize("unit", UNITS, ids=[unit.stem for unit in UNITS])
def test_systemd_takes_the_units(unit: Path, tmp_path: Path) -> None:
    installed = tmp_path / unit.name
    installed.write_text(unit.read_text().replace("/opt/lonnymq/bin/lonnymq", "/bin/true"))
    ran = subprocess.run(["systemd-analyze", "verify", installed], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    installed.write_text(unit.read_text())  # the program is not there
    assert subprocess.run(["systemd-analyze", "verify", installed], capture_output=True).returncode


# Grace


def test_everybody_waits_longer_than_the_grace_of_the_worker() -> None:
    grace = {
        "kubernetes": (
            pod("lonnymq-worker")["containers"][0]["args"],
            pod("lonnymq-worker")["terminationGracePeriodSeconds"],
        ),
        "compose": (
            COMPOSE["worker"]["command"],
            int(COMPOSE["worker"]["stop_grace_period"].rstrip("s")),
        ),
        "systemd": (
            unit_command("worker"),
            int(re.findall(r"^TimeoutStopSec=(\d+)$", unit_text("worker"), re.MULTILINE)[0]),
        ),
    }
    for where, (arguments, grace_seconds) in grace.items():
        assert grace_seconds >= int(option(arguments, "--shutdown-timeout").rstrip("s")) + 10, where


def unit_text(name: str) -> str:
    return (DEPLOY / "systemd" / f"lonnymq-{name}.service").read_text()


def unit_command(name: str) -> list[str]:
    [line] = re.findall(r"^ExecStart=\S+ (.*)$", unit_text(name), re.MULTILINE)
    return shlex.split(line)


# Commands


@contextmanager
def started(arguments: list[str], dsn: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A command of an example, in a folder that has its handlers."""
    (folder / "token").write_text("a token of some length, for a test")
    shutil.copy(ROOT / "examples" / "videos.py", folder / "jobs.py")
    shutil.copy(ROOT / "examples" / "videos.py", folder / "videos.py")
    process = subprocess.Popen(
        [*PROGRAM, *arguments],
        cwd=folder,
        env=environment(dsn, PYTHONPATH=os.pathsep.join(filter(None, sys.path))),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return bound.getsockname()[1]


def answers(port: int, path: str, host: str = "10.1.2.3") -> bool:
    """Whether a probe is content, asked as kubelet asks: by the address of a pod."""
    asked = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", headers={"Host": f"{host}:{port}"}
    )
    try:
        return urllib.request.urlopen(asked, timeout=5).status == 200
    except OSError:
        return False


def ways_to_run(name: str) -> dict[str, list[str]]:
    return {
        "kubernetes": pod(f"lonnymq-{name}")["containers"][0]["args"],
        "compose": COMPOSE[name]["command"],
        "systemd": unit_command(name),
    }


@pytest.mark.parametrize("way", ["kubernetes", "compose", "systemd"])
def test_the_worker_of_an_example_answers_its_probes_and_stops_when_it_is_told(
    way: str, dsn_18: str, tmp_path: Path
) -> None:
    port = free_port()
    arguments = [re.sub(r":9100$", f":{port}", each) for each in ways_to_run("worker")[way]]
    with started(arguments, dsn_18, tmp_path) as process:
        eventually(lambda: process.poll() is not None or answers(port, "/ready"))
        assert answers(port, "/health")
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


@pytest.mark.parametrize("way", ["kubernetes", "compose", "systemd"])
def test_the_dashboard_of_an_example_answers_its_probes(
    way: str, dsn_18: str, tmp_path: Path
) -> None:
    port, arguments = free_port(), list(ways_to_run("dashboard")[way])
    arguments[arguments.index("--token-file") + 1] = str(tmp_path / "token")
    host = "127.0.0.1" if way == "systemd" else "10.1.2.3"
    with started([*arguments, "--port", str(port)], dsn_18, tmp_path) as process:
        eventually(lambda: process.poll() is not None or answers(port, "/ready", host))
        assert answers(port, "/health", host)


def test_every_probe_asks_a_port_that_its_container_has() -> None:
    for name, port in (("worker", 9100), ("dashboard", 8321)):
        [container] = pod(f"lonnymq-{name}")["containers"]
        assert {each["containerPort"] for each in container["ports"]} == {port}
        names = {each["name"] for each in container["ports"]}
        for probe in ("livenessProbe", "readinessProbe"):
            assert container[probe]["httpGet"]["port"] in names


def test_every_container_runs_with_few_rights() -> None:
    for each in MANIFESTS:
        if "template" not in each["spec"]:
            continue
        spec = each["spec"]["template"]["spec"]
        assert spec["securityContext"]["runAsNonRoot"]
        assert not spec["automountServiceAccountToken"]
        for container in spec["containers"]:
            assert container["securityContext"]["readOnlyRootFilesystem"]
            assert container["securityContext"]["capabilities"]["drop"] == ["ALL"]
            assert not container["image"].endswith(":latest")
