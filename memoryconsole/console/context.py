"""What every page needs to know: who looks, which banks there are, which theme was chosen."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme

from banks import access, auth, queries
from banks.access import Principal, Role, Scope

THEMES = ("light", "dark")
THEME_COOKIE = "theme"
BANK_COOKIE = "bank"
COOKIE_AGE_S = 365 * 24 * 3600
SEE_OTHER = 303


class SeeOther(HttpResponseRedirect):
    """After a change: the browser asks for the next page with GET."""

    status_code = SEE_OTHER


@dataclass(frozen=True, slots=True)
class Place:
    """A bank as one person sees it. `may_write`: the role reaches and the bank takes writes."""

    summary: queries.Summary
    role: Role
    may_write: bool

    @property
    def name(self) -> str:
        """The bank's name."""
        return self.summary.name

    @property
    def role_name(self) -> str:
        """The role in a word."""
        return self.role.name.lower()

    @property
    def is_reader(self) -> bool:
        """Whether this person can only read here."""
        return self.role is Role.VIEWER


def person(request: HttpRequest) -> Principal:
    """The signed-in person. Raises Unauthenticated."""
    return auth.principal_of(request.user)


def place(principal: Principal, name: str) -> Place:
    """The bank as this person sees it. Raises BankNotFound."""
    bank = access.bank_for(principal, name, Role.VIEWER)
    summary = queries.summary(bank)
    role = access.role_in(principal, bank) or Role.VIEWER
    may = access.can(principal, bank, Role.EDITOR, Scope.MEMORY_WRITE)
    return Place(summary, role, may_write=may and not summary.hold)


def theme(request: HttpRequest) -> str:
    """The chosen theme; `""` follows the system."""
    chosen = request.COOKIES.get(THEME_COOKIE, "")
    return chosen if chosen in THEMES else ""


def page(
    request: HttpRequest, template: str, values: dict[str, Any], status: int = 200
) -> HttpResponse:
    """A page within the frame: with the rail of banks."""
    principal = person(request)
    frame = {
        "theme": theme(request),
        "rail": queries.summaries(principal),
        "may_create_banks": principal.may_create_banks,
        "reader": request.user.get_username(),
        "here": request.get_full_path() if request.method == "GET" else request.path,
    }
    return render(request, template, frame | values, status=status)


def bare_page(
    request: HttpRequest, template: str, values: dict[str, Any], status: int = 200
) -> HttpResponse:
    """A page without the frame, for somebody who is not signed in."""
    return render(request, template, {"theme": theme(request)} | values, status=status)


def safe_next(request: HttpRequest, fallback: str) -> str:
    """Where the form wants to go on, if that is one of our own pages."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    if wanted.startswith("/") and url_has_allowed_host_and_scheme(wanted, allowed_hosts=None):
        return wanted
    return fallback


def keep(response: HttpResponse, name: str, value: str) -> None:
    """Remember a choice in this browser; an empty one is forgotten."""
    if not value:
        response.delete_cookie(name, samesite="Lax")
        return
    response.set_cookie(
        name,
        value,
        max_age=COOKIE_AGE_S,
        httponly=True,
        samesite="Lax",
        secure=settings.SESSION_COOKIE_SECURE,
    )
