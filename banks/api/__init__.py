"""The calls of the HTTP API about banks: a few lines each, no rule of their own."""

import hashlib

from django.http import HttpRequest

from banks import auth, errors
from banks.access import Principal
from banks.services import Idempotency, sessions

KEY_HEADER = "Idempotency-Key"
KEY_LENGTH = 255
SESSION_HEADER = "X-Session-Id"


class Request(HttpRequest):
    """A request that was let in: `auth` is who asks."""

    auth: Principal


def bank_named(request: Request, name: str | None, session_id: str | None = None) -> str | None:
    """The bank that a call names, else that of the calling session; None for the default one.

    Raises BankNotFound when the bank of the session is in the trash.
    """
    session = session_id or session_named(request)
    if name is not None or not session:
        return name
    return sessions.bank_of(request.auth, session)


def as_addressed(addressed: str, said: str | None, *, loc: str = "id") -> None:
    """Raise Invalid for a body that names something else than the address of the call."""
    if said is not None and said != addressed:
        raise errors.Invalid("The address of the call names another one.", loc=loc)


def session_named(request: HttpRequest) -> str | None:
    """The calling session, when the headers of a call name one."""
    return request.headers.get(SESSION_HEADER) or None


def idempotency(request: Request) -> Idempotency | None:
    """The caller's idempotency key with what it stands for. Raises Invalid for an unusable one."""
    key = request.headers.get(KEY_HEADER)
    if key is None:
        return None
    if not 0 < len(key) <= KEY_LENGTH or not key.isascii() or not key.isprintable():
        raise errors.Invalid(
            f"{KEY_HEADER} takes 1 to {KEY_LENGTH} printable ASCII characters.", loc=KEY_HEADER
        )
    session = session_named(request) or ""  # it may say which bank is meant
    asked = f"{request.method} {request.get_full_path()}\n{session}\n".encode()
    digest = hashlib.sha256(asked + request.body).hexdigest()
    return Idempotency(auth.idempotency_owner(request.auth), key, digest)


KEYED = {
    "parameters": [
        {
            "in": "header",
            "name": KEY_HEADER,
            "required": False,
            "schema": {"type": "string", "minLength": 1, "maxLength": KEY_LENGTH},
            "description": "The same key with the same call answers the first result again, "
            "for 24 hours.",
        }
    ]
}
"""For `openapi_extra` of a call that takes an idempotency key."""
