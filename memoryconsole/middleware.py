"""What wraps every request: its id, the headers that fence a page in, the end of a session."""

import logging
import secrets
import time
from collections.abc import Callable

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest, HttpResponse

from banks import config
from banks.journal import request_id as journal_request_id
from banks.store.redact import mask
from memoryconsole import logs

logger = logging.getLogger(__name__)

GetResponse = Callable[[HttpRequest], HttpResponse]

_ID_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")
_ID_MAX = 64
_STARTED_KEY = "started_at"
_SEEN_KEY = "seen_at"
_SEEN_STEP_S = 3600


def _policy(style_src: str) -> str:
    return "; ".join(
        [
            "default-src 'none'",
            "script-src 'self'",
            f"style-src {style_src}",
            "img-src 'self' data:",
            "font-src 'self'",
            "connect-src 'self'",
            "form-action 'self'",
            "base-uri 'none'",
            "frame-ancestors 'none'",
        ]
    )


CONTENT_SECURITY_POLICY = _policy("'self'")
ADMIN_CONTENT_SECURITY_POLICY = _policy("'self' 'unsafe-inline'")
"""Django's admin writes styles into its pages and lets its scripts set some."""
PERMISSIONS_POLICY = ", ".join(
    f"{feature}=()"
    for feature in ("camera", "display-capture", "geolocation", "microphone", "payment", "usb")
)


def sane_request_id(value: str) -> bool:
    """Whether a caller's id may be taken over: 1..64 of letters, digits, `-`, `_`, `.`, and no
    secret, since it is kept and told."""
    is_short = 0 < len(value) <= _ID_MAX
    return is_short and _ID_CHARS.issuperset(value) and not mask(value).labels


class RequestContext:
    """Gives the request an id, which journal, log and answer carry, and logs its outcome."""

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get("X-Request-Id", "")
        request_id = given if sane_request_id(given) else secrets.token_hex(8)
        journal_token = journal_request_id.set(request_id)
        logs_token = logs.context.set({"request_id": request_id})
        start = time.perf_counter()
        try:
            with config.once():
                response = self.get_response(request)
            response.headers["X-Request-Id"] = request_id
            # The route, not the path: a path may hold an id, a name or a one-time link.
            route = request.resolver_match.route if request.resolver_match else "-"
            logger.info(
                "request done method=%s route=/%s status=%d ms=%.1f",
                request.method,
                route,
                response.status_code,
                (time.perf_counter() - start) * 1000,
            )
            return response
        finally:
            logs.context.reset(logs_token)
            journal_request_id.reset(journal_token)


class SecurityHeaders:
    """Content Security Policy and Permissions-Policy; a view may set a policy of its own.

    `nosniff`, Referrer-Policy and X-Frame-Options come from Django's own middleware.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", CONTENT_SECURITY_POLICY)
        response.headers.setdefault("Permissions-Policy", PERMISSIONS_POLICY)
        return response


def session_is_over(session: SessionBase) -> bool:
    """Whether a browser session is too old, or was not used for too long."""
    now = int(time.time())
    started, seen = session.get(_STARTED_KEY, now), session.get(_SEEN_KEY, now)
    return bool(now - started > settings.SESSION_COOKIE_AGE or now - seen > settings.SESSION_IDLE_S)


class SessionExpiry:
    """Ends a browser session that is too old, or that nobody used for a while.

    SESSION_COOKIE_AGE counts from the first request of the session (the row's own expiry moves
    with each write), SESSION_IDLE_S from the last one. The time of the last use is written once
    an hour at most: reading pages costs no commit.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # Without the cookie (every call with a token) the session is not even looked at.
        if settings.SESSION_COOKIE_NAME in request.COOKIES and not request.session.is_empty():
            self._look(request.session, int(time.time()))
        return self.get_response(request)

    def _look(self, session: SessionBase, now: int) -> None:
        if session_is_over(session):
            session.flush()
        elif _SEEN_KEY not in session or now - session[_SEEN_KEY] >= _SEEN_STEP_S:
            session.setdefault(_STARTED_KEY, now)
            session[_SEEN_KEY] = now
