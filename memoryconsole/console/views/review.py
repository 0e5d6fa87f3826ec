"""What waits for a person in a bank, and what can be decided about it."""

from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from banks import errors, queries
from banks.services import Bank
from memoryconsole.console import htmx, review, telling
from memoryconsole.console.context import (
    SeeOther,
    page,
    person,
    place,
    rail,
    safe_next,
    takes_writes,
    waiting,
)
from memoryconsole.console.forms import plain
from memoryconsole.console.pages import signed_in
from memoryconsole.console.review import STATES, WAITING, Refused, Wanted
from memoryconsole.console.views import runs
from memoryconsole.errors import status_of
from recall.learning import proposals
from recall.learning.proposals import Proposed
from recall.services import LEARNED

TEMPLATE = "console/review.html"
NOT_HERE = "There is no such proposal in this bank."


@signed_in("GET")
def index(request: HttpRequest, bank: str) -> HttpResponse:
    """What waits, or what became of the rest."""
    return _page(request, runs.maintained(request, bank))


@signed_in("GET")
def everywhere(request: HttpRequest) -> HttpResponse:
    """What waits in all banks that one maintains, the oldest first."""
    return _everywhere(request)


@signed_in("POST")
def accept(request: HttpRequest, bank: str, uid: str) -> HttpResponse:
    """Do what is proposed, in other words if some are sent."""
    opened = runs.maintained(request, bank)
    _check(request, opened, uid)
    text = plain(request.POST["text"]) if "text" in request.POST else None
    before = _learned(opened)
    try:
        accepted = proposals.accept(person(request), uid, text=text)
    except (errors.Invalid, errors.Conflict) as error:
        if text is None:
            messages.error(request, error.message)
            return _back(request, bank)
        refused = Refused(
            uid=uid, text=text, message=_message(error), status=status_of(type(error))
        )
        return _again(request, opened, refused)
    _tell(request, opened, accepted, before)
    return _back(request, bank)


@signed_in("POST")
def reject(request: HttpRequest, bank: str, uid: str) -> HttpResponse:
    """Leave everything as it is."""
    opened = runs.maintained(request, bank)
    _check(request, opened, uid)
    with telling.refusals_told(request):
        proposals.reject(person(request), uid, reason=request.POST.get("reason"))
        messages.success(request, "Rejected. The same is not proposed again.")
    return _back(request, bank)


def _check(request: HttpRequest, opened: Bank, uid: str) -> None:
    """Raise ProposalNotFound for one of another bank as for one that is none."""
    try:
        bank = proposals.one(person(request), uid).bank
    except errors.ProposalNotFound:
        bank = ""
    if bank != opened.name:
        raise errors.ProposalNotFound(NOT_HERE)


def _page(request: HttpRequest, opened: Bank, refused: Refused | None = None) -> HttpResponse:
    wanted, principal = _wanted(request, refused), person(request)
    found, following = proposals.listed(principal, opened, state=wanted.state, after=wanted.after)
    counts, banks = proposals.counts(opened), {opened.name: opened}
    values: dict[str, Any] = {
        "review": review.reviewed(found, following, counts, wanted, banks),
        "last": None if found else runs.latest(principal, opened),
        "place": place(request, opened.name),
        "home": reverse("review", args=[opened.name]),
    }
    return _shown(request, values, refused)


def _everywhere(request: HttpRequest, refused: Refused | None = None) -> HttpResponse:
    wanted, counts = replace(_wanted(request, refused), state=WAITING), waiting(request)
    found, following = proposals.listed(person(request), after=wanted.after)
    banks = {name: runs.maintained(request, name) for name in {each.bank for each in found}}
    total = {WAITING: sum(counts.values())}
    values: dict[str, Any] = {
        "review": review.reviewed(found, following, total, wanted, banks),
        "held": [each.name for each in rail(request) if not takes_writes(each)],
        "home": reverse("review_all"),
        "at": "review",
    }
    return _shown(request, values, refused)


def _wanted(request: HttpRequest, refused: Refused | None) -> Wanted:
    state = request.GET.get("state", WAITING)
    return Wanted(
        state=state if state in STATES else WAITING,
        shown=htmx.count(request.GET.get("shown", ""), digits=runs.DIGITS),
        after=request.GET.get("after"),
        refused=refused,
    )


def _shown(request: HttpRequest, values: dict[str, Any], refused: Refused | None) -> HttpResponse:
    if refused:
        values["here"] = safe_next(request, values["home"])
    status = refused.status if refused else 200
    return page(request, TEMPLATE, values, status, parts=htmx.parts(TEMPLATE, "page"))


def _again(request: HttpRequest, opened: Bank, refused: Refused) -> HttpResponse:
    """The page that the form was on, with the words that were not taken."""
    run = request.POST.get("run")
    if run:
        return runs.told(request, opened, run, refused)
    there = urlsplit(safe_next(request, "")).path
    return (
        _everywhere(request, refused)
        if there == reverse("review_all")
        else _page(request, opened, refused)
    )


def _message(error: errors.DomainError) -> str:
    """What is said; of an invalid text what is wrong with it."""
    details = error.details if isinstance(error, errors.Invalid) else ()
    return " ".join(each.message for each in details) or error.message


def _learned(opened: Bank) -> str:
    """The version of the rule that takes lines; `""` while there is none."""
    found = (each.version for each in queries.rules(opened) if each.name == LEARNED)
    return next(found, "")


def _tell(request: HttpRequest, opened: Bank, accepted: Proposed, before: str) -> None:
    """Tell of it, with its Undo, or with a link to the run that takes it back."""
    if accepted.run:
        there = reverse("run", args=[opened.name, accepted.run])
        said = "Accepted. To take it back, take back its run."
        messages.success(request, said, extra_tags=f"{telling.LINK} {there}")
        return
    after = _learned(opened)
    if after == before:
        messages.success(request, "Accepted. The rule had this line already.")
        return
    said = "Accepted. Running sessions are told with their next turn."
    telling.tell_done(request, opened, LEARNED, after, said=said)


def _back(request: HttpRequest, bank: str) -> SeeOther:
    return SeeOther(safe_next(request, reverse("review", args=[bank])))
