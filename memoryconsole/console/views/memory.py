"""One memory: its page, its drawer, its editor, its revisions, and what can be done to it."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from banks import errors, queries
from banks.access import Role, Scope
from banks.queries import Memory
from banks.revisions import of_entry
from banks.services import Bank, entries, open_bank
from memoryconsole.console import comparing, htmx, telling
from memoryconsole.console.context import SeeOther, page, person, place, safe_next
from memoryconsole.console.forms import EditMemoryForm, plain
from memoryconsole.console.merge import Conflict, choose_first, conflict
from memoryconsole.console.pages import signed_in
from memoryconsole.console.timeline import SHOWN, changes, states
from recall.services import similar

PARTS = htmx.parts("console/memory.html", "page", "older") | {"drawer": "components/drawer.html"}
MOST_SHOWN = 1_000


@signed_in("GET")
def show(request: HttpRequest, bank: str, key: str) -> HttpResponse:
    """The whole text, the facts and the history."""
    wanted = request.GET.get("shown", "")
    shown = min(int(wanted), MOST_SHOWN) if wanted.isdecimal() and len(wanted) < 9 else SHOWN
    shown = max(shown, SHOWN)
    target = htmx.target(request)
    above = shown - SHOWN if target == "older" else 0
    found = telling.told(request, bank, key, shown=shown, above=above)
    values = {"told": found, "memory": found.memory, "place": found.place, "of": target}
    if target in ("", "page"):
        opened = open_bank(person(request), bank, Role.VIEWER, Scope.MEMORY_READ)
        values["similar"] = similar(opened, found.memory.text, without=found.memory.id)
    return page(request, "console/memory.html", values, parts=PARTS)


@signed_in("GET")
def compare(request: HttpRequest, bank: str, key: str) -> HttpResponse:
    """Two revisions side by side."""
    principal = person(request)
    opened = open_bank(principal, bank, Role.VIEWER, Scope.MEMORY_READ)
    revisions = of_entry(opened, key)
    found = comparing.compared(revisions, request.GET.get("from", ""), request.GET.get("to", ""))
    values = {
        "memory": revisions[0].memory,
        "compared": found,
        "of": htmx.target(request),
        "place": place(request, bank),
    }
    parts = htmx.parts("console/compare.html", "page", "compare")
    return page(request, "console/compare.html", values, parts=parts)


@signed_in("GET", "POST")
def edit(request: HttpRequest, bank: str, key: str) -> HttpResponse:
    """Change fields; an edit of an older state is answered with all three texts. What is no longer
    live is shown as it is now."""
    opened = _to_write(request, bank)
    memory, is_gone = telling.last_seen(opened, key)
    if request.method == "POST":
        return _save(request, opened, memory)
    if is_gone or memory.invalid_at is not None:
        telling.tell_dead(request, memory)
        return telling.back(request, bank, memory.id)
    return _editor(request, memory, EditMemoryForm.of(memory))


def _save(request: HttpRequest, bank: Bank, memory: Memory) -> HttpResponse:
    principal, form = person(request), EditMemoryForm.sent(memory, request.POST)
    base = request.POST.get("base", "")
    undecided = _undecided(request, bank, memory, form)
    if undecided is not None:
        return undecided
    expected = entries.Expected(version=base)
    try:
        saved = form.attempt(
            lambda: entries.update(
                principal, bank, memory.id, form.patch(memory), expected=expected
            )
        )
    except errors.StaleRevision:
        saved, history = queries.memory(bank, memory.id), of_entry(bank, memory.id)
        was = next((each.memory for each in history if each.memory.version == base), None)
        if not form.is_already(was, saved):
            return _clash(request, form, was, saved)
    if saved is None:
        return _editor(request, memory, form)
    told = (
        "Nothing was changed." if saved.version == base else "Saved. Agents see it like this now."
    )
    telling.tell_changed(request, bank, saved, said=told)
    telling.tell_masked(request, form.cleaned_data["text"], saved.text)
    return SeeOther(safe_next(request, reverse("memory", args=[bank.name, saved.id])))


def _editor(request: HttpRequest, memory: Memory, form: EditMemoryForm) -> HttpResponse:
    first = next((name for name in form.errors if name in form.fields), "text")
    form.fields[first].widget.attrs["autofocus"] = True
    values = {"form": form, "memory": memory, "place": place(request, memory.bank)}
    parts = {f"m-{memory.id}": "components/row_edit.html"}
    return page(request, "console/edit_memory.html", values, form.status, parts=parts)


def _undecided(
    request: HttpRequest, bank: Bank, memory: Memory, form: EditMemoryForm
) -> HttpResponse | None:
    """The two edits once more while the marks of their merge stand in its text; else None."""
    typed = EditMemoryForm.met(request.POST)
    if typed is None or not form.is_valid():
        return None
    states = {each.memory.version: each.memory for each in of_entry(bank, memory.id)}
    was, now = (states.get(each.cleaned_data["base"]) for each in (typed, form))
    if now is None:
        return None
    merged = _met(typed, was, now).merged
    count = merged.undecided(plain(form.cleaned_data["text"]))
    if not count:
        return None
    form.status = 422
    form.refuse(errors.Invalid(choose_first(count), loc="text"))
    form.fields["text"].widget.attrs["autofocus"] = True
    return _clash(request, typed, was, now, form)


def _met(typed: EditMemoryForm, was: Memory | None, now: Memory) -> Conflict:
    return conflict(was.text if was else None, now.text, typed.typed["text"])


def _clash(
    request: HttpRequest,
    typed: EditMemoryForm,
    was: Memory | None,
    now: Memory,
    refused: EditMemoryForm | None = None,
) -> HttpResponse:
    """What was, what is now, and what was typed; the ways on, with what each would save.
    `refused`: the merge as it was sent."""
    mine, met = typed.onto(was, now), _met(typed, was, now)
    bank = open_bank(person(request), now.bank, Role.VIEWER, Scope.MEMORY_READ)
    history = of_entry(bank, now.id)
    values = {
        "conflict": met,
        "latest": next((x for x in history if x.memory.version == now.version), history[0]),
        "their_fields": changes(was, now) + states(was, now) if was else [],
        "my_fields": typed.edits(was),
        "mine": [*mine.items(), ("base", now.version)],
        "met": [*typed.typed.items(), ("base", typed.cleaned_data["base"])],
        "form": refused or EditMemoryForm.filled(now, typed.merged(was, now, met.merged.text)),
        "memory": now,
        "place": place(request, now.bank),
    }
    parts = {f"m-{now.id}": "components/row_edit.html"}
    return page(
        request, "console/clash.html", values, refused.status if refused else 409, parts=parts
    )


def _to_write(request: HttpRequest, bank: str) -> Bank:
    return open_bank(person(request), bank, Role.EDITOR, Scope.MEMORY_WRITE)


@signed_in("POST")
def pin(request: HttpRequest, bank: str, key: str) -> HttpResponse:
    """Pin or unpin."""
    opened, pinned = _to_write(request, bank), request.POST.get("pinned") == "1"
    said = (
        "Pinned. Automation leaves it alone." if pinned else "Unpinned. Automation may change it."
    )
    with telling.refusals_told(request):
        memory = entries.pin(
            person(request), opened, key, pinned=pinned, expected=telling.seen(request)
        )
        telling.tell_changed(request, opened, memory, said=said)
    return telling.back(request, bank, key)


@signed_in("POST")
def delete(request: HttpRequest, bank: str, key: str) -> HttpResponse:
    """Agents stop seeing it; the text stays."""
    opened = _to_write(request, bank)
    with telling.refusals_told(request):
        gone = entries.delete(person(request), opened, key, expected=telling.seen(request))
        telling.tell_changed(request, opened, gone, said="Deleted. Agents stop seeing it.")
    return telling.back(request, bank, key)


@signed_in("POST")
def restore(request: HttpRequest, bank: str, key: str) -> HttpResponse:
    """Bring it back."""
    principal, opened = person(request), _to_write(request, bank)
    with telling.refusals_told(request):
        before = of_entry(opened, key)[0].memory
        restored = entries.restore(principal, opened, key, expected=telling.seen(request))
        successor = telling.successor_of(principal, before)
        telling.tell_restored(request, opened, restored, successor)
    return telling.back(request, bank, key)


@signed_in("POST")
def revert(request: HttpRequest, bank: str, key: str) -> HttpResponse:
    """Make a new revision with the words of an old one."""
    opened, wanted = _to_write(request, bank), request.POST.get("to", "")
    with telling.refusals_told(request):
        memory = entries.revert(
            person(request), opened, key, wanted, expected=telling.seen(request)
        )
        history = of_entry(opened, key)[::-1]
        old = next((n for n, each in enumerate(history, 1) if each.memory.version == wanted), 0)
        if memory.version == request.POST.get("version"):
            messages.success(request, f"It says already what it said in r{old}.")
        else:
            said = f"Restored r{old}: it is r{len(history)} now, and agents see it like this."
            telling.tell_done(request, opened, memory.id, memory.version, said=said)
    return telling.back(request, bank, key)
