"""A bank's memories: the list, and a new one."""

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from banks import errors
from banks.access import Role, Scope
from banks.services import entries, open_bank
from memoryconsole.console.context import BANK_COOKIE, SeeOther, keep, page, person, place
from memoryconsole.console.filters import Wanted
from memoryconsole.console.forms import NewMemoryForm
from memoryconsole.console.listing import listing
from memoryconsole.console.pages import signed_in
from memoryconsole.console.telling import tell_saved


@signed_in("GET")
def index(request: HttpRequest, bank: str) -> HttpResponse:
    """The list, newest first; with words, best match first."""
    principal = person(request)
    try:
        found = listing(principal, bank, Wanted.of(request.GET))
    except errors.Invalid as error:
        values = {"place": place(principal, bank), "message": error.message}
        return page(request, "console/bad_filter.html", values, status=422)
    values = {"list": found, "place": found.place}
    response = page(request, "console/memories.html", values)
    if request.COOKIES.get(BANK_COOKIE) != bank:
        keep(response, BANK_COOKIE, bank)
    return response


@signed_in("GET", "POST")
def new(request: HttpRequest, bank: str) -> HttpResponse:
    """Add a memory. A known text is no error: it was seen once more."""
    principal = person(request)
    opened = open_bank(principal, bank, Role.EDITOR, Scope.MEMORY_WRITE)
    form = NewMemoryForm.start(request.GET.get("category", ""))
    if request.method == "POST":
        form = NewMemoryForm(request.POST)
        saved = form.attempt(
            lambda: entries.save(
                principal, opened, form.draft(), idempotency=form.idempotency(principal)
            )
        )
        if saved is not None:
            seen = f"Already known: it has now been seen {saved.memory.corroboration + 1} times."
            said = "Saved. Agents can recall it now." if saved.created else seen
            tell_saved(request, form.cleaned_data["text"], saved.memory, said=said)
            return SeeOther(reverse("memory", args=[bank, saved.memory.id]))
    values = {"form": form, "place": place(principal, bank)}
    return page(request, "console/new_memory.html", values, status=form.status)
