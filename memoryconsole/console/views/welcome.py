"""The first page of an installation: from nothing to a memory, and what agents get of it."""

from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from banks import queries
from banks.access import Principal
from memoryconsole.console import htmx, telling, welcome
from memoryconsole.console.context import SeeOther, page, person
from memoryconsole.console.pages import signed_in
from memoryconsole.console.welcome import EXAMPLES, FirstForm

WELCOME = "console/welcome.html"
PARTS = htmx.parts(WELCOME, "page")
SHOWN = (200, 409, 422)
"""Answers that htmx puts where the form was."""


@signed_in("GET", "POST")
def show(request: HttpRequest) -> HttpResponse:
    """Write the first memory; then what became of it."""
    principal = person(request)
    if request.method == "POST":
        return _save(request, principal)
    key, bank = request.GET.get("saved", ""), request.GET.get("bank", "")
    saved = welcome.saved(principal, bank, key) if key else None
    if saved is not None:
        response = page(request, WELCOME, {"saved": saved}, parts=PARTS)
        response.headers["HX-Trigger-After-Settle"] = "bank:changed"  # the rail counts it too
        return response
    places = welcome.places(principal)
    if not places:
        return SeeOther(reverse("home"))
    return _form(request, FirstForm.start(places, request.GET.get("example", "")))


def _save(request: HttpRequest, principal: Principal) -> HttpResponse:
    form = FirstForm(welcome.places(principal), request.POST)
    done = form.save(principal)
    if done is None:
        return _form(request, form)
    bank, saved = done
    memory = saved.memory
    telling.tell_masked(request, form.cleaned_data["text"], memory.text)
    said = "Saved. Agents can recall it now." if saved.created else "Already known: seen once more."
    telling.tell_done(request, bank, memory.id, memory.version, said=said)
    query = urlencode({"bank": bank.name, "saved": memory.id})
    return SeeOther(f"{reverse('welcome')}?{query}")


def _form(request: HttpRequest, form: FirstForm) -> HttpResponse:
    if form.status not in SHOWN:
        told = " ".join(map(str, form.non_field_errors()))
        sentence = htmx.sentence(request, told, form.status)
        if sentence is not None:
            return sentence
    found = queries.summaries(person(request))
    values = {
        "form": form,
        "examples": list(enumerate(EXAMPLES, 1)),
        "is_made": form.target in {each.name for each in found},
        "is_first": not any(each.memories for each in found),
    }
    return page(request, WELCOME, values, form.status, parts=PARTS)
