"""API tokens: made, listed, revoked. The secret is shown once; only its SHA-256 is kept."""

import hashlib
import secrets
from collections.abc import Iterable
from datetime import timedelta

from django.db import transaction

from banks import errors, seams
from banks.access import Principal, bank_for, parse_scopes
from banks.access import Role as _Role
from banks.models import AccessToken

PREFIX = "mc_"
SECRET_BYTES = 32
SHOWN_CHARACTERS = 8
DEFAULT_DAYS = 90
NAME_LENGTH = 100


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
    if not principal.is_admin and owner_id != principal.user_id:
        raise errors.Forbidden("Tokens of others are made by an instance admin.")
    if not name.strip() or len(name) > NAME_LENGTH:
        raise errors.Invalid(f"A token's name has 1 to {NAME_LENGTH} characters.", loc="name")
    if days is not None and days < 1:
        raise errors.Invalid("A token lives for one day at least.", loc="days")
    chosen = parse_scopes(scopes)
    if not chosen:
        raise errors.Invalid("A token needs at least one scope.", loc="scopes")
    limited = None if banks is None else [bank_for(principal, b, _Role.VIEWER) for b in banks]
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


def listed(principal: Principal) -> list[AccessToken]:
    """The caller's tokens, all of them for an instance admin, newest first."""
    rows = AccessToken.objects.order_by("-created_at", "-pk")
    return list(rows if principal.is_admin else rows.filter(owner_id=principal.user_id))


def revoke(principal: Principal, token_id: int) -> None:
    """End a token at once. Raises NotFound for one that the caller may not see."""
    for token in listed(principal):
        if token.pk == token_id:
            AccessToken.objects.filter(pk=token_id, revoked_at=None).update(revoked_at=seams.now())
            return
    raise errors.NotFound
