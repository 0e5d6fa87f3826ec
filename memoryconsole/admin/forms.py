"""What is typed in the admin. What may be saved, the core decides."""

from collections.abc import Mapping
from typing import Any, ClassVar, cast

from django import forms
from django.contrib.auth.models import User
from django.http import QueryDict

from banks.access import AGENT_SCOPES, Role, Scope
from banks.models import Bank
from banks.services import tokens
from banks.services.drafts import REASON_LENGTH
from memoryconsole.console import forms as console
from memoryconsole.console import rule_form
from memoryconsole.console.forms import USERNAME_LENGTH, Form, plain

ROLES = [(role.value, role.name.lower()) for role in Role]
RULE_ROWS = 24
RULE_NAME_HINT = rule_form.RuleForm.base_fields["name"].help_text


def _active_banks() -> "forms.ModelChoiceField[Bank]":
    banks = Bank.objects.filter(state=Bank.State.ACTIVE).order_by("name")
    return forms.ModelChoiceField(banks)


class SeenForm(Form):
    """A form that knows what it showed: hidden fields say which state somebody has changed.

    `now` is what stands there instead, by label, once it turned out to be another.
    """

    now: tuple[tuple[str, str], ...] = ()

    def rebase(self, current: Mapping[str, Any]) -> None:
        """Put what was typed on top of what is there now, and show that beside it."""
        self.now = tuple(
            (str(field.label), str(current[field.name]))
            for field in self.visible_fields()
            if field.name in current and plain(str(current[field.name])) != plain(field.data or "")
        )
        data = cast(QueryDict, self.data).copy()
        for field in self.hidden_fields():
            data[field.name] = current[field.name]
        self.data = data


class NewBankForm(SeenForm):
    """A bank to be made."""

    fields_of_core: ClassVar[dict[str, str]] = {"bank": "name"}

    name = forms.CharField(help_text=console.BankForm.base_fields["name"].help_text)
    description = console.BankForm.base_fields["description"]


class BankForm(NewBankForm):
    """A bank's name and description, and both as they were shown."""

    seen_name = forms.CharField(required=False, widget=forms.HiddenInput)
    seen_description = forms.CharField(required=False, widget=forms.HiddenInput, strip=False)


class RuleForm(SeenForm):
    """The text of a rule, and the version that was shown."""

    # Named as on the pages of memories: the fence hands it back when a session has ended.
    fields_of_core: ClassVar[dict[str, str]] = {"content": "text"}

    text = forms.CharField(
        strip=False,
        help_text="Markdown. Every turn of every agent of this bank starts with it.",
        widget=forms.Textarea(attrs={"rows": RULE_ROWS, "cols": 80, "dir": "auto"}),
    )
    reason = forms.CharField(
        required=False,
        max_length=REASON_LENGTH,
        help_text="Why, in a sentence. Kept in the history. Optional.",
    )
    version = forms.CharField(required=False, widget=forms.HiddenInput)


class NewRuleForm(SeenForm):
    """A rule to be made."""

    fields_of_core: ClassVar[dict[str, str]] = {"content": "text"}

    bank = _active_banks()
    name = forms.CharField(help_text=RULE_NAME_HINT)
    text = RuleForm.base_fields["text"]
    reason = RuleForm.base_fields["reason"]


class RoleForm(SeenForm):
    """What somebody may do in a bank."""

    role = forms.TypedChoiceField(choices=ROLES, coerce=int)


class NewMemberForm(RoleForm):
    """Somebody who joins a bank."""

    bank = _active_banks()
    user = forms.ModelChoiceField(User.objects.order_by("username"), label="Person")

    field_order = ("bank", "user", "role")


class NewTokenForm(SeenForm):
    """A token to be made."""

    name = forms.CharField(max_length=tokens.NAME_LENGTH)
    owner = forms.ModelChoiceField(
        User.objects.filter(is_active=True).order_by("username"),
        required=False,
        empty_label="the instance, with every role",
        help_text="Its roles are those of its owner.",
    )
    scopes = forms.MultipleChoiceField(
        choices=[(scope.value, scope.value) for scope in Scope],
        initial=[scope.value for scope in AGENT_SCOPES],
        help_text="Chosen to begin with: what an agent needs.",
        widget=forms.CheckboxSelectMultiple,
    )
    every_bank = forms.BooleanField(
        required=False, initial=True, label="Every bank", help_text="Later ones too."
    )
    banks = forms.ModelMultipleChoiceField(
        Bank.objects.filter(state=Bank.State.ACTIVE).order_by("name"),
        required=False,
        label="Only these banks",
    )
    days = forms.IntegerField(
        required=False,
        initial=tokens.DEFAULT_DAYS,
        label="Days to live",
        help_text="Empty: it does not expire.",
    )

    def clean(self) -> dict[str, Any]:
        """Either every bank or some of them, never by leaving something out."""
        cleaned = super().clean() or {}
        if cleaned.get("every_bank") == bool(cleaned.get("banks")):
            self.add_error("banks", "Choose every bank, or the banks that it is for.")
        return cleaned


class PasswordsForm(SeenForm):
    """A password, typed twice."""

    password = console.password_field(is_new=True)
    again = console.password_field("The same password again", is_new=True)

    def clean(self) -> dict[str, Any]:
        """Both passwords are the same."""
        cleaned = super().clean() or {}
        if cleaned.get("password") != cleaned.get("again"):
            self.add_error("again", console.DIFFER)
        return cleaned


class NewPersonForm(PasswordsForm):
    """Somebody who gets an account."""

    username = forms.CharField(
        label="Name",
        max_length=USERNAME_LENGTH,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none"}),
    )
    is_admin = forms.BooleanField(
        required=False,
        label="Instance admin",
        help_text="Holds every role in every bank, and may come here.",
    )

    field_order = ("username", "password", "again", "is_admin")


class PersonForm(PasswordsForm):
    """Somebody with an account; an empty password stays as it is."""

    is_active = forms.BooleanField(required=False, label="May sign in", help_text="Tokens too.")
    is_admin = NewPersonForm.base_fields["is_admin"]

    field_order = ("is_active", "is_admin", "password", "again")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("password", "again"):
            self.fields[name].required = False
        self.fields["password"].label = "New password"


class RemovalForm(SeenForm):
    """The question before something goes, and the state that it was asked about."""

    seen = forms.CharField(required=False, widget=forms.HiddenInput)
