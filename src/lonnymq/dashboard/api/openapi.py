"""The description of the API in OpenAPI, from the same tables as the routes."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from lonnymq.dashboard.actions.routes import ACTIONS
from lonnymq.dashboard.api import schemas
from lonnymq.dashboard.api.endpoints import ENDPOINTS
from lonnymq.dashboard.request import ID, QUEUE, Body, Parameter
from lonnymq.dashboard.security import SignInBody
from lonnymq.dashboard.state import AppState, get_state

JSON = "application/json"
QUEUES = "/api/queues/{queue}"
REF = "#/components/schemas/{name}"
ERRORS = {
    401: "You are not signed in.",
    403: "Your role does not include this.",
    404: "The thing does not exist.",
    422: "A parameter is not allowed.",
    503: "The database does not answer.",
}
WRITE_ERRORS = {
    **ERRORS,
    403: "Your role does not include this, or the request may come from a page of another site.",
    408: "The body did not arrive in time.",
    409: "The action is not possible now.",
    413: "The body is too large.",
    415: "The body is not JSON.",
}


async def send_openapi(request: Request) -> Response:
    """Send the description."""
    return JSONResponse(describe_api(get_state(request)))


def describe_api(state: AppState) -> dict[str, Any]:
    """The whole description, without actions where they are not enabled."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "LonnyMQ dashboard",
            "version": version("lonnymq"),
            "description": "The API of the dashboard. Paths are relative to the address of the page.",
        },
        "paths": describe_paths(state),
        "components": {
            "schemas": describe_schemas(),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}] if state.authenticator.login == "token" else [],
    }


def describe_schemas() -> dict[str, Any]:
    """All documents and request bodies by name."""
    documents = [
        each
        for each in vars(schemas).values()
        if isinstance(each, type) and issubclass(each, schemas.Document)
    ]
    bodies = [SignInBody, *(action.body for action in ACTIONS.values())]
    return msgspec.json.schema_components([*documents, *bodies], ref_template=REF)[1]


def describe_paths(state: AppState) -> dict[str, Any]:
    """All operations by path."""
    events = "Live events: `overview` with an Overview, and `trouble` with an Error."
    health = describe_operation("The process is running.", schemas.Health, errors={})
    ready = describe_operation("Whether every queue answers.", schemas.Readiness, errors={})
    ready["responses"]["503"] = ready["responses"]["200"]
    reads: dict[str, Any] = {
        "/api/session": describe_operation("The user and the queues.", schemas.Session, errors={}),
        "/api/report": describe_operation("The latest report.", schemas.Report),
        "/health": health,
        "/ready": ready,
        "/metrics": describe_operation("Metrics for Prometheus.", "text/plain"),
        f"{QUEUES}/messages/{{id}}/content": describe_operation(
            "The whole payload of a message.", "application/octet-stream", QUEUE, ID
        ),
        f"{QUEUES}/events": describe_operation(events, "text/event-stream", QUEUE),
    }
    for each in ENDPOINTS:
        operation = describe_operation(each.about, each.document, QUEUE, *each.parameters)
        reads[f"{QUEUES}/{each.path}"] = operation
    paths = {path: {"get": operation} for path, operation in reads.items()}
    for path, operation in describe_writes(state).items():
        paths.setdefault(path, {})["post"] = operation
    return paths


def describe_writes(state: AppState) -> dict[str, Any]:
    """The operations that change something, by path. Actions that are not enabled are left out."""
    found = {
        "/api/session": describe_operation(
            "Sign in with the token.", schemas.Session, errors=WRITE_ERRORS, body=SignInBody
        ),
        "/api/session/end": describe_operation("Sign out.", schemas.Session, errors=WRITE_ERRORS),
    }
    for name, action in ACTIONS.items() if state.actions else ():
        for path, document, summary in (
            (f"{name}/preview", schemas.Preview, f"Preview: {action.about}"),
            (name, schemas.ActionDone, action.about),
        ):
            found[f"{QUEUES}/actions/{path}"] = describe_operation(
                summary, document, QUEUE, errors=WRITE_ERRORS, body=action.body
            )
    return found


def describe_operation(
    about: str,
    answer: type[schemas.Document] | str,
    *parameters: Parameter,
    errors: dict[int, str] = ERRORS,
    body: type[Body] | None = None,
) -> dict[str, Any]:
    """An operation that answers with a document, or with something of a content type."""
    content = {answer: {}} if isinstance(answer, str) else describe_json(answer)
    responses = {"200": {"description": about, "content": content}}
    for status, text in errors.items():
        responses[str(status)] = {"description": text, "content": describe_json(schemas.Error)}
    operation = {
        "summary": about,
        "parameters": [each.to_openapi() for each in parameters],
        "responses": responses,
    }
    if body is not None:
        operation["requestBody"] = {"required": True, "content": describe_json(body)}
    return operation


def describe_json(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """JSON content of a type."""
    return {JSON: {"schema": {"$ref": REF.format(name=kind.__name__)}}}
