"""The rules of a bank: the list, one rule, its editor, and what can be done to it."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from banks import errors, queries
from banks.access import Role, Scope
from banks.services import Bank, open_bank
from banks.services import rules as service
from banks.store import names
from memoryconsole.console import htmx, rules, telling
from memoryconsole.console.context import SeeOther, page, person, place, safe_next
from memoryconsole.console.merge import choose_first
from memoryconsole.console.pages import signed_in
from memoryconsole.console.rule_form import RuleForm

LIST, RULE = "console/rules.html", "console/rule.html"
EDITOR, CLASH = "console/rule_editor.html", "console/rule_clash.html"
COMPARE = "console/rule_compare.html"

TOOLS = (
    ("heading", "heading", "Heading"),
    ("bold", "bold", "Bold"),
    ("italic", "italic", "Italic"),
    ("list", "list", "List"),
    ("code", "code", "Code"),
)
"""Buttons over the text: what each does, its icon, its name."""

_NEXT = "Running sessions are told with their next turn; new ones begin"
SAVED = f"Saved. {_NEXT} with it."
RESTORED = f"Restored. {_NEXT} with this text."
REMOVED = f"Removed. {_NEXT} without it."


@signed_in("GET")
def index(request: HttpRequest, bank: str) -> HttpResponse:
    """The rules in the order in which agents get them, and their budget."""
    found = rules.listed(request, bank)
    values = {"list": found, "place": found.place}
    return page(request, LIST, values, parts=htmx.parts(LIST, "page"))


@signed_in("GET")
def show(request: HttpRequest, bank: str, name: str) -> HttpResponse:
    """One rule as people read it, as agents get it, and its history."""
    whole = request.GET.get("history") == "all"
    found = rules.told(request, bank, name, whole=whole)
    values = {"told": found, "place": found.place}
    return page(request, RULE, values, parts=htmx.parts(RULE, "page", "states"))


@signed_in("GET", "POST")
def new(request: HttpRequest, bank: str) -> HttpResponse:
    """Write a new rule; with `example`, from one that is there to be changed."""
    opened = _opened(request, bank)
    if request.method == "POST":
        return _save(request, opened, RuleForm(request.POST))
    example = {"name": rules.EXAMPLE_NAME, "text": rules.EXAMPLE}
    return _editor(request, opened, RuleForm(initial=example if "example" in request.GET else {}))


@signed_in("GET", "POST")
def edit(request: HttpRequest, bank: str, name: str) -> HttpResponse:
    """Change a rule; an edit of an older text is answered with all three."""
    opened = _opened(request, bank)
    if request.method == "POST":
        names.rule_name(name)
        return _save(request, opened, RuleForm(request.POST.dict() | {"name": name}))
    return _editor(request, opened, RuleForm.of(queries.rule(opened, name)))


@signed_in("POST")
def preview(request: HttpRequest, bank: str) -> HttpResponse:
    """How a text would read and what it does to the budget. Nothing is changed."""
    opened = _opened(request, bank)
    form = RuleForm(initial=request.POST.dict())
    if form.base_version:
        names.rule_name(form.rule_name)
    return _editor(request, opened, form)


def _opened(request: HttpRequest, bank: str) -> Bank:
    return open_bank(person(request), bank, Role.MAINTAINER, Scope.RULES_WRITE)


def _save(request: HttpRequest, opened: Bank, form: RuleForm) -> HttpResponse:
    name = form.rule_name
    met = RuleForm.met(request.POST)
    if met is not None and form.is_valid():
        found = rules.clash(opened, name, met.base_version, met.typed, onto=form.base_version)
        count = found.texts.merged.undecided(queries.plain(form.typed))
        if count:
            form.status = 422
            form.refuse(errors.Invalid(choose_first(count), loc="text"))
            form.fields["text"].widget.attrs["autofocus"] = True
            return _clash(request, opened, name, met, found, form)
    try:
        saved = form.attempt(
            lambda: service.set_rule(
                person(request),
                opened,
                name,
                form.cleaned_data["text"],
                version=form.base_version,
                reason=form.cleaned_data["reason"],
            )
        )
    except errors.StaleRevision:
        found = rules.clash(opened, name, form.base_version, form.typed)
        if found.texts.now.strip() != found.texts.mine.strip():
            return _clash(request, opened, name, form, found)
        saved = bool(found.version)
    if saved is None:
        return _editor(request, opened, form)
    return _saved(request, opened, form)


def _saved(request: HttpRequest, opened: Bank, form: RuleForm) -> HttpResponse:
    """To the rule, with the focus on what led to the editor; to the list when it is removed."""
    name = form.rule_name
    now = _tell(request, opened, name, form.base_version, said=SAVED)
    if now is None:
        return SeeOther(f"{reverse('rules', args=[opened.name])}#list")
    telling.tell_masked(request, form.typed, now.content)
    return SeeOther(f"{reverse('rule', args=[opened.name, name])}#edit-{name}")


def _tell(
    request: HttpRequest, opened: Bank, name: str, seen: str, *, said: str
) -> queries.RuleText | None:
    """Tell what became of a rule that had the version `seen`; the rule as it is now."""
    now = next((rule for rule in queries.rules(opened) if rule.name == name), None)
    version = now.version if now else ""
    if version == seen:
        messages.info(request, "Nothing was changed, so nothing was saved.")
    else:
        telling.tell_done(request, opened, name, version, said=said if now else REMOVED)
    return now


def _editor(request: HttpRequest, opened: Bank, form: RuleForm) -> HttpResponse:
    name, bank = form.rule_name, opened.name
    home, action = f"{reverse('rules', args=[bank])}#list", reverse("new_rule", args=[bank])
    if form.base_version:
        home = f"{reverse('rule', args=[bank, name])}#edit-{name}"
        action = reverse("edit_rule", args=[bank, name])
    form.look_at(reverse("preview_rule", args=[bank]))
    values = {
        "form": form,
        "tools": TOOLS,
        "draft": rules.draft(opened, name, form.typed),
        "action": action,
        "home": home,
        "place": place(request, bank),
    }
    parts = {"preview": "console/rule_preview.html"}
    return page(request, EDITOR, values, status=form.status, parts=parts)


def _clash(
    request: HttpRequest,
    opened: Bank,
    name: str,
    form: RuleForm,
    found: rules.Clash,
    refused: RuleForm | None = None,
) -> HttpResponse:
    """What was, what is now, what was typed, and a text that has both edits. `refused`: the merge
    as it was sent."""
    mine = {"name": name, "text": form.typed, "reason": form["reason"].value() or ""}
    onto = mine | {"base": found.version}
    address = "edit_rule" if found.version else "new_rule"
    values = {
        "clash": found,
        "name": name,
        "mine": onto.items(),
        "met": (mine | {"base": form.base_version}).items(),
        "form": refused or RuleForm(initial=onto | {"text": found.texts.merged.text}),
        "action": reverse(address, args=[opened.name, name] if found.version else [opened.name]),
        "theirs": reverse("rule", args=[opened.name, name]),
        "place": place(request, opened.name),
    }
    return page(request, CLASH, values, status=refused.status if refused else 409)


@signed_in("POST")
def delete(request: HttpRequest, bank: str, name: str) -> HttpResponse:
    """Remove a rule; its history stays."""
    opened = _opened(request, bank)
    version = request.POST.get("version", "")
    with telling.refusals_told(request):
        queries.rule(opened, name)
        service.set_rule(person(request), opened, name, "", version=version)
        _tell(request, opened, name, version, said=SAVED)
        return SeeOther(f"{reverse('rules', args=[bank])}#list")
    return SeeOther(reverse("rule", args=[bank, name]))


@signed_in("GET")
def compare(request: HttpRequest, bank: str, name: str) -> HttpResponse:
    """Two states of a rule, line by line."""
    opened = open_bank(person(request), bank, Role.VIEWER, Scope.RULES_READ)
    first, second = request.GET.get("from", ""), request.GET.get("to", "")
    values = {
        "name": name,
        "compared": rules.compared(opened, name, first, second),
        "place": place(request, bank),
    }
    return page(request, COMPARE, values, parts=htmx.parts(COMPARE, "page", "compare"))


@signed_in("POST")
def revert(request: HttpRequest, bank: str, name: str) -> HttpResponse:
    """Give a rule the text of an earlier state, as a new one."""
    opened = _opened(request, bank)
    seen, wanted = request.POST.get("version", ""), request.POST.get("to", "")
    home = reverse("rule", args=[bank, name])
    with telling.refusals_told(request):
        service.revert(person(request), opened, name, wanted, expected=seen)
        _tell(request, opened, name, seen, said=RESTORED)
    return SeeOther(safe_next(request, home))
