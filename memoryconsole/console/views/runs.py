"""Runs of consolidation: the list, a new one, one run, and what can be done to it."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from banks import errors
from banks.access import Principal, Role, Scope
from banks.services import Bank, open_bank
from memoryconsole.console import htmx, runs, telling
from memoryconsole.console.context import SeeOther, page, person, place, safe_next
from memoryconsole.console.pages import signed_in
from memoryconsole.console.review import Refused
from memoryconsole.console.runs import RUNS, Line
from recall.learning import runs as service
from recall.learning.proposals import Proposed
from recall.learning.runs import Run

LIST, RUN = "console/runs.html", "console/run.html"
NOT_HERE = "There is no such run in this bank."
DIGITS = 4


@signed_in("GET", "POST")
def index(request: HttpRequest, bank: str) -> HttpResponse:
    """The runs of a bank, newest first; or begin one and go to it."""
    opened, principal = maintained(request, bank), person(request)
    if request.method == "POST":
        with telling.refusals_told(request):
            run = service.start(principal, opened, dry_run="dry_run" in request.POST)
            return SeeOther(reverse("run", args=[bank, run.id]))
        return SeeOther(reverse("runs", args=[bank]))
    after = request.GET.get("after")
    found, following = service.listed(principal, opened, limit=RUNS, after=after)
    values = {
        "lines": [Line(run) for run in found],
        "is_first": after is None,
        "following": following,
        "place": place(request, bank),
    }
    return page(request, LIST, values, parts=htmx.parts(LIST, "page"))


@signed_in("GET")
def show(request: HttpRequest, bank: str, uid: str) -> HttpResponse:
    """One run: its figures, what it did, and what waits."""
    return told(request, maintained(request, bank), uid)


@signed_in("POST")
def decide(request: HttpRequest, bank: str, uid: str) -> HttpResponse:
    """Accept or reject all that the page showed, as one operation."""
    opened = maintained(request, bank)
    _one(request, opened, uid)
    keys = request.POST.getlist("key")
    accept, reject = ([], keys) if request.POST.get("do") == "reject" else (keys, [])
    with telling.refusals_told(request):
        _, outcomes = service.apply(person(request), uid, accept=accept, reject=reject)
        messages.success(request, runs.decided(outcomes))
    return SeeOther(reverse("run", args=[bank, uid]))


@signed_in("POST")
def undo(request: HttpRequest, bank: str, uid: str) -> HttpResponse:
    """Take back all that a run wrote."""
    opened = maintained(request, bank)
    _one(request, opened, uid)
    with telling.refusals_told(request):
        try:
            service.undo(person(request), uid)
        except errors.StaleRevision as error:
            telling.tell_overtaken(request, opened, error.current)
        else:
            there = f"{reverse('audit')}?bank={bank}"
            said = "Taken back: the bank is as it was before this run, but for what came later."
            messages.success(request, said, extra_tags=f"{telling.LOG} {there}")
    return SeeOther(safe_next(request, reverse("run", args=[bank, uid])))


def told(
    request: HttpRequest, opened: Bank, uid: str, refused: Refused | None = None
) -> HttpResponse:
    """The page of a run of this bank, with the words that were not taken. Raises RunNotFound."""
    run, proposed = _one(request, opened, uid)
    whole = request.GET.get("changes") == "all"
    values: dict[str, Any] = {
        "told": runs.told(opened, run, proposed, whole=whole, refused=refused),
        "place": place(request, opened.name),
    }
    if refused:
        values["here"] = reverse("run", args=[opened.name, uid])
    status = refused.status if refused else 200
    return page(request, RUN, values, status, parts=htmx.parts(RUN, "page"))


def latest(principal: Principal, opened: Bank) -> Line | None:
    """The newest run of a bank; None before the first one."""
    found, _ = service.listed(principal, opened, limit=1)
    return next(map(Line, found), None)


def maintained(request: HttpRequest, bank: str) -> Bank:
    """The bank, for somebody who maintains it. Raises what `open_bank` raises."""
    return open_bank(person(request), bank, Role.MAINTAINER, Scope.RUNS_RUN)


def _one(request: HttpRequest, opened: Bank, uid: str) -> tuple[Run, list[Proposed]]:
    """A run of this bank and what it proposes. Raises RunNotFound."""
    try:
        run, proposed = service.one(person(request), uid)
    except errors.RunNotFound as error:
        raise errors.RunNotFound(NOT_HERE) from error
    if run.bank != opened.name:
        raise errors.RunNotFound(NOT_HERE)
    return run, proposed
