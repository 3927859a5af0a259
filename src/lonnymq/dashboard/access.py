"""Who may do what: roles per queue and per channel, and payloads that are hidden or redacted.

An access file names users and their grants. Without a file everybody who is signed in has the same role.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import tomllib
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, Literal

import msgspec

from lonnymq.errors import InvalidArgument

REDACTED = "•••"
SHA256_DIGITS = 64
ISSUERS = (
    "https://",
    "http://127.0.0.1:",
    "http://localhost:",
)  # of this machine without TLS, for tests


class Role(IntEnum):
    """What a user may do. Each role includes the roles before it."""

    VIEW = 1
    ACT = 2
    ADMINISTER = 3


class Grant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The role of a user or a group, in some queues and some channels."""

    role: Literal["view", "act", "administer"]
    user: str | None = None
    group: str | None = None
    queues: tuple[str, ...] | None = None
    channels: tuple[str, ...] | None = None
    payloads: Literal["shown", "redacted", "hidden"] = "shown"

    def covers(self, role: Role, channel: str | None = None) -> bool:
        """Whether the grant includes a role, in all channels or in this channel."""
        if Role[self.role.upper()] < role:
            return False
        if self.channels is None:
            return True
        return channel is not None and any(matches(channel, each) for each in self.channels)


def matches(channel: str, pattern: str) -> bool:
    """Whether a pattern is the name of a channel, or the beginning of the name, followed by `*`."""
    return channel.startswith(pattern[:-1]) if pattern.endswith("*") else channel == pattern


@dataclass(frozen=True, slots=True)
class Access:
    """What one user may do in one queue."""

    grants: tuple[Grant, ...]
    redact: frozenset[str] = frozenset()

    @property
    def role(self) -> Role | None:
        """The highest role, in any channel."""
        return max((Role[each.role.upper()] for each in self.grants), default=None)

    @property
    def role_name(self) -> str | None:
        """The highest role as a word."""
        return None if self.role is None else self.role.name.lower()

    def allows(self, role: Role, channel: str | None = None) -> bool:
        """Whether the user has a role in a channel, or in all channels."""
        return any(each.covers(role, channel) for each in self.grants)

    @property
    def patterns(self) -> tuple[str, ...] | None:
        """The channels that the user may see, or None for all channels."""
        if self.allows(Role.VIEW):
            return None
        return tuple(sorted({each for grant in self.grants for each in grant.channels or ()}))

    def find_payloads(self, channel: str) -> str:
        """Whether payloads of a channel are shown, redacted or hidden."""
        seen = {each.payloads for each in self.grants if each.covers(Role.VIEW, channel)}
        return next((each for each in ("shown", "redacted") if each in seen), "hidden")

    @property
    def shows_payloads(self) -> bool:
        """Whether payloads are shown in every channel that the user may see."""
        return all(each.payloads == "shown" for each in self.grants)

    def redact_content(self, channel: str, data: bytes | None, size: int | None) -> bytes | None:
        """A payload as this user may see it: None if it is hidden, or if it has to be redacted and is not JSON."""
        payloads = self.find_payloads(channel)
        if data is None or payloads == "shown":
            return data
        if payloads == "hidden" or size is None or len(data) < size:
            return None
        try:
            return json.dumps(self.redact_json(json.loads(data)), ensure_ascii=False).encode()
        except (ValueError, RecursionError):
            return None

    def redact_json(self, value: Any) -> Any:
        """A JSON value without the values of the fields that the rule names, at any depth."""
        if isinstance(value, dict):
            return {
                name: REDACTED if name.lower() in self.redact else self.redact_json(each)
                for name, each in value.items()
            }
        return [self.redact_json(each) for each in value] if isinstance(value, list) else value


EVERYTHING = {role: Access((Grant(role=role.name.lower()),)) for role in Role}  # type: ignore[arg-type] # the names of the roles


class Provider(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An OpenID Connect provider that signs users in."""

    issuer: str
    client_id: str
    client_secret_file: str | None = None
    user_claim: str = "email"
    group_claim: str = "groups"
    scope: str = "openid email profile"
    public_url: str | None = None


class AccessRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of an access file."""

    grant: tuple[Grant, ...]
    tokens: dict[str, str] = {}
    redact: tuple[str, ...] = ()
    oidc: Provider | None = None

    def check(self) -> None:
        """Reject what cannot be meant."""
        if not self.grant:
            raise InvalidArgument(
                "the access file grants nothing: add [[grant]] with user and role"
            )
        for name, digest in self.tokens.items():
            if len(digest) != SHA256_DIGITS or not set(digest) <= set("0123456789abcdef"):
                raise InvalidArgument(
                    f"the token of {name!r} must be a SHA-256 of 64 digits in lower case. "
                    "Run: printf %s TOKEN | sha256sum"
                )
        for each in self.grant:
            check_grant(each)
        if self.oidc is not None and not self.oidc.issuer.startswith(ISSUERS):
            raise InvalidArgument(
                f"the issuer {self.oidc.issuer!r} of [oidc] must start with https://"
            )
        granted = {each.user for each in self.grant}
        unknown = sorted(set(self.tokens) - granted) if "*" not in granted else []
        if unknown:
            raise InvalidArgument(
                f"{unknown[0]!r} has a token but no grant: add [[grant]] with user = {unknown[0]!r}"
            )

    def find_user(self, token: str) -> str | None:
        """The user with this token. All tokens are compared, in constant time."""
        digest = hashlib.sha256(token.encode()).hexdigest()
        found = [name for name, each in self.tokens.items() if hmac.compare_digest(each, digest)]
        return found[0] if found else None

    def find_access(self, name: str | None, groups: tuple[str, ...], queue: str) -> Access:
        """What a user may do in a queue."""
        grants = tuple(
            each
            for each in self.grant
            if (each.queues is None or queue in each.queues)
            and (each.user in (name, "*") if each.user is not None else each.group in groups)
        )
        return Access(grants, frozenset(each.lower() for each in self.redact))

    @property
    def highest(self) -> Role:
        """The highest role that anybody has."""
        return max(Role[each.role.upper()] for each in self.grant)


def check_grant(grant: Grant) -> None:
    """Reject a grant without a subject, with two, or with a `*` inside of a pattern."""
    if (grant.user is None) == (grant.group is None):
        raise InvalidArgument("every [[grant]] needs a user or a group, and not both")
    subject = grant.user or grant.group
    for name, values in (("queues", grant.queues), ("channels", grant.channels)):
        if values == ():
            raise InvalidArgument(
                f"{name} of the grant to {subject!r} is empty: leave it out for all"
            )
    for pattern in grant.channels or ():
        if "*" in pattern[:-1] or pattern in ("", "*"):
            raise InvalidArgument(
                f"the channel {pattern!r} of the grant to {subject!r} is not allowed: "
                "give a name, or the beginning of names followed by a single *"
            )


def load_access(file: str | Path) -> AccessRules:
    """Read and check an access file."""
    try:
        document = tomllib.loads(Path(file).read_text())
        rules = msgspec.convert(document, AccessRules)
        rules.check()
        if rules.oidc is not None and rules.oidc.client_secret_file is not None:
            secret = str(Path(file).parent / rules.oidc.client_secret_file)
            provider = msgspec.structs.replace(rules.oidc, client_secret_file=secret)
            rules = msgspec.structs.replace(rules, oidc=provider)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgument(f"cannot read the access file {file}: {error}") from None
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, InvalidArgument) as error:
        raise InvalidArgument(f"the access file {file} is not valid: {error}") from None
    return rules
