"""A bank's memories: the list and its parts, changes of many of them, and a new one."""

from typing import Any
from urllib.parse import urlsplit

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.urls import reverse

from banks import errors
from banks.access import Principal, Role, Scope
from banks.services import Bank, bulk, entries, open_bank
from memoryconsole.console import htmx, listing, telling
from memoryconsole.console.context import (
    BANK_COOKIE,
    SeeOther,
    keep,
    page,
    person,
    place,
    safe_next,
)
from memoryconsole.console.filters import Wanted
from memoryconsole.console.forms import NewMemoryForm, plain
from memoryconsole.console.pages import signed_in
from memoryconsole.console.picks import Refused, refused
from recall.services import similar

LIST = "console/memories.html"
PARTS = htmx.parts(LIST, "page", "found", "more", "pill", "drawer")
BAD_PARTS = htmx.parts("console/bad_filter.html", "page", "found", "more")
ROW = "m-"
"""What the id of a row begins with; the memory's id follows."""
DONE = {
    "pin": ("pinned", "Automation leaves {} alone."),
    "unpin": ("unpinned", "Automation may change {} again."),
    "delete": ("deleted", "Agents stop seeing {}; you can restore {}."),
}


@signed_in("GET")
def index(request: HttpRequest, bank: str) -> HttpResponse:
    """The list, newest first; with words, best match first. Or the part of it that is asked for."""
    target = htmx.target(request)
    try:
        asked, seen = Wanted.of(request.GET), _seen(request, bank)
        if target.startswith(ROW):
            return _row(request, bank, seen)
        if target == "pill":
            return _pill(request, bank, seen)
        if target == "drawer":
            values = {"place": place(request, bank), "told": _told(request, bank, asked.sel)}
            return page(request, LIST, values, parts=PARTS)
        return _list(request, bank, asked, seen)
    except errors.Invalid as error:
        told = {"place": place(request, bank), "message": error.message, "tab": "memories"}
        return page(request, "console/bad_filter.html", told, status=422, parts=BAD_PARTS)


def _seen(request: HttpRequest, bank: str) -> Wanted:
    """The list at the address that the reader sees."""
    home = reverse("memories", args=[bank])
    seen = urlsplit(safe_next(request, request.get_full_path()))
    return Wanted.of(QueryDict(seen.query) if seen.path == home else request.GET)


def _list(
    request: HttpRequest,
    bank: str,
    asked: Wanted,
    seen: Wanted,
    refused: Refused | None = None,
) -> HttpResponse:
    """The page, what was found, or the rows that follow. `refused`: what was picked in it, and why
    nothing was done."""
    target = htmx.target(request)
    of = target if target in ("found", "more") else "page"
    if target == "page":
        asked = seen  # the Undo of a toast knows the address of the moment when it was said
    elif target == "found" and asked.is_same_list(seen):
        asked = asked.selecting(seen.sel)  # the drawer stays
    stays = of == "more" or asked.is_same_page(seen)
    rows = htmx.shown(request) if stays else 0
    found = listing.listing(request, bank, asked, seen, of=of, rows=rows)
    address = reverse("memories", args=[bank]) + asked.query_string.removesuffix("?")
    values: dict[str, Any] = {"list": found, "place": found.place, "tab": "memories", "of": of}
    if of != "more":
        values |= {"told": _told(request, bank, asked.sel), "here": address, "refused": refused}
        # Another list came by a link that knows nothing of what is typed in the box.
        values["sets_words"] = asked.q != seen.q and htmx.details(request).trigger != "filter"
    response = page(request, LIST, values, refused.status if refused else 200, parts=PARTS)
    if of == "found":
        response.headers["HX-Push-Url"] = "false" if asked == seen else address
    elif of == "page" and request.COOKIES.get(BANK_COOKIE) != bank:
        keep(response, BANK_COOKIE, bank)
    return response


def _told(request: HttpRequest, bank: str, key: str) -> telling.Told | None:
    """What the drawer shows; None when it is closed, or names what is not there."""
    if not key:
        return None
    try:
        return telling.told(request, bank, key)
    except (errors.MemoryNotFound, errors.AmbiguousId):
        return None


def _row(request: HttpRequest, bank: str, seen: Wanted) -> HttpResponse:
    """One row, or nothing where it stood."""
    target, rows = htmx.target(request), htmx.shown(request)
    found = listing.alone(request, bank, target.removeprefix(ROW), seen, rows=rows)
    values = {"row": found.row, "place": found.place, "alone": found}
    return page(request, LIST, values, parts={target: f"{LIST}#row"})


def _pill(request: HttpRequest, bank: str, seen: Wanted) -> HttpResponse:
    """How much came since the list was read. Told once, when it appears."""
    found = listing.pill(person(request), bank, request.GET.get("since", ""), seen)
    values = {"pill": found, "is_told": "told" in request.GET, "place": place(request, bank)}
    return page(request, LIST, values, parts=PARTS)


@signed_in("POST")
def many(request: HttpRequest, bank: str) -> HttpResponse:
    """Pin, unpin or delete what was picked: all of it, or nothing. A refusal shows the list with
    what was picked in it, and says why."""
    principal, act = person(request), request.POST.get("do", "")
    opened = open_bank(principal, bank, Role.EDITOR, Scope.MEMORY_WRITE)
    if act not in DONE:
        raise errors.Invalid(f"What can be done to many: {', '.join(DONE)}.", loc="do")
    pairs = [each.partition(" ") for each in request.POST.getlist("key")]
    picked = [(key, version) for key, _, version in pairs]
    try:
        _change(request, principal, opened, act, picked)
    except errors.Conflict as error:
        seen = _seen(request, bank)
        return _list(request, bank, seen, seen, refused(opened, picked, error))
    return SeeOther(safe_next(request, reverse("memories", args=[bank])))


def _change(
    request: HttpRequest, principal: Principal, bank: Bank, act: str, picked: list[tuple[str, str]]
) -> None:
    if not picked:
        messages.error(request, "Nothing was picked, so nothing was changed.")
        return
    if act == "delete":
        done = bulk.delete_many(principal, bank, picked)
    else:
        done = bulk.pin_many(principal, bank, picked, pinned=act == "pin")
    deed, effect = DONE[act]
    if not done.changed:
        messages.success(request, f"All of them were {deed} already.")
        return
    count, them = len(done.changed), "it" if len(done.changed) == 1 else "them"
    said = f"{count} memor{'y' if count == 1 else 'ies'} {deed}. {effect.format(them, them)}"
    first = next(each for each in done.memories if each.id == done.changed[0])
    telling.tell_done(request, bank, first.id, first.version, said=said)


@signed_in("GET", "POST")
def new(request: HttpRequest, bank: str) -> HttpResponse:
    """Add a memory, or only look which ones are similar. A known text is no error: it was seen once
    more."""
    principal = person(request)
    opened = open_bank(principal, bank, Role.EDITOR, Scope.MEMORY_WRITE)
    form = NewMemoryForm.start(request.GET.get("category", ""))
    values: dict[str, Any] = {"place": place(request, bank), "tab": "memories"}
    if "look" in request.POST:
        form = NewMemoryForm(request.POST)
        values |= {"similar": similar(opened, plain(request.POST.get("text", ""))), "looked": True}
    elif request.method == "POST":
        form = NewMemoryForm(request.POST)
        saved = form.attempt(
            lambda: entries.save(
                principal, opened, form.draft(), idempotency=form.idempotency(principal)
            )
        )
        if saved is not None:
            _tell_saved(request, opened, form, saved)
            return SeeOther(reverse("memory", args=[bank, saved.memory.id]))
    values["form"] = form
    parts = {"similar": "components/similar.html"}
    return page(request, "console/new_memory.html", values, status=form.status, parts=parts)


def _tell_saved(
    request: HttpRequest, bank: Bank, form: NewMemoryForm, saved: entries.Saved
) -> None:
    memory = saved.memory
    telling.tell_masked(request, form.cleaned_data["text"], memory.text)
    seen = f"Already known: it has now been seen {memory.corroboration + 1} times."
    said = "Saved. Agents can recall it now." if saved.created else seen
    telling.tell_done(request, bank, memory.id, memory.version, said=said)
