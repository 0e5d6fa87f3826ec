"""What the page of API tokens shows, and the form of a new one."""

import json
from dataclasses import dataclass
from typing import Any

from django import forms
from django.forms.boundfield import BoundWidget

from banks import config, queries, seams
from banks.access import AGENT_SCOPES, Principal, Scope
from banks.services import members, tokens
from banks.services.tokens import Token
from memoryconsole.console.forms import Form

WARN_DAYS = 7
_DAY_MS = 24 * 3_600 * 1_000

MEANINGS = {
    Scope.MEMORY_READ: "Find and read memories, also their history.",
    Scope.MEMORY_WRITE: "Save, change, delete and restore memories.",
    Scope.MEMORY_CURATE: "Change pinned memories too, and set when a memory was made.",
    Scope.RULES_READ: "Read the rules of a bank.",
    Scope.RULES_WRITE: "Write the rules that every conversation begins with.",
    Scope.RUNS_RUN: (
        "Have ended turns read and memories consolidated; see and decide what waits for a person."
    ),
    Scope.HOOKS: "Give each turn of an agent the memories and rules that fit it.",
    Scope.ADMIN: (
        "Describe and rename banks, move them to the trash and back; have webhooks called. "
        "With the token of an instance admin also: run the doctor, reload files, configure."
    ),
    Scope.BANKS_CREATE: "Make new banks. Not for a token of chosen banks.",
}
EVERY, CHOSEN = "every", "chosen"
NEVER = "never"
LIFETIMES = [("30", "30 days"), ("90", "90 days"), ("365", "a year"), (NEVER, "no end")]


class TokenForm(Form):
    """A token that a person makes for an agent. `once` is new in each form that is shown."""

    name = forms.CharField(
        max_length=tokens.NAME_LENGTH,
        help_text="What it is for. The history names it.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    scopes = forms.MultipleChoiceField(
        label="What it may do",
        initial=[scope.value for scope in AGENT_SCOPES],
        error_messages={
            "required": "Choose one at least.",
            "invalid_choice": "Your roles do not reach for %(value)s.",
        },
        widget=forms.CheckboxSelectMultiple,
    )
    reach = forms.ChoiceField(
        label="Banks",
        choices=[(EVERY, "Every bank that you may see, later ones too"), (CHOSEN, "Only these")],
        initial=EVERY,
        widget=forms.RadioSelect,
    )
    banks = forms.MultipleChoiceField(required=False, widget=forms.CheckboxSelectMultiple)
    days = forms.ChoiceField(
        label="Works for",
        choices=LIFETIMES,
        initial=str(tokens.DEFAULT_DAYS),
        help_text="Without an end it works until somebody revokes it, also when it leaks unseen.",
    )
    once = forms.CharField(max_length=64, widget=forms.HiddenInput)

    def __init__(self, principal: Principal, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offered = [(scope.value, scope.value) for scope in tokens.grantable(principal)]
        self.fields["scopes"].choices = offered  # type: ignore[attr-defined]  # of a choice field
        seen = [(name, name) for name in members.roles(principal)]
        self.fields["banks"].choices = seen  # type: ignore[attr-defined]  # of a choice field

    @property
    def scope_boxes(self) -> list[tuple[BoundWidget, str]]:
        """A box for each scope, with what it means."""
        boxes = self["scopes"].subwidgets
        return [(box, MEANINGS[Scope(box.data["value"])]) for box in boxes]

    @property
    def adds(self) -> bool:
        """Whether what is chosen to begin with lets an agent save memories."""
        chosen = self.fields["scopes"]
        offered = {value for value, _ in chosen.choices}  # type: ignore[attr-defined]  # of a choice field
        return Scope.MEMORY_WRITE.value in offered.intersection(chosen.initial)

    def clean(self) -> dict[str, Any]:
        """Either every bank or some of them, never by leaving something out."""
        cleaned = super().clean() or {}
        if (cleaned.get("reach") == CHOSEN) != bool(cleaned.get("banks")):
            self.add_error("banks", "Choose every bank, or only some and which.")
        return cleaned

    def make(self, principal: Principal) -> tuple[Token, str] | None:
        """The token and its secret; None when it was refused, and the form says why."""

        def make() -> tuple[Token, str]:
            typed = self.cleaned_data
            return tokens.create_own(
                principal,
                typed["name"],
                typed["scopes"],
                banks=typed["banks"] if typed["reach"] == CHOSEN else None,
                days=None if typed["days"] == NEVER else int(typed["days"]),
            )

        return self.attempt(make)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A token in the list. `state`: works, soon, expired, revoked or out (its owner may not sign
    in)."""

    token: Token
    state: str
    ends: str

    @property
    def is_open(self) -> bool:
        """Whether it can still be revoked."""
        return self.state in ("works", "soon", "out")

    @property
    def fields(self) -> list[tuple[str, str]]:
        """What the form sends that revokes it."""
        return [("token", str(self.token.id))]


def try_line(principal: Principal, token: Token, secret: str, root: str) -> str:
    """A command that shows that the token works by reading something; "" when it may not read.

    `root` is the address of the console with a slash at its end.
    """
    line = f"curl -fsS -H 'Authorization: Bearer {secret}' '{root}api/v1"
    roles, default = members.roles(principal), config.current().default_bank
    reached = [name for name in token.banks or roles if name in roles]
    bank = default if default in reached else next(iter(reached), "")
    if Scope.MEMORY_READ.value in token.scopes:
        if not bank:
            return f"{line}/banks'"
        body = json.dumps({"bank": bank, "query": "what is known here"})
        return f"{line}/recall' -H 'Content-Type: application/json' -d '{body}'"
    if Scope.RULES_READ.value in token.scopes and bank:
        return f"{line}/rules?bank={bank}'"
    return ""


def rows(principal: Principal) -> list[Row]:
    """The tokens that the caller may see: those that work first, each group newest first."""
    now = queries.milliseconds(seams.now())
    found = [_row(token, now) for token in tokens.listed(principal)]
    return sorted(found, key=lambda row: not row.is_open)


def _row(token: Token, now: int) -> Row:
    left = None if token.expires_at is None else token.expires_at - now
    state = "works"
    if token.revoked_at is not None:
        state = "revoked"
    elif left is not None and left <= 0:
        state = "expired"
    elif token.is_owner_out:
        state = "out"
    elif left is not None and left <= WARN_DAYS * _DAY_MS:
        state = "soon"
    return Row(token=token, state=state, ends=_ends(left))


def _ends(left_ms: int | None) -> str:
    """When a token expires, in words."""
    if left_ms is None:
        return "no end"
    days = (abs(left_ms) + _DAY_MS // 2) // _DAY_MS
    words = f"{days:,} day{'' if days == 1 else 's'}"
    if left_ms <= 0:
        return f"{words} ago" if days else "today"
    return f"in {words}" if days else "in less than a day"
