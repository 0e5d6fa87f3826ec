"""What the first page shows: where a first memory may go, and what an agent gets of it."""

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django import forms

from banks import config, queries
from banks.access import Principal, Role, Scope
from banks.queries import Memory
from banks.services import Bank, banks, entries, members, open_bank
from banks.services.drafts import Draft
from banks.store import names
from banks.store.types import Category
from memoryconsole.console.forms import Form, once_only
from recall import services as recall_services
from recall.services import Preview

EXAMPLES = (
    "Releases are built from the branch stable, on weekdays before noon.",
    "An answer begins with the result; the reasons follow below it.",
    "Pump 2 needs ten minutes to cool down before its valve is opened.",
)
_WORD = re.compile(r"[^\W\d_][\w'-]*")
_WORDS, _WORD_SHORTEST, _WORD_LONGEST = 3, 5, 40
_PLAIN = frozenset(
    {
        "about", "after", "again", "always", "because", "before", "being", "could", "every",
        "first", "never", "other", "shall", "should", "since", "still", "their", "there", "these",
        "those", "under", "until", "where", "which", "while", "would",
    }
)  # fmt: skip


class FirstForm(Form):
    """One text, and the bank that it goes to."""

    text = forms.CharField(
        required=False,
        strip=False,
        label="Something your agents should know",
        widget=forms.Textarea(attrs={"rows": 3, "dir": "auto", "autofocus": True}),
    )
    bank = forms.ChoiceField()
    once = forms.CharField(required=False, max_length=64, widget=forms.HiddenInput)

    def __init__(self, places: Sequence[str], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["bank"].choices = [(name, name) for name in places]  # type: ignore[attr-defined]  # of a choice field
        if len(places) == 1:
            self.fields["bank"].widget = forms.HiddenInput()

    @classmethod
    def start(cls, places: Sequence[str], example: str) -> "FirstForm":
        """The form with this example in it (a number from 1), else an empty one."""
        known = {str(number): text for number, text in enumerate(EXAMPLES, 1)}
        initial = {"text": known.get(example, ""), "bank": places[0], "once": uuid.uuid4().hex}
        return cls(places, initial=initial)

    @property
    def target(self) -> str:
        """The bank that is chosen."""
        return str(self["bank"].value() or "")

    def save(self, principal: Principal) -> tuple[Bank, entries.Saved] | None:
        """Save it, in a bank that is made for it when it is missing; None when it was refused."""

        def save() -> tuple[Bank, entries.Saved]:
            typed = self.cleaned_data
            bank = banks.open_or_create(principal, typed["bank"], Role.EDITOR, Scope.MEMORY_WRITE)
            draft = Draft(text=typed["text"], category=Category.FACTS)
            once = once_only(principal, typed)
            return bank, entries.save(principal, bank, draft, idempotency=once)

        return self.attempt(save)


def is_empty(principal: Principal) -> bool:
    """Whether no bank that this person may see has a live memory."""
    return not any(each.memories for each in queries.summaries(principal))


def places(principal: Principal) -> list[str]:
    """The banks that this person may write to, the default one first.

    The default one is among them while it is missing, if this person may make it.
    """
    default = config.current().default_bank
    roles = members.roles(principal)
    on_hold = {each.name for each in queries.summaries(principal) if each.hold}
    found = [name for name, role in roles.items() if role >= Role.EDITOR and name not in on_hold]
    if default not in roles and principal.may_create_banks:
        found.append(default)
    return sorted(found, key=lambda name: (name != default, name))


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """A memory, and what an agent that asks a question about it is given."""

    bank: Bank
    memory: Memory
    question: str
    preview: Preview

    @property
    def is_given(self) -> bool:
        """Whether this memory is among those that the agent gets."""
        return any(each.memory.id == self.memory.id for each in self.preview.given.memories)


def saved(principal: Principal, name: str, key: str) -> Saved | None:
    """The memory; None when it is not live. Raises what `open_bank` raises, MemoryNotFound."""
    bank = open_bank(principal, name, Role.VIEWER, Scope.MEMORY_READ)
    memory = queries.memory(bank, key)
    if memory.invalid_at is not None:
        return None
    asked = question(memory.text)
    return Saved(
        bank=bank,
        memory=memory,
        question=asked,
        preview=recall_services.preview(principal, bank, asked),
    )


def question(text: str) -> str:
    """What somebody may ask about who needs this text: some of its own words."""
    sentence = names.first_sentence(text)
    words = dict.fromkeys(
        word
        for word in _WORD.findall(sentence)
        if _WORD_SHORTEST <= len(word) <= _WORD_LONGEST and word.casefold() not in _PLAIN
    )
    return ", ".join(list(words)[:_WORDS]) or sentence
