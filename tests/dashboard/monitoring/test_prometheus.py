"""A real Prometheus scrapes a dashboard and a worker, as docs/metrics.md says, and knows what they know."""

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from commands import PROGRAM, environment
from dashboard.conftest import TOKEN
from dashboard.monitoring.prometheus_server import Prometheus, prometheus, promtool
from dashboard.server import served
from documents import ROOT
from lonnymq import Queue
from lonnymq.dashboard import create_app
from support import Target, eventually

pytestmark = [pytest.mark.xdist_group("prometheus"), pytest.mark.long]
JOBS = """
import lonnymq

worker = lonnymq.Worker()

@worker.handler("encode")
async def encode(content: bytes) -> None: ...
"""
SETTLED = 'lonnymq_worker_settled_total{answer="completed"}'
MAY_BE_UNKNOWN = {"lonnymq_fairness_jain"}  # where no two channels have a backlog


@contextmanager
def worker_at(folder: Path, dsn: str) -> Iterator[str]:
    """`lonnymq worker` as a process; yields where it tells its figures."""
    (folder / "jobs.py").write_text(JOBS)
    log = folder / "worker.log"
    command = [*PROGRAM, "worker", "jobs:worker", "--metrics", "0"]
    with log.open("w") as errors:
        worker = subprocess.Popen(command, cwd=folder, env=environment(dsn), stderr=errors)
    try:
        yield eventually(lambda: re.search(r"metrics at http://(\S+)/metrics", log.read_text()))[1]
    finally:
        worker.terminate()
        worker.wait(60)


def documented(folder: Path, targets: dict[str, str]) -> dict[str, Any]:
    """The configuration that docs/metrics.md has, with the places of this test, and the alerts."""
    page = (ROOT / "docs" / "metrics.md").read_text()
    (text,) = re.findall(r"```text\n(scrape_configs:.*?)```", page, re.S)
    (folder / "token").write_text(TOKEN)
    config: dict[str, Any] = yaml.safe_load(text)
    assert {each["job_name"] for each in config["scrape_configs"]} == targets.keys()
    for each in config["scrape_configs"]:
        each["static_configs"] = [{"targets": [targets[each["job_name"]]]}]
        if "authorization" in each:
            each["authorization"]["credentials_file"] = str(folder / "token")
    config["rule_files"] = [str(ROOT / "deploy" / "prometheus-alerts.yml")]
    return config


@pytest.fixture(scope="module")
def places(server_18: Target, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A dashboard and a worker over a queue with 3 dead messages, 5 for later and 20 for the worker."""
    folder = tmp_path_factory.mktemp("worker")
    with server_18.database() as (dsn, _), Queue(dsn) as queue:
        queue.maintain()  # totals count the attempts that end after the first sample
        queue.create_many([b"x"] * 3, channel="broken")
        for message in queue.dequeue(limit=3):
            message.fail("no", dead=True)
        for _ in range(5):
            queue.create("later", b"x", delay_ms=3_600_000)
        for _ in range(20):
            queue.create("acme", b"x", kind="encode")
        page = create_app({"jobs": dsn}, token=TOKEN)
        with worker_at(folder, dsn) as worker, served(page) as address:
            yield {"lonnymq": address.removeprefix("http://"), "lonnymq-workers": worker}


@pytest.fixture(scope="module")
def watching(
    places: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Prometheus]:
    """Prometheus, when it has scraped both, each more than once."""
    folder = tmp_path_factory.mktemp("prometheus")
    with prometheus(folder, documented(folder, places)) as found:
        eventually(lambda: found.values("min(count_over_time(up[5m])) > 2"))
        eventually(lambda: found.values(SETTLED) == [20])
        yield found


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ('lonnymq_up{queue="jobs"}', 1),
        ('lonnymq_dead_messages{queue="jobs"}', 3),
        ('lonnymq_waiting_messages{queue="jobs"}', 5),
        ('lonnymq_workers_alive{queue="jobs"}', 1),
        ("lonnymq_worker_up", 1),
        ("sum(lonnymq_worker_handling_seconds_count)", 20),
        ('lonnymq_worker_handling_seconds_bucket{le="+Inf", kind="encode"}', 20),
        ("count(up == 1)", 2),
    ],
)
def test_prometheus_knows_what_it_was_told(watching: Prometheus, query: str, value: float):
    eventually(lambda: watching.values(query) == [value])


def test_every_query_of_the_grafana_dashboard_is_answered(watching: Prometheus):
    panels = json.loads((ROOT / "deploy" / "grafana-dashboard.json").read_text())["panels"]
    queries = [target["expr"].replace("$queue", ".*") for each in panels for target in each["targets"]]  # fmt: skip
    assert len(queries) > 20
    for query in queries:
        if any(name in query for name in MAY_BE_UNKNOWN):
            watching.values(query)
        else:
            eventually(partial(watching.values, query))


def test_prometheus_judges_every_alert(watching: Prometheus):
    def judged() -> set[str]:
        groups = watching.ask("rules")["groups"]
        return {each["health"] for group in groups for each in group["rules"]}

    eventually(lambda: "unknown" not in judged())
    assert judged() == {"ok"}


def test_promtool_finds_no_fault_in_what_is_told(places: dict[str, str]):
    for place in places.values():
        answer = httpx.get(
            f"http://{place}/metrics", headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60
        )
        promtool("check", "metrics", stdin=answer.text)
