"""The description of the API holds: every answer has the form that it says, whatever is asked."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.openapi.checks import JsonSchemaError
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from dashboard.conftest import TOKEN
from dashboard.sample_queue import fill_queue
from dashboard.server import served
from lonnymq import Queue
from lonnymq.dashboard import create_app
from support import Target

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
BEARER = {"Authorization": f"Bearer {TOKEN}"}
FEW = settings(
    max_examples=int(os.environ.get("LONNYMQ_TEST_EXAMPLES", "5")),
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@dataclass(frozen=True)
class Served:
    """A page of a stocked queue, and how it describes itself."""

    schema: Any
    address: str
    ids: dict[str, int]


@pytest.fixture(scope="module")
def page(server_18: Target) -> Iterator[Served]:
    with server_18.database() as (dsn, _):
        with Queue(dsn) as queue:
            ids = fill_queue(queue)
        app = create_app({"jobs": dsn}, actions=True, token=TOKEN)
        with served(app) as address:
            described = schemathesis.openapi.from_url(f"{address}/openapi.json")
            yield Served(described, address, ids)


@pytest.mark.long
def test_every_answer_has_the_form_that_is_described(page: Served):
    operations = [each.ok() for each in page.schema.get_all_operations()]
    operations = [each for each in operations if not each.path.endswith("/events")]  # never ends
    assert len(operations) > 30
    for operation in operations:

        @FEW
        @given(case=operation.as_strategy())
        def ask(case):
            if "queue" in case.path_parameters:
                case.path_parameters["queue"] = "jobs"
            case.call_and_validate(checks=CHECKS, headers=BEARER, timeout=60)

        ask()


def test_what_there_is_has_the_form_that_is_described(page: Served):
    """The generated questions seldom hit a message or a channel that exists: these do."""
    asked: dict[str, list[dict[str, Any]]] = {
        "/api/queues/{queue}/messages/{id}": [{"id": str(each)} for each in page.ids.values()],
        "/api/queues/{queue}/channel": [{"name": "acme"}, {"name": "narrow"}],
        "/api/queues/{queue}/messages": [{"channel": "acme", "limit": 1}],
        "/api/queues/{queue}/channels": [{"sort": sort} for sort in ("name", "waiting", "dead")],
        "/api/queues/{queue}/dead": [{}],
        "/api/queues/{queue}/series": [{"span": "day"}],
    }
    with httpx.Client(base_url=page.address, headers=BEARER) as client:
        for path, questions in asked.items():
            for question in questions:
                url = path.format(queue="jobs", id=question.get("id"))
                answer = client.get(url, params={k: v for k, v in question.items() if k != "id"})
                assert answer.status_code == 200, answer.text
                page.schema[path]["GET"].validate_response(answer)


def test_an_answer_of_another_form_is_noticed(page: Served):
    operation = page.schema["/api/queues/{queue}/overview"]["GET"]
    with httpx.Client(base_url=page.address, headers=BEARER) as client:
        answer = client.get("/api/queues/jobs/overview")
    operation.validate_response(answer)
    seen = answer.json()
    del seen["waiting"]
    wrong = httpx.Response(200, json=seen, request=answer.request)
    wrong.elapsed = answer.elapsed
    with pytest.raises(JsonSchemaError):
        operation.validate_response(wrong)


def test_actions_that_are_not_enabled_are_not_described(dsn_18):
    with served(create_app({"jobs": dsn_18})) as address:
        paths = httpx.get(f"{address}/openapi.json").json()["paths"]
    assert "/api/queues/{queue}/overview" in paths
    assert not [path for path in paths if "actions" in path]
