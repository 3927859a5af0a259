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
from lonnymq.dashboard.api.session import SignInBody
from lonnymq.dashboard.request import ID, QUEUE, Body, Parameter
from lonnymq.dashboard.state import AppState, get_state

JSON = "application/json"
REF = "#/components/schemas/{name}"
ERRORS = {
    401: "You are not signed in.",
    404: "The thing does not exist.",
    422: "A parameter is not allowed.",
    503: "The database does not answer.",
}
ACTION_ERRORS = {
    **ERRORS,
    403: "The request may come from a page of another site.",
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
    paths: dict[str, Any] = {
        "/api/session": {
            "get": describe_read("The user and the queues.", schemas.Session, errors={}),
            "post": describe_write("Sign in with the token.", schemas.Session, SignInBody),
        },
        "/api/session/end": {"post": describe_write("Sign out.", schemas.Session, None)},
        "/api/report": {"get": describe_read("The latest report.", schemas.Report)},
        "/health": {"get": describe_read("The process is running.", schemas.Health, errors={})},
        "/ready": {"get": describe_readiness()},
        "/metrics": {"get": describe_other("Metrics for Prometheus.", "text/plain")},
        "/api/queues/{queue}/messages/{id}": {
            "get": describe_read("One message.", schemas.Message, (QUEUE, ID))
        },
        "/api/queues/{queue}/messages/{id}/content": {
            "get": describe_other(
                "The whole payload of a message.", "application/octet-stream", (QUEUE, ID)
            )
        },
        "/api/queues/{queue}/events": {
            "get": describe_other(events, "text/event-stream", (QUEUE,))
        },
    }
    for each in ENDPOINTS:
        paths[f"/api/queues/{{queue}}/{each.path}"] = {
            "get": describe_read(each.about, each.document, (QUEUE, *each.parameters))
        }
    return paths | (describe_actions() if state.actions else {})


def describe_actions() -> dict[str, Any]:
    """The operations of all actions by path."""
    paths: dict[str, Any] = {}
    for name, action in ACTIONS.items():
        about = (type(action).__doc__ or "").strip()
        for path, document, summary in (
            (f"{name}/preview", schemas.Preview, f"Preview: {about}"),
            (name, schemas.ActionDone, about),
        ):
            operation = describe_write(summary, document, action.body, (QUEUE,))
            paths[f"/api/queues/{{queue}}/actions/{path}"] = {"post": operation}
    return paths


def describe_write(
    about: str,
    document: type[schemas.Document],
    body: type[Body] | None,
    parameters: tuple[Parameter, ...] = (),
) -> dict[str, Any]:
    """An operation that changes something."""
    operation = describe_read(about, document, parameters, errors=ACTION_ERRORS)
    if body is not None:
        operation["requestBody"] = {"required": True, "content": describe_json(body)}
    return operation


def describe_read(
    about: str,
    document: type[schemas.Document],
    parameters: tuple[Parameter, ...] = (),
    *,
    errors: dict[int, str] = ERRORS,
) -> dict[str, Any]:
    """An operation that returns JSON."""
    return describe_operation(about, describe_json(document), parameters, errors)


def describe_other(
    about: str, content_type: str, parameters: tuple[Parameter, ...] = ()
) -> dict[str, Any]:
    """An operation that returns something else."""
    return describe_operation(about, {content_type: {}}, parameters, ERRORS)


def describe_operation(
    about: str,
    content: dict[str, Any],
    parameters: tuple[Parameter, ...],
    errors: dict[int, str],
) -> dict[str, Any]:
    """An operation with its parameters, its answer and its errors."""
    responses = {"200": {"description": about, "content": content}}
    for status, text in errors.items():
        responses[str(status)] = {"description": text, "content": describe_json(schemas.Error)}
    return {
        "summary": about,
        "parameters": [each.to_openapi() for each in parameters],
        "responses": responses,
    }


def describe_readiness() -> dict[str, Any]:
    """The operation that says whether all queues answer."""
    operation = describe_read("Whether every queue answers.", schemas.Readiness, errors={})
    operation["responses"]["503"] = operation["responses"]["200"]
    return operation


def describe_json(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """JSON content of a type."""
    return {JSON: {"schema": {"$ref": REF.format(name=kind.__name__)}}}
