"""One memory: its page, its editor, and what can be done to it."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from banks import errors, queries
from banks.access import Role, Scope
from banks.queries import Memory
from banks.revisions import of_entry
from banks.services import entries, open_bank
from memoryconsole.console import telling
from memoryconsole.console.context import SeeOther, page, person, place
from memoryconsole.console.forms import EditMemoryForm
from memoryconsole.console.pages import signed_in


@signed_in("GET")
def show(request: HttpRequest, bank: str, key: str) -> HttpResponse:
    """The whole text, the facts and the history."""
    whole = request.GET.get("history") == "all"
    found = telling.told(person(request), bank, key, whole=whole)
    return page(request, "console/memory.html", {"told": found, "place": found.place})


@signed_in("GET", "POST")
def edit(request: HttpRequest, bank: str, key: str) -> HttpResponse:
    """Change fields; an edit of an older state is answered with all three texts."""
    if request.method == "POST":
        return _save(request, bank, key)
    opened = open_bank(person(request), bank, Role.EDITOR, Scope.MEMORY_WRITE)
    memory = queries.memory(opened, key)
    return _editor(request, memory, EditMemoryForm.of(memory))


def _save(request: HttpRequest, bank: str, key: str) -> HttpResponse:
    principal, form = person(request), EditMemoryForm(request.POST)
    opened = open_bank(principal, bank, Role.EDITOR, Scope.MEMORY_WRITE)
    memory, base = queries.memory(opened, key), request.POST.get("base", "")
    expected = entries.Expected(version=base)
    try:
        saved = form.attempt(
            lambda: entries.update(principal, opened, key, form.patch(memory), expected=expected)
        )
    except errors.StaleRevision:
        now, history = queries.memory(opened, key), of_entry(opened, key)
        clash = telling.clash(history, base, now)
        if not form.is_already(clash.was, now):
            return _clash(request, form, clash)
        saved = now
    if saved is None:
        return _editor(request, memory, form)
    telling.tell_saved(request, form.cleaned_data["text"], saved, said="Saved.")
    return SeeOther(reverse("memory", args=[bank, memory.id]))


def _editor(request: HttpRequest, memory: Memory, form: EditMemoryForm) -> HttpResponse:
    values = {"form": form, "memory": memory, "place": place(person(request), memory.bank)}
    return page(request, "console/edit_memory.html", values, status=form.status)


def _clash(request: HttpRequest, form: EditMemoryForm, clash: telling.Clash) -> HttpResponse:
    """What was, what is now, and what was typed, which is offered again on top of now."""
    values = {
        "clash": clash,
        "memory": clash.now,
        "form": form.onto(clash.was, clash.now),
        "place": place(person(request), clash.now.bank),
    }
    return page(request, "console/clash.html", values, status=409)


@signed_in("POST")
def pin(request: HttpRequest, bank: str, key: str) -> HttpResponse:
    """Pin or unpin."""
    principal = person(request)
    opened = open_bank(principal, bank, Role.EDITOR, Scope.MEMORY_WRITE)
    pinned = request.POST.get("pinned") == "1"
    with telling.refusals_told(request):
        entries.pin(principal, opened, key, pinned=pinned, expected=telling.seen(request))
        messages.success(request, "Pinned." if pinned else "Unpinned.")
    return telling.back(request, bank, key)


@signed_in("POST")
def delete(request: HttpRequest, bank: str, key: str) -> HttpResponse:
    """Agents stop seeing it; the text stays."""
    principal = person(request)
    opened = open_bank(principal, bank, Role.EDITOR, Scope.MEMORY_WRITE)
    with telling.refusals_told(request):
        gone = entries.delete(principal, opened, key, expected=telling.seen(request))
        telling.tell_deleted(request, gone)
    return telling.back(request, bank, key)


@signed_in("POST")
def restore(request: HttpRequest, bank: str, key: str) -> HttpResponse:
    """Bring it back."""
    principal = person(request)
    opened = open_bank(principal, bank, Role.EDITOR, Scope.MEMORY_WRITE)
    with telling.refusals_told(request):
        before = of_entry(opened, key)[0].memory
        entries.restore(principal, opened, key, expected=telling.seen(request))
        telling.tell_restored(request, telling.successor_of(principal, before))
    return telling.back(request, bank, key)
