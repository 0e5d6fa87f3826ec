"""What the page of all banks shows, and what is said of a name while it is typed."""

from dataclasses import dataclass

from banks import errors, news, queries
from banks.access import Principal
from banks.queries import LastChange, Summary
from banks.services import members, opening
from banks.store import names
from banks.store.errors import InvalidName
from memoryconsole.console.context import role_name

FILTER_FROM = 16
"""With so many banks there is a box to filter them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One bank in the list. `last` None = its journal is empty."""

    summary: Summary
    role_name: str
    last: LastChange | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """The banks that a person may see, as far as they fit `words`; `total` counts them all.

    `fault` says why banks on disk that were never opened could not be looked for.
    """

    rows: list[Row]
    total: int
    words: str
    fault: str

    @property
    def has_filter(self) -> bool:
        """Whether there are enough for a box that filters."""
        return self.total >= FILTER_FROM

    @property
    def headline(self) -> str:
        """How many are shown, of how many."""
        noun = "bank" if self.total == 1 else "banks"
        return f"{len(self.rows):,} of {self.total:,} {noun}" if self.words else (
            f"{self.total:,} {noun}"
        )  # fmt: skip


def listed(principal: Principal, words: str) -> Listed:
    """The banks whose name or description holds these words, by name, their files looked at."""
    fault = ""
    try:
        found = opening.listed(principal)
    except errors.Unavailable as error:
        found, fault = queries.summaries(principal), error.message
    roles, last = members.roles(principal), news.last_changes(principal)
    own = members.own(principal) if principal.is_admin else roles
    wanted = words.casefold().strip()
    return Listed(
        rows=[
            Row(
                summary=each,
                role_name=role_name(roles[each.name], own.get(each.name)),
                last=last.get(each.name),
            )
            for each in found
            if each.name in roles and wanted in f"{each.name}\n{each.description}".casefold()
        ],
        total=len(found),
        words=wanted,
        fault=fault,
    )


def name_hint(principal: Principal, name: str) -> str:
    """What is to be said of a name for a new bank; "" while there is none."""
    if not name:
        return ""
    try:
        names.bank_name(name)
    except InvalidName as error:
        better = corrected(name)
        return f"That is no name for a bank. Use {better} instead?" if better else error.message
    if name in members.roles(principal):
        return f"{name} is there already: you would come to that bank."
    return f"{name} is free."


def corrected(name: str) -> str:
    """A name for a bank that is close to this one; "" when nothing of it can stay."""
    if not any(char.isascii() and char.isalnum() for char in name):
        return ""
    return names.slug(name, lambda _: False)[: names.NAME_LENGTH].rstrip("-")
