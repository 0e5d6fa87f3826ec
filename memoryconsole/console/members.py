"""What the page of a bank's members shows, and its forms."""

import hashlib
from dataclasses import dataclass

from django import forms
from django.http import HttpRequest

from banks import errors
from banks.access import Principal, Role, Scope
from banks.services import Bank, members, open_bank
from memoryconsole.console.context import Place, person, place
from memoryconsole.console.forms import USERNAME_LENGTH, Form

ROLES = [(role.name.lower(), role.name.lower()) for role in Role]
NOBODY = "There is no person of that name. Capital and small letters count."
"""It is said of every name that is not exactly one: owners of a bank may not search for people."""

MEANINGS = (
    (Role.VIEWER, "reads and searches"),
    (Role.EDITOR, "also adds, edits, pins, deletes and restores memories"),
    (Role.MAINTAINER, "also writes rules, which every conversation of agents begins with"),
    (Role.OWNER, "also decides who belongs to the bank"),
)
"""What each role is for; each may do what those above it may."""


def role_of(word: str) -> Role:
    """The role of this name. Raises Invalid."""
    if word not in dict(ROLES):
        raise errors.Invalid(f"The roles are {', '.join(dict(ROLES))}.", loc="role")
    return Role[word.upper()]


class MemberForm(Form):
    """Somebody who joins a bank."""

    username = forms.CharField(
        label="Name",
        max_length=USERNAME_LENGTH,
        help_text="As it is typed when signing in; capitals count.",
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}
        ),
    )
    role = forms.ChoiceField(choices=ROLES, initial=Role.EDITOR.name.lower())

    def add_to(self, principal: Principal, bank: Bank) -> bool:
        """Make the person a member; false when it was refused, and the form says why."""

        def add() -> bool:
            typed = self.cleaned_data
            try:
                members.add(principal, bank, typed["username"], role_of(typed["role"]))
            except errors.NotFound as error:
                raise errors.Invalid(NOBODY, loc="username") from error
            return True

        return bool(self.attempt(add))


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One person of the list; `is_you`: the one who looks at it."""

    name: str
    role: str
    is_you: bool

    @property
    def key(self) -> str:
        """What the ids of this person's controls end with: a name may hold any character."""
        return hashlib.sha256(self.name.encode("utf-8", "surrogatepass")).hexdigest()[:12]

    @property
    def fields(self) -> list[tuple[str, str]]:
        """What the form sends that removes this person."""
        return [("username", self.name)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """The members of a bank; for those who cannot change them only its owners."""

    place: Place
    members: list[Member]
    roles: list[tuple[str, str]]
    meanings: list[tuple[str, str]]


def told(request: HttpRequest, name: str) -> Told:
    """The page of this bank. Raises what `open_bank` raises."""
    principal = person(request)
    bank = open_bank(principal, name, Role.VIEWER, Scope.MEMORY_READ)
    here = place(request, name)
    rows = members.listed(bank)
    if not here.may_manage:
        rows = [(owner, Role.OWNER) for owner in members.owners(bank)]
    return Told(
        place=here,
        members=[
            Member(name=who, role=role.name.lower(), is_you=principal.handle == f"user:{who}")
            for who, role in rows
        ],
        roles=ROLES,
        meanings=[(role.name.lower(), meaning) for role, meaning in MEANINGS],
    )
