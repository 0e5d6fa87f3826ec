"""API tokens: made, listed, revoked. The secret is shown once; only its SHA-256 is kept."""

import hashlib
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType

from django.db import transaction
from django.db.models import QuerySet

from banks import errors, seams
from banks.access import Principal, Role, Scope, bank_for, parse_scopes
from banks.models import AccessToken
from banks.queries import milliseconds
from banks.services import members

PREFIX = "mc_"
SECRET_BYTES = 32
SHOWN_CHARACTERS = 8
DEFAULT_DAYS = 90
NAME_LENGTH = 100

NEEDED: Mapping[Scope, Role] = MappingProxyType(
    {
        Scope.MEMORY_READ: Role.VIEWER,
        Scope.MEMORY_WRITE: Role.EDITOR,
        Scope.MEMORY_CURATE: Role.EDITOR,
        Scope.RULES_READ: Role.VIEWER,
        Scope.RULES_WRITE: Role.MAINTAINER,
        Scope.RUNS_RUN: Role.MAINTAINER,
        Scope.HOOKS: Role.VIEWER,
        Scope.ADMIN: Role.OWNER,
    }
)
"""The least role with which a scope is of use; `banks:create` is given away by instance admins
only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """What is known of a token, but for its secret. Times are milliseconds since the epoch.

    `owner` None = of the instance; `banks` None = every bank; `is_owner_out`: its owner may not
    sign in, so it is refused until that person may.
    """

    id: int
    name: str
    prefix: str
    owner: str | None
    scopes: tuple[str, ...]
    banks: tuple[str, ...] | None
    created_at: int
    expires_at: int | None
    revoked_at: int | None
    is_owner_out: bool


def digest(secret: str) -> str:
    """How a secret is kept: it has 256 random bits, so a plain SHA-256 is enough."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def create(
    principal: Principal,
    name: str,
    scopes: Iterable[str],
    *,
    banks: Iterable[str] | None = None,
    days: int | None = DEFAULT_DAYS,
    owner_id: int | None = None,
) -> tuple[AccessToken, str]:
    """A new token and its secret. `banks` None = every bank that its owner may see; `days` None =
    it does not expire; `owner_id` None = a token of the instance (instance admins make those).

    Raises Forbidden, BankNotFound, Invalid.
    """
    if not principal.is_instance_admin and owner_id != principal.user_id:
        raise errors.Forbidden("Tokens of others are made by an instance admin.")
    if not name.strip() or len(name) > NAME_LENGTH:
        raise errors.Invalid(f"A token's name has 1 to {NAME_LENGTH} characters.", loc="name")
    if days is not None and days < 1:
        raise errors.Invalid("A token lives for one day at least.", loc="days")
    chosen = parse_scopes(scopes)
    if not chosen:
        raise errors.Invalid("A token needs at least one scope.", loc="scopes")
    limited = None if banks is None else [bank_for(principal, b, Role.VIEWER) for b in banks]
    now = seams.now()
    secret = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
    with transaction.atomic():
        token = AccessToken.objects.create(
            name=name.strip(),
            prefix=secret[: len(PREFIX) + SHOWN_CHARACTERS],
            digest=digest(secret),
            owner_id=owner_id,
            scopes=sorted(scope.value for scope in chosen),
            every_bank=limited is None,
            created_at=now,
            expires_at=None if days is None else now + timedelta(days=days),
        )
        token.banks.set(limited or [])
    return token, secret


def grantable(principal: Principal) -> list[Scope]:
    """The scopes that this person could use somewhere, in the order in which they are listed."""
    best = max(members.roles(principal).values(), default=None)
    scopes = [] if best is None else [scope for scope in NEEDED if NEEDED[scope] <= best]
    return [*scopes, Scope.BANKS_CREATE] if principal.may_create_banks else scopes


def create_own(
    principal: Principal,
    name: str,
    scopes: Iterable[str],
    *,
    banks: Iterable[str] | None,
    days: int | None,
) -> tuple[Token, str]:
    """A token of the person who asks, and its secret: no scope beyond that person's roles.

    Raises what `create` raises; Invalid names each scope that goes too far.
    """
    may, wanted = grantable(principal), parse_scopes(scopes)
    beyond = sorted(scope.value for scope in wanted.difference(may))
    if beyond:
        raise errors.Invalid(f"Your roles do not reach for {', '.join(beyond)}.", loc="scopes")
    chosen = None if banks is None else list(banks)
    if chosen == []:
        raise errors.Invalid("Choose one bank at least, or every bank.", loc="banks")
    row, secret = create(
        principal, name, wanted, banks=chosen, days=days, owner_id=principal.user_id
    )
    return _told(row), secret


def listed(principal: Principal) -> list[Token]:
    """The caller's tokens, all of them for an instance admin, newest first."""
    rows = _visible(principal).select_related("owner").prefetch_related("banks")
    return [_told(row) for row in rows.order_by("-created_at", "-pk")]


def _visible(principal: Principal) -> QuerySet[AccessToken]:
    rows = AccessToken.objects.all()
    return rows if principal.is_instance_admin else rows.filter(owner_id=principal.user_id)


def _told(row: AccessToken) -> Token:
    return Token(
        id=row.pk,
        name=row.name,
        prefix=row.prefix,
        owner=row.owner.get_username() if row.owner else None,
        scopes=tuple(scope.value for scope in Scope if scope.value in row.scopes),
        banks=None if row.every_bank else tuple(sorted(bank.name for bank in row.banks.all())),
        created_at=milliseconds(row.created_at),
        expires_at=milliseconds(row.expires_at) if row.expires_at else None,
        revoked_at=milliseconds(row.revoked_at) if row.revoked_at else None,
        is_owner_out=row.owner is not None and not row.owner.is_active,
    )


def revoke(principal: Principal, token_id: int) -> None:
    """End a token at once. Raises NotFound for one that the caller may not see."""
    rows = _visible(principal).filter(pk=token_id)
    if not rows.exists():
        raise errors.NotFound
    rows.filter(revoked_at=None).update(revoked_at=seams.now())
