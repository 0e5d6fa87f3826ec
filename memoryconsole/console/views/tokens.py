"""API tokens: the list, a new one, and the end of one."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.debug import sensitive_variables

from banks import errors
from banks.services import tokens as service
from memoryconsole.console import htmx, tokens
from memoryconsole.console.context import SeeOther, page, person, safe_next
from memoryconsole.console.pages import signed_in
from memoryconsole.console.tokens import TokenForm

TOKENS = "console/tokens.html"
MADE = "tokens_made"
"""Where the session keeps which forms have made a token, the last few: a form makes one only."""
KEPT = 20
_DIGITS = 18


@signed_in("GET", "POST")
def index(request: HttpRequest) -> HttpResponse:
    """The list, and a new token. Its secret is in the answer to the form and nowhere else."""
    if request.method == "POST":
        return _make(request)
    return _page(request, _new_form(request))


def _new_form(request: HttpRequest) -> TokenForm:
    return TokenForm(person(request), initial={"once": uuid.uuid4().hex})


@sensitive_variables("made", "secret")
def _make(request: HttpRequest) -> HttpResponse:
    """Make it, and show its secret; the same form sent again makes no second one."""
    principal = person(request)
    form = TokenForm(principal, request.POST)
    once, before = request.POST.get("once", ""), request.session.get(MADE, [])
    if once in before:
        messages.info(request, "That token was made already. Its secret was shown once.")
        return SeeOther(f"{reverse('tokens')}#list")
    made = form.make(principal)
    if made is None:
        return _page(request, form)
    request.session[MADE] = [*before, once][-KEPT:]
    token, secret = made
    messages.success(request, f"Token {token.name} made.")
    return _page(request, _new_form(request), token=token, secret=secret)


@sensitive_variables("values", "secret")
def _page(
    request: HttpRequest,
    form: TokenForm,
    *,
    token: service.Token | None = None,
    secret: str = "",
) -> HttpResponse:
    principal, root = person(request), request.build_absolute_uri("/")
    values = {
        "form": form,
        "rows": tokens.rows(principal),
        "token": token,
        "secret": secret,
        "try_line": tokens.try_line(principal, token, secret, root) if token else "",
        "api": f"{root}api/v1/",
        "at": "tokens",
    }
    return page(request, TOKENS, values, form.status, parts=htmx.parts(TOKENS, "page"))


@signed_in("POST")
def revoke(request: HttpRequest) -> HttpResponse:
    """End a token at once."""
    wanted = request.POST.get("token", "")
    if not (wanted.isascii() and wanted.isdecimal() and len(wanted) <= _DIGITS):
        raise errors.NotFound
    service.revoke(person(request), int(wanted))
    messages.success(request, "Revoked. Calls with that token are refused from now on.")
    return SeeOther(f"{safe_next(request, reverse('tokens'))}#list")
