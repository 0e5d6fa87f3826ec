"""One address, two renderings: the page, or the part of it that a script asked for.

A part is named by the id of the element that it replaces. Forms go the same way: a change answers
with 303 to the page that it was made on, the script follows, and that page gives the part.
"""

import json
import math
from collections.abc import Mapping

from django.http import HttpRequest, HttpResponse
from django_htmx.middleware import HtmxDetails

CONFIG = json.dumps(
    {
        # No text of a memory stays in the browser, and Back asks for a whole page.
        "historyCacheSize": 0,
        "historyRestoreAsHxRequest": False,
        # What the Content Security Policy forbids is not even tried.
        "includeIndicatorStyles": False,
        "allowEval": False,
        "allowScriptTags": False,
        "selfRequestsOnly": True,
        "scrollBehavior": "instant",
        # A refused form and a clash are shown where the form was; other failures leave what is
        # there.
        "responseHandling": [
            {"code": "204", "swap": False},
            {"code": "[23]..", "swap": True},
            {"code": "409|422", "swap": True},
            {"code": "[45]..", "swap": False, "error": True},
        ],
    }
)
"""The settings of htmx, in a meta element of every page."""

ROWS = "HX-Rows"
"""The header in which our script says how many rows of a list are shown."""
_DIGITS = 6


def details(request: HttpRequest) -> HtmxDetails:
    """What htmx says of this request."""
    found: HtmxDetails = request.htmx  # type: ignore[attr-defined]  # set by its middleware
    return found


def target(request: HttpRequest) -> str:
    """The id of the element that is asked for; `""` when it is a whole page."""
    htmx = details(request)
    return (htmx.target or "") if htmx and not htmx.history_restore_request else ""


def parts(template: str, *ids: str) -> dict[str, str]:
    """Elements that a page can give alone, each a part of its template that is named by its id."""
    return {each: f"{template}#{each}" for each in ids}


def sentence(request: HttpRequest, text: str, status: int) -> HttpResponse | None:
    """A refusal for a part of a page: its script shows this sentence and leaves what is there. None
    when a whole page was asked for."""
    if not target(request):
        return None
    return HttpResponse(text, content_type="text/plain", status=status)


def part(request: HttpRequest, parts: Mapping[str, str]) -> str:
    """The template of the part that is asked for; `""` = the whole page.

    `parts`: the template of each element that the page can give alone, by the element's id.
    """
    return parts.get(target(request), "")


def here(request: HttpRequest) -> str:
    """The address that the reader sees, without what it points at on the page: where a form goes
    on after it was sent."""
    address = seen(request) or (request.get_full_path() if request.method == "GET" else "")
    return address or request.path


def seen(request: HttpRequest) -> str:
    """The address that a script sees, without what it points at; `""` when none asks."""
    address = details(request).current_url_abs_path if target(request) else None
    return (address or "").partition("#")[0]


def shown(request: HttpRequest) -> int:
    """How many rows of a list are on the page; 0 when no script tells."""
    return count(request.headers.get(ROWS, ""), digits=_DIGITS)


def count(told: str, *, digits: int) -> int:
    """A number of so many digits at most that somebody sent; 0 for anything else."""
    return int(told) if told.isascii() and told.isdecimal() and len(told) <= digits else 0


def whole_pages(rows: int, page: int, most: int) -> int:
    """How many rows a list has that is shown again: those that were there, up to a full page."""
    return min(most, page * max(1, math.ceil(rows / page)))
