"""Take back one operation, whatever it was."""

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from banks import errors
from banks.access import Role, Scope
from banks.services import open_bank
from banks.services import undo as service
from memoryconsole.console import telling
from memoryconsole.console.context import SeeOther, person, safe_next
from memoryconsole.console.pages import signed_in


@signed_in("POST")
def undo(request: HttpRequest, bank: str, uid: str) -> HttpResponse:
    """Undo it, and go on where the form was."""
    principal = person(request)
    opened = open_bank(principal, bank, Role.EDITOR, Scope.MEMORY_WRITE)
    with telling.refusals_told(request):
        try:
            keys = service.undo(principal, opened, uid)
        except errors.StaleRevision as error:
            telling.tell_overtaken(request, opened, error.current)
        else:
            telling.tell_undone(request, opened, keys[0])
    return SeeOther(safe_next(request, reverse("memories", args=[bank])))
