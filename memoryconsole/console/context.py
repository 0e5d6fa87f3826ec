"""What every page needs to know: who looks, which banks there are, which theme was chosen."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.utils.http import url_has_allowed_host_and_scheme

from banks import access, auth, findings, queries
from banks.access import Principal, Role, Scope
from banks.services import Bank, members, opening
from memoryconsole.console import htmx
from recall.learning import proposals

THEMES = ("light", "dark")
THEME_COOKIE = "theme"
BANK_COOKIE = "bank"
COOKIE_AGE_S = 365 * 24 * 3600
SEE_OTHER = 303
_RAIL = "_memoryconsole_rail"
_WAITING = "_memoryconsole_waiting"


class SeeOther(HttpResponseRedirect):
    """After a change: the browser asks for the next page with GET."""

    status_code = SEE_OTHER


@dataclass(frozen=True, slots=True)
class Place:
    """A bank as one person sees it. `may_write`, `may_set_rules`: the role reaches for memories,
    for rules, and the bank takes writes. `may_review`: it reaches for runs and what they propose,
    of which `waiting()` wait; `may_decide`: and the bank takes writes. `may_accept`: its hold can
    be ended by taking what is on disk, and the role reaches for that. `may_manage`: it reaches for
    roles of others. `owners` can give another role to somebody below a maintainer; to others they
    are not told here."""

    summary: queries.Summary
    role: Role
    role_name: str
    may_write: bool
    may_set_rules: bool
    may_manage: bool
    may_accept: bool
    may_review: bool
    may_decide: bool
    waiting: Callable[[], int]
    owners: tuple[str, ...] = ()

    @property
    def accept_fields(self) -> tuple[tuple[str, str], ...]:
        """What the form that ends the hold sends."""
        return (("bank", self.name),)

    @property
    def name(self) -> str:
        """The bank's name."""
        return self.summary.name

    @property
    def is_reader(self) -> bool:
        """Whether this person can only read here."""
        return self.role is Role.VIEWER

    @property
    def is_below_maintainer(self) -> bool:
        """Whether this person can only read the rules here."""
        return self.role < Role.MAINTAINER


def role_name(role: Role, own: Role | None) -> str:
    """The role in a word; `own`: the one as a member, where an instance admin reaches further."""
    return role.name.lower() if role is own else "instance admin"


def person(request: HttpRequest) -> Principal:
    """The signed-in person. Raises Unauthenticated."""
    return auth.principal_of(request.user)


def rail(request: HttpRequest) -> list[queries.Summary]:
    """Every bank that this person may see, by name, counted once a request."""
    found: list[queries.Summary] | None = getattr(request, _RAIL, None)
    if found is None:
        found = queries.summaries(person(request))
        setattr(request, _RAIL, found)
    return found


def waiting(request: HttpRequest) -> dict[str, int]:
    """How many proposals wait in each bank that this person maintains, counted once a request."""
    found: dict[str, int] | None = getattr(request, _WAITING, None)
    if found is None:
        found = proposals.waiting(person(request))
        setattr(request, _WAITING, found)
    return found


def _waiting_in(request: HttpRequest, bank: str) -> int:
    return waiting(request).get(bank, 0)


def _waiting_anywhere(request: HttpRequest) -> int:
    return sum(waiting(request).values())


def _summary(request: HttpRequest, bank: Bank) -> queries.Summary:
    """The bank's counts; those of the rail where that is shown too."""
    if htmx.target(request):
        return queries.summary(bank)
    return next((x for x in rail(request) if x.name == bank.name), None) or queries.summary(bank)


def takes_writes(summary: queries.Summary) -> bool:
    """Whether a bank can be changed now by who may."""
    return not (summary.hold or findings.disk_trouble())


def place(request: HttpRequest, name: str) -> Place:
    """The bank as this person sees it. Raises BankNotFound."""
    principal = person(request)
    bank = access.bank_for(principal, name, Role.VIEWER)
    summary = _summary(request, bank)
    role = access.role_in(principal, bank) or Role.VIEWER
    may = access.reaches(principal, role, Role.EDITOR, Scope.MEMORY_WRITE)
    may_set_rules = access.reaches(principal, role, Role.MAINTAINER, Scope.RULES_WRITE)
    may_review = access.reaches(principal, role, Role.MAINTAINER, Scope.RUNS_RUN)
    is_open = takes_writes(summary)
    own = members.own(principal).get(name) if principal.is_admin else role
    return Place(
        summary,
        role,
        role_name(role, own),
        may_write=may and is_open,
        may_set_rules=may_set_rules and is_open,
        may_review=may_review,
        may_decide=may_review and is_open,
        # A part of a page without the tabs does not ask.
        waiting=partial(_waiting_in, request, bank.name),
        may_accept=role is Role.OWNER and opening.can_be_accepted(summary.hold),
        may_manage=access.reaches(principal, role, Role.OWNER, Scope.ADMIN),
        owners=tuple(members.owners(bank)) if role < Role.MAINTAINER else (),
    )


def theme(request: HttpRequest) -> str:
    """The chosen theme; `""` follows the system."""
    chosen = request.COOKIES.get(THEME_COOKIE, "")
    return chosen if chosen in THEMES else ""


def page(
    request: HttpRequest,
    template: str,
    values: dict[str, Any],
    status: int = 200,
    *,
    parts: Mapping[str, str] | None = None,
) -> HttpResponse:
    """A page within the frame, or the one of its `parts` that htmx asked for: see `htmx.part`."""
    principal = person(request)
    match = request.resolver_match
    common = {
        "here": htmx.here(request),
        "is_admin": principal.is_admin,
        "review_count": partial(_waiting_anywhere, request),
    } | values
    part = htmx.part(request, parts or {})
    if part:
        response = render(request, "console/part.html", common | {"part": part}, status=status)
    else:
        trouble = findings.disk_trouble()
        frame = {
            "theme": theme(request),
            "htmx_config": htmx.CONFIG,
            "rail": rail(request),
            "reviews": waiting(request),
            "disk_trouble": trouble,
            "may_create_banks": principal.may_create_banks and not trouble,
            "reader": request.user.get_username(),
            "about_rules": match is not None and "rule" in (match.url_name or ""),
        }
        response = render(request, template, frame | common, status=status)
    patch_vary_headers(response, ("HX-Request", "HX-Target"))
    return response


def bare_page(
    request: HttpRequest, template: str, values: dict[str, Any], status: int = 200
) -> HttpResponse:
    """A page without the frame, for somebody who is not signed in."""
    return render(request, template, {"theme": theme(request)} | values, status=status)


def safe_next(request: HttpRequest, fallback: str) -> str:
    """Where to go on after a form: at the address that a script sees, else where the form wants,
    if that is one of our own pages; without what it points at on the page."""
    wanted = htmx.seen(request) or request.POST.get("next") or request.GET.get("next") or ""
    if wanted.startswith("/") and url_has_allowed_host_and_scheme(wanted, allowed_hosts=None):
        return wanted.partition("#")[0]
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
