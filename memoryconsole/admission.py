"""Who is let in to the API, and with what: credential, size of the body, names in the address."""

import json
import math
from collections.abc import Callable
from typing import Any, NoReturn

from django.conf import settings
from django.contrib import auth as django_auth
from django.http import HttpRequest
from ninja.parser import Parser
from ninja.security import APIKeyCookie, HttpBearer
from ninja.utils import check_csrf

from banks import auth, errors
from banks.access import Principal
from banks.store.redact import mask
from memoryconsole import bodies, throttle
from memoryconsole.errors import NEVER_FAILING, CsrfFailed
from memoryconsole.middleware import session_is_over

BODY_BYTES = 1024 * 1024
LARGE_BODY_BYTES = 16 * 1024 * 1024
LARGE = frozenset({"save_memories", "pre_generate", "turn_completed"})
TOLERANT = NEVER_FAILING | {"turn_completed"}
"""Calls that hand on messages of others, which may hold what only some readers take."""
DEPTH = 32

_TOKEN_NAMES = frozenset({"token", "access_token", "api_key"})

KnownNames = Callable[[HttpRequest], frozenset[str]]
"""The query parameters that the call of a request takes."""


def admit(request: HttpRequest, known: KnownNames) -> None:
    """Raise for a call that is refused before it is looked at further.

    An unknown parameter is refused, not ignored: a filter that nobody applied would look applied.
    """
    match = request.resolver_match
    large = match is not None and match.url_name in LARGE
    limit = LARGE_BODY_BYTES if large else BODY_BYTES
    bodies.check(request, limit)
    for name in request.GET:
        if name not in known(request):
            raise errors.Invalid("This call takes no such parameter.", loc=mask(name).text[:64])
        if any("\0" in value for value in request.GET.getlist(name)):
            raise errors.Invalid("A parameter cannot hold a NUL character.", loc=name)


def refuse_token_in_address(request: HttpRequest) -> None:
    """Addresses end up in logs and histories, so a token in one is refused, valid or not."""
    if not _TOKEN_NAMES.isdisjoint(request.GET):
        raise errors.Unauthenticated("Send the token as a header: Authorization: Bearer <token>.")


class BearerToken(HttpBearer):
    """An API token in the Authorization header. With that header no session counts."""

    def __init__(self, known: KnownNames) -> None:
        super().__init__()
        self.known = known

    def __call__(self, request: HttpRequest) -> Principal | None:
        refuse_token_in_address(request)
        given = request.headers.get("Authorization")
        if given is None:
            return None
        scheme, _, secret = given.partition(" ")
        try:
            if scheme.lower() != "bearer":
                raise errors.Unauthenticated
            principal = self.authenticate(request, secret.strip())
        except errors.Unauthenticated:
            throttle.refuse_wrong_token(request.META.get("REMOTE_ADDR", ""))
            raise
        throttle.spend(principal)
        admit(request, self.known)
        return principal

    def authenticate(self, request: HttpRequest, token: str) -> Principal:
        return auth.principal_of_token(token)


class SignedIn(APIKeyCookie):
    """A browser's session. Every write, JSON too, has to carry the CSRF token."""

    param_name = settings.SESSION_COOKIE_NAME

    def __init__(self, known: KnownNames) -> None:
        super().__init__(csrf=True)
        self.known = known

    def __call__(self, request: HttpRequest) -> Principal:
        principal = self.authenticate(request, None)
        if check_csrf(request) is not None:
            raise CsrfFailed
        admit(request, self.known)
        return principal

    def authenticate(self, request: HttpRequest, key: str | None) -> Principal:
        return auth.principal_of(request.user)


def session_again(request: HttpRequest) -> Principal:
    """The person of a session, as of now. Raises Unauthenticated when it is over."""
    request.session = type(request.session)(request.session.session_key)
    if session_is_over(request.session):
        raise errors.Unauthenticated
    request.user = django_auth.get_user(request)
    return auth.principal_of(request.user)


class StrictJson(Parser):
    """JSON as other programs read it: UTF-8, no NaN, bounded depth, no half characters.

    But for the calls of a turn: those take what only some readers take, in what they pass over.
    """

    def parse_body(self, request: HttpRequest) -> Any:
        match = request.resolver_match
        try:
            if match is not None and match.url_name in TOLERANT:
                return bodies.tolerant(request.body)
            value = json.loads(
                request.body.decode(),
                parse_constant=_refuse,
                parse_float=_finite,
                object_pairs_hook=_each_once,
            )
        except (ValueError, RecursionError) as error:
            raise errors.Invalid("The body is not JSON in UTF-8.", loc="body") from error
        _check(value)
        return value


def _refuse(word: str) -> NoReturn:
    raise ValueError(word)


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError("too large")
    return value


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        # Which one counts is not said anywhere, so readers differ.
        raise errors.Invalid("The body names a field twice.", loc="body")
    return found


def _check(value: object) -> None:
    """Raise Invalid for what a database or a file could not hold."""
    todo: list[tuple[object, int]] = [(value, 1)]
    while todo:
        each, depth = todo.pop()
        if depth > DEPTH:
            raise errors.Invalid(f"The body is nested deeper than {DEPTH} levels.", loc="body")
        if isinstance(each, str):
            if any("\ud800" <= character <= "\udfff" for character in each):
                raise errors.Invalid("The body holds half a character.", loc="body")
        elif isinstance(each, dict):
            todo += [(part, depth + 1) for pair in each.items() for part in pair]
        elif isinstance(each, list):
            todo += [(part, depth + 1) for part in each]
