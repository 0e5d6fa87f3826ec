"""Where one begins, the list of banks, a new bank, and who belongs to one."""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from banks import config, errors, queries
from banks.access import Principal, Role, Scope
from banks.services import Bank, open_bank, opening
from banks.services import banks as service
from banks.services import members as membership
from memoryconsole.console import banks, htmx, members, welcome
from memoryconsole.console.context import BANK_COOKIE, SeeOther, page, person
from memoryconsole.console.forms import BankForm
from memoryconsole.console.members import MemberForm
from memoryconsole.console.pages import signed_in
from memoryconsole.errors import status_of

LIST, NEW, SETTINGS = "console/banks.html", "console/new_bank.html", "console/bank_settings.html"


@signed_in("GET")
def home(request: HttpRequest) -> HttpResponse:
    """To the bank that was looked at last, else the default one, else the first.

    While nothing is remembered anywhere: to the page that begins with a first memory.
    """
    principal = person(request)
    names = [each.name for each in queries.summaries(principal)]
    if not names and principal.is_admin:
        # Banks that lie in the data folder, but were never opened.
        names = [each.name for each in opening.listed(principal)]
    if welcome.is_empty(principal) and welcome.places(principal):
        return SeeOther(reverse("welcome"))
    if not names:
        return SeeOther(reverse("new_bank"))
    wanted = (request.COOKIES.get(BANK_COOKIE, ""), config.current().default_bank, names[0])
    return SeeOther(reverse("memories", args=[next(name for name in wanted if name in names)]))


@signed_in("GET")
def index(request: HttpRequest) -> HttpResponse:
    """Every bank that one may see. Or the banks of the rail."""
    principal = person(request)
    values: dict[str, Any]
    if htmx.target(request) == "rail-banks":
        here = {"name": request.GET.get("at", "")}
        values = {"rail": queries.summaries(principal), "place": here}
        return page(request, LIST, values, parts={"rail-banks": "components/rail_banks.html"})
    found = banks.listed(principal, request.GET.get("q", ""))
    values = {"list": found, "may_create_banks": principal.may_create_banks}
    return page(request, LIST, values, parts=htmx.parts(LIST, "page", "found"))


@signed_in("GET", "POST")
def new(request: HttpRequest) -> HttpResponse:
    """Make a bank. Or what is to be said of a name while it is typed."""
    principal = person(request)
    if not principal.may_create_banks and (
        request.method == "POST" or queries.summaries(principal)
    ):
        raise errors.Forbidden("Making a bank needs an instance admin.")
    if htmx.target(request) == "name-hint":
        values = {"hint": banks.name_hint(principal, request.GET.get("name", ""))}
        return page(request, NEW, values, parts={"name-hint": f"{NEW}#name-hint"})
    first = "" if queries.summaries(principal) else config.current().default_bank
    form = BankForm(request.POST if request.method == "POST" else None, initial={"name": first})
    if request.method == "POST":
        made = form.attempt(lambda: service.create(principal, **form.cleaned_data))
        if made is not None:
            bank, is_new = made
            said = f"Bank {bank.name} made." if is_new else f"Bank {bank.name} was there already."
            messages.success(request, said)
            return SeeOther(reverse("memories", args=[bank.name]))
    form.look_at(reverse("new_bank"))
    better = banks.corrected(request.POST.get("name", "")) if form.errors.get("name") else ""
    return page(request, NEW, {"form": form, "better": better}, status=form.status)


@signed_in("GET")
def settings(request: HttpRequest, bank: str) -> HttpResponse:
    """Who belongs to the bank; for its owners with the controls that change it."""
    return _members(request, person(request), bank, MemberForm())


def _members(
    request: HttpRequest, principal: Principal, bank: str, form: MemberForm, fault: str = ""
) -> HttpResponse:
    found = members.told(request, bank)
    values = {
        "told": found,
        "place": found.place,
        "form": form,
        "fault": fault,
        "here": reverse("bank_settings", args=[bank]),
    }
    return page(request, SETTINGS, values, form.status, parts=htmx.parts(SETTINGS, "page"))


def _opened(request: HttpRequest, bank: str) -> Bank:
    return open_bank(person(request), bank, Role.OWNER, Scope.ADMIN)


@signed_in("POST")
def set_member(request: HttpRequest, bank: str) -> HttpResponse:
    """Make somebody a member (`new`), or give a member another role."""
    principal, opened = person(request), _opened(request, bank)
    owners = membership.owners(opened)
    if "new" in request.POST:
        form = MemberForm(request.POST)
        if not form.add_to(principal, opened):
            return _members(request, principal, bank, form)
        who, role = form.cleaned_data["username"], form.cleaned_data["role"]
    else:
        who, role = request.POST.get("username", ""), request.POST.get("role", "")
        try:
            membership.set_role(principal, opened, who, members.role_of(role))
        except errors.Conflict as error:
            return _refused(request, principal, bank, error)
    messages.success(request, f"{who} is {role} of {bank} now.")
    return _after(request, principal, opened, owners)


@signed_in("POST")
def remove_member(request: HttpRequest, bank: str) -> HttpResponse:
    """End a membership."""
    principal, opened = person(request), _opened(request, bank)
    who, owners = request.POST.get("username", ""), membership.owners(opened)
    try:
        membership.remove(principal, opened, who)
    except errors.Conflict as error:
        return _refused(request, principal, bank, error)
    messages.success(request, f"{who} is no member of {bank} any more.")
    return _after(request, principal, opened, owners)


def _refused(
    request: HttpRequest, principal: Principal, bank: str, error: errors.Conflict
) -> HttpResponse:
    form = MemberForm()
    form.status = status_of(type(error))
    return _members(request, principal, bank, form, error.message)


def _after(
    request: HttpRequest, principal: Principal, bank: Bank, owners: list[str]
) -> HttpResponse:
    """To the list of members; who left the bank does not see it any more. `owners` had it before:
    an instance admin may leave none."""
    if owners and not membership.owners(bank):
        messages.warning(request, "The bank has no owner now; instance admins reach it.")
    if bank.name not in membership.roles(principal):
        return SeeOther(reverse("banks"))
    return SeeOther(f"{reverse('bank_settings', args=[bank.name])}#list")
