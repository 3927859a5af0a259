"""The API described in OpenAPI, from the same tables that the routes are made of."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from lonnymq.dashboard.actions import DEEDS
from lonnymq.dashboard.endpoints import LOOKS
from lonnymq.dashboard.json_schema import FLAG, TEXT, Schema, many, maybe, record, ref
from lonnymq.dashboard.parameters import ID, QUEUE, Parameter
from lonnymq.dashboard.schemas import FORMS, POLICY
from lonnymq.dashboard.site import Site, site_of

JSON = "application/json"
NAME: Schema = {"type": "string", "minLength": 1, "maxLength": 63, "pattern": "^[^\\u0000]+$"}
BODIES: dict[str, Schema] = {
    "channel": NAME,
    "name": NAME,
    "id": {"type": "string", "pattern": "^[0-9]{1,18}$"},
    "options": {"type": "object", "properties": POLICY, "additionalProperties": False, "minProperties": 1},
    "ids": {**many({"type": "string", "pattern": "^[0-9]{1,18}$"}), "minItems": 1, "maxItems": 1000},
    "group": maybe(TEXT),
    "kind": maybe(NAME),
    "all": FLAG,
}  # fmt: skip
SIGN_IN = record(("name",), token=TEXT, name=TEXT)
PROBLEMS = {
    401: "Nobody is signed in.",
    404: "There is no such thing.",
    422: "A parameter is not allowed.",
    503: "The database does not answer.",
}
ACTION_PROBLEMS = {
    **PROBLEMS,
    403: "The request may come from another site's page.",
    409: "It cannot be done now.",
    413: "The body is too large.",
    415: "The body is not JSON.",
}


async def openapi(request: Request) -> Response:
    """The description."""
    return JSONResponse(described(site_of(request)))


def described(site: Site) -> dict[str, Any]:
    """The whole description; what is not enabled is not in it."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "LonnyMQ dashboard",
            "version": version("lonnymq"),
            "description": "What the page itself asks. Paths are relative to where it is mounted.",
        },
        "paths": paths(site),
        "components": {
            "schemas": FORMS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}] if site.guard.login == "token" else [],
    }


def paths(site: Site) -> dict[str, Any]:
    """What can be asked."""
    found: dict[str, Any] = {
        "/api/session": {
            "get": operation("Who looks, and what there is.", "Session", (), problems={}),
            "post": posting("Sign in with the token; a cookie stands for it.", "Session", SIGN_IN),
        },
        "/api/session/end": {"post": posting("Sign out.", "Session", None)},
        "/api/report": {"get": operation("The latest report.", "Report", (), problems=PROBLEMS)},
        "/health": {"get": operation("The process runs.", "Health", (), problems={})},
        "/ready": {"get": readiness()},
        "/metrics": {"get": plain("Figures for Prometheus.", "text/plain")},
    }
    for look in LOOKS:
        found[f"/api/queues/{{queue}}/{look.path}"] = {
            "get": operation(look.about, look.form, look.all_parameters, problems=PROBLEMS)
        }
    found["/api/queues/{queue}/messages/{id}"] = {
        "get": operation("One message.", "Message", (QUEUE, ID), problems=PROBLEMS)
    }
    found["/api/queues/{queue}/messages/{id}/content"] = {
        "get": plain("A message's whole content.", "application/octet-stream", (QUEUE, ID))
    }
    found["/api/queues/{queue}/events"] = {
        "get": plain(
            "What goes on, as it goes: events `overview`, in its form, and `trouble`, a problem.",
            "text/event-stream",
            (QUEUE,),
        )
    }
    if site.actions:
        found |= actions()
    return found


def actions() -> dict[str, Any]:
    """What can be done."""
    found: dict[str, Any] = {}
    for name, deed in DEEDS.items():
        fields = {word: BODIES[word] for word in deed.body}
        # Dead messages are chosen by any of the fields; all else needs every one.
        chosen = tuple(fields) if "all" in fields else ()
        body = {**record(chosen, **fields), **({"minProperties": 1} if chosen else {})}
        about = (type(deed).__doc__ or "").strip()
        for path, form, what in (
            (f"{name}/preview", "Preview", f"What would happen: {about}"),
            (name, "Done", about),
        ):
            spec = posting(what, form, body, (QUEUE,))
            found[f"/api/queues/{{queue}}/actions/{path}"] = {"post": spec}
    return found


def posting(
    about: str, form: str, body: Schema | None, parameters: tuple[Parameter, ...] = ()
) -> dict[str, Any]:
    """One operation that changes something."""
    spec = operation(about, form, parameters, problems=ACTION_PROBLEMS)
    if body is not None:
        spec["requestBody"] = {"required": True, "content": {JSON: {"schema": body}}}
    return spec


def operation(
    about: str, form: str, parameters: tuple[Parameter, ...], *, problems: dict[int, str]
) -> dict[str, Any]:
    """One operation that answers JSON."""
    return {
        "summary": about,
        "parameters": [each.described() for each in parameters],
        "responses": {
            "200": {"description": about, "content": {JSON: {"schema": ref(form)}}},
            **refusals(problems),
        },
    }


def plain(about: str, kind: str, parameters: tuple[Parameter, ...] = ()) -> dict[str, Any]:
    """One operation that answers something else."""
    return {
        "summary": about,
        "parameters": [each.described() for each in parameters],
        "responses": {
            "200": {"description": about, "content": {kind: {}}},
            **refusals(PROBLEMS),
        },
    }


def readiness() -> dict[str, Any]:
    """Whether all queues answer."""
    spec = operation("Whether every queue answers.", "Ready", (), problems={})
    spec["responses"]["503"] = spec["responses"]["200"]
    return spec


def refusals(problems: dict[int, str]) -> dict[str, Any]:
    """What else may be answered."""
    return {
        str(status): {"description": about, "content": {JSON: {"schema": ref("Problem")}}}
        for status, about in problems.items()
    }
