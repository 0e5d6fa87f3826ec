"""Where one begins: the last bank, or the form that makes the first one."""

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from banks import queries, sync
from banks.services import banks
from memoryconsole.console.context import BANK_COOKIE, SeeOther, page, person
from memoryconsole.console.forms import BankForm
from memoryconsole.console.pages import signed_in


@signed_in("GET")
def home(request: HttpRequest) -> HttpResponse:
    """To the bank that was looked at last, else the default one, else the first, else a new one."""
    principal = person(request)
    names = [each.name for each in queries.summaries(principal)]
    if not names and principal.is_admin:
        sync.discover()  # banks that lie in the data folder, but were never opened
        names = [each.name for each in queries.summaries(principal)]
    if not names:
        return SeeOther(reverse("new_bank"))
    wanted = (request.COOKIES.get(BANK_COOKIE, ""), settings.DEFAULT_BANK, names[0])
    return SeeOther(reverse("memories", args=[next(name for name in wanted if name in names)]))


@signed_in("GET", "POST")
def new(request: HttpRequest) -> HttpResponse:
    """Make a bank."""
    principal = person(request)
    first = "" if queries.summaries(principal) else settings.DEFAULT_BANK
    form = BankForm(request.POST if request.method == "POST" else None, initial={"name": first})
    if request.method == "POST":
        made = form.attempt(lambda: banks.create(principal, **form.cleaned_data))
        if made is not None:
            bank, is_new = made
            said = f"Bank {bank.name} made." if is_new else f"Bank {bank.name} was there already."
            messages.success(request, said)
            return SeeOther(reverse("memories", args=[bank.name]))
    return page(request, "console/new_bank.html", {"form": form}, status=form.status)
