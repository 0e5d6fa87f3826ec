"""Is everything well? The doctor's checks, and what can be done from here."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from banks import access, config
from banks.access import Role, Scope
from banks.services import banks, open_bank
from memoryconsole.console import htmx, telling
from memoryconsole.console.context import SeeOther, page, person, safe_next
from memoryconsole.console.health import health
from memoryconsole.console.pages import signed_in

TEMPLATE = "console/health.html"


@signed_in("GET", "POST")
def index(request: HttpRequest) -> HttpResponse:
    """The checks that cost little; when it is posted, all of them. Nothing is repaired."""
    principal = person(request)
    access.require_admin(principal)
    values = {
        "health": health(principal, whole=request.method == "POST"),
        "at": "health",
        "of": htmx.target(request),
        "version": settings.VERSION,
        "data_folder": str(config.data_folder()),
        "state_folder": str(settings.STATE_DIR),
    }
    return page(request, TEMPLATE, values, parts=htmx.parts(TEMPLATE, "page", "checks"))


@signed_in("POST")
def accept(request: HttpRequest) -> HttpResponse:
    """End the hold of a bank: what is in its files is what there is."""
    name = request.POST.get("bank", "")
    opened = open_bank(person(request), name, Role.OWNER, Scope.ADMIN)
    with telling.refusals_told(request):
        banks.accept(opened)
        messages.success(request, f"{name} is as its files are, and takes writes again.")
    return SeeOther(safe_next(request, reverse("memories", args=[name])))
