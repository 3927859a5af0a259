"""A small OpenID Connect provider over HTTP: it signs in whom it is told to, and can be told to do wrong."""

import base64
import hashlib
import time
from typing import Any
from urllib.parse import parse_qsl, urlencode

from joserfc import jwt
from joserfc.jwk import RSAKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

CLIENT, SECRET = "lonnymq-page", "the-secret-of-the-client"


class Provider:
    """The provider, and the claims of the user who signs in next. `changes` are wrong claims."""

    def __init__(self) -> None:
        self.issuer = ""
        self.key = RSAKey.generate_key(2048, {"kid": "1", "use": "sig"})
        self.signing_key = self.key
        self.claims: dict[str, Any] = {"email": "anna@example.org", "email_verified": True}
        self.changes: dict[str, Any] = {}
        self.codes: dict[str, dict[str, str]] = {}
        self.app = Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self.describe),
                Route("/keys", self.send_keys),
                Route("/authorize", self.authorize),
                Route("/token", self.send_token, methods=["POST"]),
            ]
        )

    async def describe(self, _: Request) -> Response:
        places = {
            "authorization_endpoint": "authorize",
            "token_endpoint": "token",
            "jwks_uri": "keys",
        }
        return JSONResponse(
            {
                "issuer": self.issuer,
                "id_token_signing_alg_values_supported": ["RS256"],
                **{name: f"{self.issuer}/{path}" for name, path in places.items()},
            }
        )

    async def send_keys(self, _: Request) -> Response:
        return JSONResponse({"keys": [self.key.as_dict(private=False)]})

    async def authorize(self, request: Request) -> Response:
        asked = dict(request.query_params)
        assert asked["client_id"] == CLIENT
        assert asked["code_challenge_method"] == "S256"
        code = f"code-{len(self.codes)}"
        self.codes[code] = asked
        answer = urlencode({"code": code, "state": asked["state"]})
        return RedirectResponse(f"{asked['redirect_uri']}?{answer}", status_code=302)

    async def send_token(self, request: Request) -> Response:
        form = dict(parse_qsl((await request.body()).decode()))
        basic = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        asked = self.codes.pop(form["code"], None)
        digest = hashlib.sha256(form["code_verifier"].encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if (
            asked is None
            or request.headers.get("authorization") != f"Basic {basic}"
            or asked["code_challenge"] != challenge
            or asked["redirect_uri"] != form["redirect_uri"]
        ):
            return JSONResponse({"error": "invalid_grant"}, status_code=400)
        now = int(time.time())
        claims = {
            "iss": self.issuer, "aud": CLIENT, "sub": "1", "iat": now, "exp": now + 300,
            "nonce": asked["nonce"], **self.claims, **self.changes,
        }  # fmt: skip
        signed = jwt.encode({"alg": "RS256", "kid": "1"}, claims, self.signing_key)
        return JSONResponse({"access_token": "a", "token_type": "Bearer", "id_token": signed})
