"""Sign-in through an OpenID Connect provider, by Authlib: the code flow with PKCE, state and nonce."""

from __future__ import annotations

import hmac
import json
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from lonnymq.dashboard.access import Provider
from lonnymq.dashboard.guard import guard_route
from lonnymq.dashboard.queues import logger
from lonnymq.dashboard.request import decode_base64, encode_base64
from lonnymq.dashboard.security import User, clean_name, cookie_name, cookie_settings, set_session
from lonnymq.dashboard.state import get_state
from lonnymq.errors import InvalidArgument

STATE_COOKIE = "lonnymq_oidc"
STATE_SECONDS = 600
ANSWER_SECONDS = 10
CALLBACK = "/oidc/callback"


class OidcLogin:
    """The sign-in of one provider."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self.client = create_client(provider)

    def routes(self) -> list[BaseRoute]:
        """The routes of the sign-in, which everybody may use."""
        return [
            guard_route("/oidc/sign-in", self.begin, role=None),
            guard_route(CALLBACK, self.finish, role=None),
        ]

    async def begin(self, request: Request) -> Response:
        """Send the browser to the provider. A signed cookie has the state until the browser comes back."""
        request.scope["session"] = {}
        try:
            response: Response = await self.client.authorize_redirect(
                request, self.find_url(request, CALLBACK)
            )
        except Exception as error:  # the provider is not reachable, or no provider at all
            return self.reject(request, error)
        content = json.dumps(request.session).encode()
        signature = get_state(request).authenticator.sign(content)
        # Strict cookies would not come back from the provider.
        response.set_cookie(
            cookie_name(request, STATE_COOKIE),
            f"{encode_base64(content)}.{encode_base64(signature)}",
            max_age=STATE_SECONDS,
            **{**cookie_settings(request), "samesite": "lax"},
        )
        return response

    async def finish(self, request: Request) -> Response:
        """Check what the provider sends, and give the browser a session."""
        request.scope["session"] = read_state(request)
        try:
            token = await self.client.authorize_access_token(
                request,
                claims_options={
                    "iss": {"essential": True, "values": [self.provider.issuer]},
                    "aud": {"essential": True, "value": self.provider.client_id},
                    "exp": {"essential": True},
                },
            )
            user = self.find_user(token["userinfo"])
        except Exception as error:  # of Authlib, of the network, or a claim that is missing
            return self.reject(request, error)
        logger.info("%s signed in by %s", user.name, self.provider.issuer)
        response = RedirectResponse(self.find_url(request, "/"))
        set_session(request, response, user)
        response.delete_cookie(
            cookie_name(request, STATE_COOKIE), path=cookie_settings(request)["path"]
        )
        return response

    def find_user(self, claims: dict[str, Any]) -> User:
        """The user that the claims describe."""
        claim = self.provider.user_claim
        name = clean_name(str(claims.get(claim) or ""))
        if not name:
            raise PermissionError(f"the provider sent no claim {claim!r}")
        if claim == "email" and claims.get("email_verified") is False:
            raise PermissionError("the provider has not verified the email")
        groups = claims.get(self.provider.group_claim) or []
        names = [groups] if isinstance(groups, str) else groups
        return User(name, groups=tuple(str(each) for each in names))

    def reject(self, request: Request, error: Exception) -> Response:
        """Send the browser back to the page, which tells that the sign-in failed."""
        reason = str(error) if isinstance(error, PermissionError) else type(error).__name__
        logger.warning("sign-in by %s failed: %s", self.provider.issuer, reason)
        return RedirectResponse(f"{self.find_url(request, '/')}?error=sign_in")

    def find_url(self, request: Request, path: str) -> str:
        """An address of the dashboard, as browsers see it."""
        if self.provider.public_url is not None:
            return self.provider.public_url.rstrip("/") + path
        root = request.scope.get("root_path", "").rstrip("/")
        return f"{request.url.scheme}://{request.url.netloc}{root}{path}"


def create_client(provider: Provider) -> Any:
    """Authlib's client of a provider."""
    try:
        from authlib.integrations.starlette_client import (  # type: ignore[import-untyped] # it has no types
            OAuth,
        )
    except ImportError:
        raise InvalidArgument(
            "[oidc] of the access file needs an extra. Run: pip install 'lonnymq[oidc]'"
        ) from None
    secret = None
    if provider.client_secret_file is not None:
        try:
            secret = Path(provider.client_secret_file).read_text().strip()
        except OSError as error:
            raise InvalidArgument(f"cannot read client_secret_file: {error}") from None
    return OAuth().register(
        "provider",
        client_id=provider.client_id,
        client_secret=secret,
        server_metadata_url=f"{provider.issuer.rstrip('/')}/.well-known/openid-configuration",
        client_kwargs={
            "scope": provider.scope,
            "code_challenge_method": "S256",
            "timeout": ANSWER_SECONDS,
        },
    )


def read_state(request: Request) -> dict[str, Any]:
    """The state that the browser took to the provider, or nothing if this dashboard did not sign the state."""
    cookie = request.cookies.get(cookie_name(request, STATE_COOKIE), "")
    content, _, signature = cookie.partition(".")
    try:
        text, sign = decode_base64(content), decode_base64(signature)
    except ValueError:
        return {}
    if not hmac.compare_digest(sign, get_state(request).authenticator.sign(text)):
        return {}
    state: dict[str, Any] = json.loads(text)
    return state
