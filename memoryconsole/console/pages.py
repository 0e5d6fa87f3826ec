"""The fence around every page: sign-in first, and a refusal by the core becomes a page."""

import logging
from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec
from urllib.parse import urlencode

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from banks import access, errors
from banks.access import Role
from banks.services import members
from banks.store.errors import StoreError
from memoryconsole.console import context, htmx
from memoryconsole.console.forms import SignInForm
from memoryconsole.errors import status_of, translated

logger = logging.getLogger(__name__)

SESSION_ENDED = "Your session has ended, so nothing was done. Sign in in another tab, then reload."
OUT_OF_DATE = (
    "This page is from another session, so nothing was done. Copy what you typed, then reload."
)

FORBIDDEN = 403
NO_BANK = "There is no bank of that name."

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, P], HttpResponse]


def signed_in(*methods: str) -> Callable[[View[P]], View[P]]:
    """A view for people who are signed in, answering these methods only."""

    def wrap(view: View[P]) -> View[P]:
        @never_cache
        @require_http_methods(["HEAD", *methods] if "GET" in methods else [*methods])
        def call(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
            try:
                context.person(request)  # before a view can refuse anything else
                return view(request, *args, **kwargs)
            except errors.Unauthenticated:
                return _sign_in_first(request)
            except (errors.DomainError, StoreError) as error:
                return refusal(request, translated(error))
            except (OperationalError, InterfaceError) as error:
                logger.warning("page without database", exc_info=error)
                return context.bare_page(request, "503.html", {}, status=503)

        update_wrapper(call, view)
        return call

    return wrap


def _sign_in_first(request: HttpRequest) -> HttpResponse:
    """To the sign-in page; what somebody typed while the session ended is handed back. A part of a
    page stays as it is, and says so."""
    sentence = htmx.sentence(request, SESSION_ENDED, 401)
    if sentence is not None:
        return sentence
    if request.method == "POST" and request.POST.get("text"):
        values = {"typed": request.POST["text"], "next": request.path, "form": SignInForm()}
        return context.bare_page(request, "registration/sign_in.html", values, status=403)
    wanted = request.get_full_path() if request.method == "GET" else "/"
    query = "" if wanted == "/" else f"?{urlencode({'next': wanted})}"
    return context.SeeOther(f"{settings.LOGIN_URL}{query}")


def out_of_date(request: HttpRequest, reason: str = "") -> HttpResponse:
    """What a form without the token of this session gets: it was opened in another one."""
    sentence = htmx.sentence(request, OUT_OF_DATE, 403)
    if sentence is not None:
        return sentence
    values = {"typed": request.POST.get("text", "")}
    return context.bare_page(request, "403_csrf.html", values, status=403)


def _message(request: HttpRequest, error: errors.DomainError) -> str:
    """What is said; the next step that the core names is left out for whom it is none."""
    if isinstance(error, errors.BankNotFound) and not context.person(request).may_create_banks:
        return NO_BANK
    return error.message


def _who_can_help(request: HttpRequest) -> dict[str, Any]:
    """At an address of a bank that one may see a role was missing, which its owners can give;
    elsewhere only instance admins may."""
    match = request.resolver_match
    name = match.kwargs.get("bank", "") if match else ""
    name = name or request.POST.get("bank", "")
    try:
        bank = access.bank_for(context.person(request), name, Role.VIEWER)
    except errors.BankNotFound:
        return {"is_of_bank": False}
    return {"is_of_bank": True, "owners": members.owners(bank)}


def refusal(request: HttpRequest, error: errors.DomainError) -> HttpResponse:
    """The page of a refusal, or its one sentence for a part of a page. An unknown and a forbidden
    bank give the same one."""
    status, message = status_of(type(error)), _message(request, error)
    sentence = htmx.sentence(request, message, status)
    if sentence is not None:
        return sentence
    values = {"status": status, "message": message, "typed": request.POST.get("text", "")}
    if status == FORBIDDEN:
        values |= _who_can_help(request)
    response = context.page(request, "console/refusal.html", values, status=status)
    if isinstance(error, errors.Unavailable | errors.TooMany):
        response.headers["Retry-After"] = str(error.retry_after_s)
    return response
