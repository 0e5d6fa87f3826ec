"""Banks and their rules: the files are the truth, the rows here only show them."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.db.models.functions import Length
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from banks import errors, queries, sync
from banks.access import Role, Scope
from banks.models import Bank, Rule
from banks.services import banks, open_bank, rules
from memoryconsole.admin.forms import BankForm, NewBankForm, NewRuleForm, RuleForm
from memoryconsole.admin.through_services import Context, ThroughServices
from memoryconsole.console.context import person
from memoryconsole.console.forms import plain
from memoryconsole.console.telling import tell_masked
from recall.services import rule_size


class BankAdmin(ThroughServices):
    """Banks, those in the trash too."""

    new_form = NewBankForm
    form_of_row = BankForm
    removal = "Move to the trash"
    removal_means = (
        "Agents and people stop seeing this bank. Its folder goes to the trash with everything in "
        "it, and can be restored from the list of banks."
    )
    list_display = ("name", "description", "state", "changes", "held", "created_at")
    list_filter = ("state",)
    search_fields = ("name", "description")
    ordering = ("name", "pk")
    actions = ("restore",)

    @admin.display(description="changes so far", ordering="head")
    def changes(self, row: Bank) -> int:
        """The number of its last change."""
        return row.head

    @admin.display(description="on hold because", ordering="hold")
    def held(self, row: Bank) -> str:
        """Why it is on hold; `""` when it is not."""
        return row.hold

    def bank_of(self, row: Bank) -> Bank:
        """Itself."""
        return row

    def is_open(self, row: Bank) -> bool:
        """One in the trash is restored first."""
        return row.state == Bank.State.ACTIVE

    def get_queryset(self, request: HttpRequest) -> QuerySet[Bank]:
        """None that is still being made."""
        found: QuerySet[Bank] = super().get_queryset(request)
        return found.exclude(state=Bank.State.HIDDEN)

    def changelist_view(self, request: HttpRequest, extra_context: Context = None) -> HttpResponse:
        """The list, with banks that lie in the data folder but were never opened."""
        sync.discover()
        return super().changelist_view(request, extra_context)

    def add(self, request: HttpRequest, typed: dict[str, Any]) -> HttpResponse:
        """Make the bank, or say that it is there."""
        bank, is_new = banks.create(person(request), typed["name"], typed["description"])
        said = f"Bank {bank.name} made." if is_new else f"Bank {bank.name} was there already."
        messages.success(request, said)
        return self.to_list(request)

    def start(self, request: HttpRequest, row: Bank) -> dict[str, Any]:
        """Name and description."""
        bank = open_bank(person(request), row.name, Role.OWNER, Scope.ADMIN)
        bank.refresh_from_db()
        told = {"name": bank.name, "description": bank.description}
        return told | {f"seen_{name}": value for name, value in told.items()}

    def change(self, request: HttpRequest, row: Bank, typed: dict[str, Any]) -> HttpResponse:
        """Rename and describe, as far as either was edited; each is told when it is done."""
        principal = person(request)
        bank = open_bank(principal, row.name, Role.OWNER, Scope.ADMIN)
        if typed["name"] != typed["seen_name"]:
            if typed["seen_name"] != bank.name:
                raise errors.StaleRevision(current=bank.name)
            bank = banks.rename(principal, bank, typed["name"])
            messages.success(request, f"Renamed to {bank.name}.")
        if typed["description"] != typed["seen_description"]:
            banks.describe(principal, bank, typed["description"], seen=typed["seen_description"])
            messages.success(request, f"Bank {bank.name} described.")
        return self.to_list(request)

    def remove(self, request: HttpRequest, row: Bank, seen: str) -> HttpResponse:
        """To the trash."""
        principal = person(request)
        banks.trash(principal, open_bank(principal, row.name, Role.OWNER, Scope.ADMIN))
        messages.success(request, f"Bank {row.name} is in the trash.")
        return self.to_list(request)

    def name_of(self, row: Bank) -> str:
        """Which bank."""
        return f"Bank {row.name}"

    def facts(self, row: Bank) -> list[tuple[str, Any]]:
        """Where its folder is, and how it stands."""
        folder = banks.trash_path(row) if row.trashed_to else row.name
        return [
            ("Folder in the data folder", folder),
            ("State", row.state),
            ("Number of its last change", row.head),
            ("Made", row.created_at),
            *([("On hold", row.hold)] if row.hold else []),
        ]

    def links(self, row: Bank) -> list[tuple[str, str]]:
        """Its memories in the console."""
        if row.state != Bank.State.ACTIVE:
            return []
        return [("Memories", reverse("memories", args=[row.name]))]

    @admin.action(description="Restore from the trash")
    def restore(self, request: HttpRequest, chosen: QuerySet[Bank]) -> None:
        """Bring banks back, one by one, each with its outcome."""
        for row in chosen:
            try:
                banks.restore(person(request), row.name, row.trashed_to)
            except errors.DomainError as error:
                messages.error(request, f"{row.name}: {error.message}")
            else:
                messages.success(request, f"Bank {row.name} is back.")


class RuleAdmin(ThroughServices):
    """Rules, each a file of its bank."""

    new_form = NewRuleForm
    form_of_row = RuleForm
    removal = "Remove"
    removal_means = "Agents stop getting this rule. Its text stays in the history of the bank."
    list_display = ("name", "bank", "size", "updated_at")
    list_filter = (("bank", admin.RelatedOnlyFieldListFilter), "updated_at")
    list_select_related = ("bank",)
    search_fields = ("name", "content", "bank__name")
    ordering = ("bank__name", "name")

    @admin.display(description="characters", ordering="characters")
    def size(self, row: Any) -> int:
        """How long it is, as its budget counts."""
        return rule_size(queries.plain(row.content))

    def bank_of(self, row: Rule) -> Bank:
        """The bank that it is put into every prompt of."""
        return row.bank

    def get_queryset(self, request: HttpRequest) -> QuerySet[Rule]:
        """Rules of banks in use, with their length."""
        found: QuerySet[Rule] = super().get_queryset(request)
        active = found.filter(bank__state=Bank.State.ACTIVE)
        return active.select_related("bank").annotate(characters=Length("content"))

    def _open(self, request: HttpRequest, name: str) -> Bank:
        return open_bank(person(request), name, Role.MAINTAINER, Scope.RULES_WRITE)

    def add(self, request: HttpRequest, typed: dict[str, Any]) -> HttpResponse:
        """Make the rule, unless there is one of that name."""
        bank = self._open(request, typed["bank"].name)
        try:
            self._set(request, bank, typed["name"], typed | {"version": ""})
        except errors.StaleRevision as error:
            raise errors.Conflict(
                "This bank has a rule of that name: change that one, or choose another name."
            ) from error
        return self._saved(request, bank, typed["name"], typed["text"])

    def start(self, request: HttpRequest, row: Rule) -> dict[str, Any]:
        """Its text as it is on disk, and which version that is."""
        rule = queries.rule(self._open(request, row.bank.name), row.name)
        return {"text": rule.content, "version": rule.version}

    def change(self, request: HttpRequest, row: Rule, typed: dict[str, Any]) -> HttpResponse:
        """Write the text, when the rule still is what the form showed."""
        bank = self._open(request, row.bank.name)
        try:
            self._set(request, bank, row.name, typed)
        except errors.StaleRevision as error:
            # A second click on Save, or two people who typed the same.
            is_already = isinstance(error.current, queries.RuleText) and plain(
                error.current.content
            ) == plain(typed["text"])
            if not is_already:
                raise
        return self._saved(request, bank, row.name, typed["text"])

    def _set(self, request: HttpRequest, bank: Bank, name: str, typed: dict[str, Any]) -> None:
        rules.set_rule(
            person(request),
            bank,
            name,
            typed["text"],
            version=typed["version"],
            reason=typed["reason"] or None,
        )

    def _saved(self, request: HttpRequest, bank: Bank, name: str, typed: str) -> HttpResponse:
        messages.success(request, f"Rule {name} of {bank.name} saved.")
        tell_masked(request, typed, queries.rule(bank, name).content)
        return self.to_list(request)

    def state_of(self, row: Rule) -> str:
        """Its version."""
        return row.version

    def remove(self, request: HttpRequest, row: Rule, seen: str) -> HttpResponse:
        """Take the file away, when the rule still is what the question was about."""
        bank = self._open(request, row.bank.name)
        rules.set_rule(person(request), bank, row.name, "", version=seen)
        messages.success(request, f"Rule {row.name} of {bank.name} removed.")
        return self.to_list(request)

    def name_of(self, row: Rule) -> str:
        """Which rule of which bank."""
        return f"Rule {row.name} of {row.bank.name}"

    def facts(self, row: Any) -> list[tuple[str, Any]]:
        """Where it is and how long."""
        return [
            ("Bank", row.bank.name),
            ("File", row.file.path),
            ("Characters", row.characters),
            ("Changed", row.updated_at),
        ]

    def links(self, row: Rule) -> list[tuple[str, str]]:
        """Its page in the console, with what it was before."""
        return [("History", reverse("rule", args=[row.bank.name, row.name]))]
