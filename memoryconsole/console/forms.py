"""What people type, as far as the shape of a form goes. What may be saved, the core decides."""

import hashlib
import json
import uuid
from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeVar

from django import forms
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.http import QueryDict

from banks import auth, errors
from banks.access import Principal
from banks.queries import Memory
from banks.services import Idempotency
from banks.services.drafts import Draft, Patch
from banks.store.procedure import TEMPLATE, says_something
from banks.store.types import Category, Trust
from memoryconsole.console.merge import merge_labels
from memoryconsole.console.timeline import Change, changed
from memoryconsole.errors import status_of

T = TypeVar("T")

USERNAME_LENGTH = 150
PASSWORD_LENGTH = 4_096
ADVICE = "At least 10 characters. A sentence is a good one."
DIFFER = "The two passwords differ."

CATEGORIES = [
    (Category.FACTS.value, "Fact"),
    (Category.PREFERENCES.value, "Preference"),
    (Category.RULES.value, "Remembered rule"),
    (Category.EVENTS.value, "Event"),
    (Category.FEEDBACKS.value, "Feedback"),
    (Category.ERRORS.value, "Error"),
    (Category.PROCEDURE.value, "Procedure"),
]
PROCEDURE = Category.PROCEDURE.value
PROCEDURE_ROWS = 16
MET = "met"
"""What the fields of a merge begin with that say what was typed first."""
TRUST = [
    (Trust.HIGH.value, "Stated"),
    (Trust.MEDIUM.value, "Extracted"),
    (Trust.LOW.value, "Inferred"),
]


def labels(line: str) -> tuple[str, ...]:
    """The parts of a line between commas."""
    return tuple(part for part in line.split(",") if part.strip())


def split(line: str) -> list[str]:
    """The same without the spaces around them."""
    return [part.strip() for part in labels(line)]


def line_of(parts: list[str]) -> str:
    """Labels as one line, to be edited."""
    return ", ".join(parts)


def plain(text: str) -> str:
    """A text as a form sends it, with the line ends it had before."""
    return text.replace("\r\n", "\n").strip()


class Form(forms.Form):
    """A form to which the core's refusals can be tied; `status` is that of the page it is on."""

    status = 200
    fields_of_core: ClassVar[dict[str, str]] = {}

    def attempt(self, change: Callable[[], T]) -> T | None:
        """Make the change with what was typed. None = it was refused, and the form says why.

        Raises StaleRevision, and what no field can explain (nobody signed in, nothing there).
        """
        self.status = 422
        if not self.is_valid():
            return None
        try:
            return change()
        except errors.StaleRevision:
            raise
        except errors.Invalid as error:
            self.refuse(error)
        except (errors.Conflict, errors.Unavailable) as error:
            self.status = status_of(type(error))
            self.add_error(None, error.message)
        return None

    def refuse(self, error: errors.Invalid) -> None:
        """Put what the core says beside the field it is about, else above the form."""
        for detail in error.details:
            name = self.fields_of_core.get(detail.loc, detail.loc)
            self.add_error(name if name in self.fields else None, detail.message)


def password_field(label: str = "Password", *, is_new: bool, hint: str = "") -> forms.CharField:
    """A field for a password: the one that there is, or a new one."""
    kind = "new-password" if is_new else "current-password"
    return forms.CharField(
        label=label,
        max_length=PASSWORD_LENGTH,
        strip=False,
        help_text=hint,
        widget=forms.PasswordInput(attrs={"autocomplete": kind}),
    )


class GuessedForm(Form):
    """A form that asks for a secret. `retry_after_s` is set when there were too many tries."""

    retry_after_s = 0

    def delay(self, error: errors.TooMany) -> None:
        """Say that there were too many, and when the next one counts."""
        self.status, self.retry_after_s = status_of(type(error)), error.retry_after_s
        self.add_error(None, error.message)


class TwiceForm(Form):
    """A form in which a new password is typed twice, as `password` and `again`."""

    def clean(self) -> dict[str, Any]:
        """Both are the same."""
        cleaned = super().clean() or {}
        if "again" in cleaned and cleaned.get("password") != cleaned["again"]:
            self.add_error("again", DIFFER)
        return cleaned


class SignInForm(GuessedForm):
    """Name and password."""

    username = forms.CharField(
        label="Name",
        max_length=USERNAME_LENGTH,
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none"}),
    )
    password = password_field(is_new=False)


class SetupForm(TwiceForm, SignInForm):
    """The first account: the password is typed twice."""

    password = password_field(is_new=True, hint=ADVICE)
    again = password_field("The same password again", is_new=True)

    def clean(self) -> dict[str, Any]:
        """Both passwords are the same, and good: all that is wrong is said at once."""
        cleaned = super().clean()
        if "password" in cleaned:
            try:
                validate_password(cleaned["password"], User(username=cleaned.get("username", "")))
            except ValidationError as error:
                self.add_error("password", error)
        return cleaned


class PasswordForm(TwiceForm, GuessedForm):
    """Another password for oneself. Whether it is good enough, the core decides."""

    old = password_field("Your password now", is_new=False)
    password = password_field("New password", is_new=True, hint=ADVICE)
    again = password_field("The new password again", is_new=True)


class BankForm(Form):
    """A new bank."""

    fields_of_core: ClassVar[dict[str, str]] = {"bank": "name"}

    name = forms.CharField(
        required=False,
        help_text="Small letters, digits, - and _. Agents use this name.",
        widget=forms.TextInput(attrs={"autocapitalize": "none", "spellcheck": "false"}),
    )
    description = forms.CharField(required=False, help_text="What this bank is about. Optional.")

    def look_at(self, address: str) -> None:
        """Have the name looked at there while it is typed."""
        self.fields["name"].widget.attrs |= {
            "hx-get": address,
            "hx-trigger": "input changed delay:300ms",
            "hx-target": "#name-hint",
            "hx-swap": "outerHTML",
            "hx-sync": "this:replace",
            "autocomplete": "off",
        }


def once_only(principal: Principal, typed: dict[str, Any]) -> Idempotency | None:
    """What makes a second click on Save the same save, not another sighting of the text; None for
    a form without `once`. What was typed counts: the same page with other words is another memory.
    """
    if not typed["once"]:
        return None
    plain_words = json.dumps({name: str(value) for name, value in typed.items()})
    key = hashlib.sha256(plain_words.encode()).hexdigest()
    return Idempotency(auth.idempotency_owner(principal), f"form:{key}", key)


class WordsForm(Form):
    """The fields that a new memory and an edited one share."""

    text = forms.CharField(
        required=False, strip=False, widget=forms.Textarea(attrs={"rows": 8, "dir": "auto"})
    )
    title = forms.CharField(required=False, help_text="What the procedure does.")
    summary = forms.CharField(
        required=False, help_text="One line. When empty: the first sentence of the text."
    )
    tags = forms.CharField(required=False, help_text="Words with commas between them.")
    entities = forms.CharField(
        required=False, label="About", help_text="People, projects and tools, with commas."
    )


class NewMemoryForm(WordsForm):
    """A memory that a person adds."""

    category = forms.ChoiceField(choices=CATEGORIES, initial=Category.FACTS.value)
    pinned = forms.BooleanField(
        required=False, label="Pin", help_text="Automation then leaves it alone."
    )
    once = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.is_procedure:
            self.fields["text"].widget.attrs["rows"] = PROCEDURE_ROWS

    @classmethod
    def start(cls, category: str) -> Self:
        """An empty form, for a procedure with its five sections. `once` is new in each."""
        known = category if category in dict(CATEGORIES) else Category.FACTS.value
        text = TEMPLATE if known == PROCEDURE else ""
        return cls(initial={"category": known, "text": text, "once": uuid.uuid4().hex})

    @property
    def is_procedure(self) -> bool:
        """Whether it shows the title, and a text box for five sections."""
        return bool(self["category"].value() == PROCEDURE)

    def clean(self) -> dict[str, Any]:
        """A procedure has a title and says something: what is missing is said at once."""
        cleaned = super().clean() or {}
        if cleaned.get("category") == PROCEDURE:
            if not cleaned.get("title"):
                self.add_error("title", "Give the procedure a title.")
            if not says_something(plain(cleaned.get("text", ""))):
                self.add_error("text", "Fill one section of the procedure at least.")
        return cleaned

    def idempotency(self, principal: Principal) -> Idempotency | None:
        """What makes a second click on Save the same save."""
        return once_only(principal, self.cleaned_data)

    def draft(self) -> Draft:
        """What is to be saved."""
        cleaned = self.cleaned_data
        return Draft(
            text=cleaned["text"],
            category=Category(cleaned["category"]),
            tags=labels(cleaned["tags"]),
            entities=labels(cleaned["entities"]),
            pinned=cleaned["pinned"],
            summary=cleaned["summary"] or None,
            title=cleaned["title"] or None,
        )


class EditMemoryForm(WordsForm):
    """A memory as somebody saw it (`base` is its version then) and wants it to be."""

    trust = forms.ChoiceField(
        choices=TRUST, label="Confidence", help_text="How it came to be known."
    )
    base = forms.CharField(widget=forms.HiddenInput, max_length=64)

    @classmethod
    def met(cls, data: QueryDict) -> Self | None:
        """What was typed before a merge, when the form sent is that of one."""
        form = cls(data, prefix=MET) if f"{MET}-base" in data else None
        return form if form is not None and form.is_valid() else None

    @classmethod
    def of(cls, memory: Memory) -> Self:
        """The form as the memory is now."""
        return cls.filled(memory, values_of(memory))

    @classmethod
    def filled(cls, memory: Memory, values: dict[str, str]) -> Self:
        """The form with these values, to be saved on top of what the memory is now."""
        return cls(initial=values | {"base": memory.version}, auto_id=ids_for(memory))

    @classmethod
    def sent(cls, memory: Memory, data: QueryDict) -> Self:
        """The form as somebody sent it."""
        return cls(data, auto_id=ids_for(memory))

    def onto(self, was: Memory | None, now: Memory) -> dict[str, str]:
        """What was typed, on top of what the memory is now: fields that were not edited follow."""
        before, current = values_of(was) if was else {}, values_of(now)
        return {
            name: current[name] if value == plain(before.get(name, "\0")) else value
            for name, value in self.typed.items()
        }

    def merged(self, was: Memory | None, now: Memory, text: str) -> dict[str, str]:
        """Both edits: this text, the labels of both, and else what was typed."""
        before, both = values_of(was) if was else {}, self.onto(was, now) | {"text": text}
        for name, theirs in (("tags", now.tags), ("entities", now.entities)):
            old, new = (split(line) for line in (before.get(name, ""), self.typed[name]))
            both[name] = line_of(merge_labels(old, new, theirs))
        return both

    @property
    def typed(self) -> dict[str, str]:
        """What was typed, field by field."""
        names = [name for name in self.fields if name != "base"]
        return {name: plain(self.cleaned_data[name]) for name in names}

    def edits(self, was: Memory | None) -> list[Change]:
        """The fields but the text that were edited."""
        before, typed = values_of(was) if was else {}, self.typed
        if before:
            before["trust"], typed["trust"] = (
                dict(TRUST)[each["trust"]] for each in (before, typed)
            )
        others = [name for name in before if name != "text"]
        return changed(*((str(self[name].label), before[name], typed[name]) for name in others))

    def is_already(self, was: Memory | None, now: Memory) -> bool:
        """Whether something was edited, and all of it is as the memory is now: a second click on
        Save, or two people who typed the same."""
        before, current = values_of(was) if was else {}, values_of(now)
        typed = self.typed
        edited = {name for name in typed if typed[name] != plain(before.get(name, "\0"))}
        return bool(edited) and all(typed[name] == plain(current[name]) for name in edited)

    def patch(self, memory: Memory) -> Patch:
        """The fields that were really edited: only those must keep today's limits."""
        now, typed = values_of(memory), self.typed
        new = {name: value for name, value in typed.items() if value != plain(now[name])}
        text, tags, entities = (new.get(name) for name in ("text", "tags", "entities"))
        return Patch(
            text=text,
            tags=None if tags is None else labels(tags),
            entities=None if entities is None else labels(entities),
            summary=new.get("summary"),
            title=new.get("title"),
            trust=Trust(new["trust"]) if "trust" in new else None,
        )


def ids_for(memory: Memory) -> str:
    """How the fields of a memory's editor are named: several may be open on one page."""
    return f"e-{memory.id}-%s"


def values_of(memory: Memory) -> dict[str, str]:
    """What the edit form shows of a memory."""
    return {
        "text": memory.text,
        "title": memory.title or "",
        "summary": memory.summary,
        "tags": line_of(memory.tags),
        "entities": line_of(memory.entities),
        "trust": memory.trust,
    }
