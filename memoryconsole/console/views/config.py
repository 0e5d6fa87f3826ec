"""How the installation behaves, for instance admins."""

from dataclasses import asdict

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from banks import config, errors
from banks.access import require_admin
from memoryconsole.console import htmx
from memoryconsole.console.config_form import ConfigForm
from memoryconsole.console.context import SeeOther, page, person
from memoryconsole.console.pages import signed_in
from memoryconsole.errors import status_of

TEMPLATE = "console/config.html"


@signed_in("GET", "POST")
def index(request: HttpRequest) -> HttpResponse:
    """Show the fields, and set those that were edited."""
    principal = person(request)
    require_admin(principal)
    form = ConfigForm(request.POST if request.method == "POST" else None)
    if request.method == "POST":
        try:
            saved = form.attempt(lambda: form.save(principal))
        except errors.StaleRevision as error:
            form.status = status_of(type(error))
            form.add_error(None, error.message)
            form.show(asdict(config.current()))
        else:
            if saved is not None:
                said = f"Saved: {', '.join(saved)}." if saved else "Nothing was changed."
                messages.success(request, said)
                return SeeOther(reverse("config"))
    values = {"form": form, "at": "config"}
    return page(request, TEMPLATE, values, form.status, parts=htmx.parts(TEMPLATE, "page"))
