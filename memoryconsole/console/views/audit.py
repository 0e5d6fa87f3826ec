"""Who changed what."""

from django.http import HttpRequest, HttpResponse

from memoryconsole.console import htmx
from memoryconsole.console.context import page, person
from memoryconsole.console.deeds import Wanted, log
from memoryconsole.console.pages import signed_in

TEMPLATE = "console/audit.html"


@signed_in("GET")
def index(request: HttpRequest) -> HttpResponse:
    """The deeds that fit, newest first, over all banks that one may read."""
    rows = htmx.shown(request) if htmx.seen(request) == request.get_full_path() else 0
    found = log(person(request), Wanted.of(request.GET), rows)
    values = {"log": found, "at": "audit", "of": htmx.target(request)}
    return page(request, TEMPLATE, values, parts=htmx.parts(TEMPLATE, "page", "log", "more"))
