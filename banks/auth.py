"""From a credential to a principal: sign-in link, session, API token."""

import hashlib
import secrets
from datetime import timedelta

from django.contrib.auth import get_user_model
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser, User
from django.db import transaction
from django.db.models import QuerySet

from banks import errors, seams
from banks.access import Principal, Scope
from banks.models import AccessToken, Bank, SetupLink
from banks.services import people, tokens

SETUP_LIFETIME = timedelta(hours=24)


def make_setup_token() -> str:
    """The secret of a new one-time sign-in link. Older unused links stop working."""
    now, secret = seams.now(), secrets.token_urlsafe(32)
    with transaction.atomic():
        SetupLink.objects.filter(used_at=None).delete()
        SetupLink.objects.create(
            digest=tokens.digest(secret), created_at=now, expires_at=now + SETUP_LIFETIME
        )
    return secret


def needs_setup() -> bool:
    """Whether nobody has an account yet."""
    return not get_user_model().objects.exists()


def is_setup_token(secret: str) -> bool:
    """Whether this link can still be used; looking does not use it up."""
    return needs_setup() and _open_links(secret).exists()


def _open_links(secret: str) -> QuerySet[SetupLink]:
    return SetupLink.objects.filter(
        digest=tokens.digest(secret), used_at=None, expires_at__gt=seams.now()
    )


def use_setup_token(secret: str, username: str, password: str) -> User:
    """Make the instance admin and use the link up. Raises NotFound (used, expired, unknown) and
    Invalid (name or password)."""
    user = people.account(username, password, is_admin=True)
    with transaction.atomic():
        used = _open_links(secret).update(used_at=seams.now())
        if not used or not needs_setup():
            raise errors.NotFound("This sign-in link was used or has expired.")
        user.save()
    return user


def principal_of(user: AbstractBaseUser | AnonymousUser) -> Principal:
    """The principal of a signed-in person. Raises Unauthenticated."""
    if not isinstance(user, User) or not user.is_active:
        raise errors.Unauthenticated
    return Principal(
        handle=f"user:{user.get_username()}", user_id=user.pk, is_admin=user.is_superuser
    )


def principal_of_token(secret: str) -> Principal:
    """The principal of an API token; it never exceeds its owner. Raises Unauthenticated."""
    return _principal(AccessToken.objects.filter(digest=tokens.digest(secret)))


def principal_again(*, token_id: int | None, user_id: int | None) -> Principal:
    """Whoever asked for something that is done later, as of now: the token, else the person.

    Raises Unauthenticated.
    """
    if token_id is not None:
        return _principal(AccessToken.objects.filter(pk=token_id))
    user = User.objects.filter(pk=user_id).first() if user_id is not None else None
    return principal_of(user or AnonymousUser())


def _principal(found: QuerySet[AccessToken]) -> Principal:
    token = found.filter(revoked_at=None).select_related("owner").first()
    if token is None or (token.expires_at is not None and token.expires_at <= seams.now()):
        raise errors.Unauthenticated
    owner = token.owner
    if owner is not None and not owner.is_active:
        raise errors.Unauthenticated
    bank_ids = None
    if not token.every_bank:
        bank_ids = frozenset(Bank.objects.filter(tokens=token).values_list("pk", flat=True))
    return Principal(
        handle=f"token:{token.name}",
        user_id=token.owner_id,
        token_id=token.pk,
        is_admin=owner is None or owner.is_superuser,
        scopes=frozenset(Scope(value) for value in token.scopes),
        bank_ids=bank_ids,
    )


def idempotency_owner(principal: Principal) -> str:
    """Whose idempotency keys these are: a hash, so that handles of any length fit."""
    plain = f"{principal.token_id}:{principal.user_id}:{principal.handle}"
    return hashlib.sha256(plain.encode()).hexdigest()
