"""What the audit log shows: deeds in words, with links to what they were about."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse

from banks import access, audit, queries
from banks.access import Principal, Role
from banks.audit import Deed, Touch
from banks.queries import Memory

PAGE = 50
SHOWN = 3

BY_HAND = "by hand"
_MARK_OF_TOKENS = " (token)"

_MEMORY, _MEMORIES, _RULE, _BANK = "a memory", "{} memories", "the rule", "the bank"
_ACTS = {
    "save": ("saved", _MEMORY),
    "save many": ("saved", _MEMORIES),
    "update": ("changed", _MEMORY),
    "revert": ("brought back an earlier text of", _MEMORY),
    "pin": ("pinned or unpinned", _MEMORY),
    "pin many": ("pinned or unpinned", _MEMORIES),
    "delete": ("deleted", _MEMORY),
    "delete many": ("deleted", _MEMORIES),
    "supersede": ("replaced", _MEMORY),
    "restore": ("restored", _MEMORY),
    "set rule": ("changed", _RULE),
    "revert rule": ("brought back an earlier text of", _RULE),
    "undo": ("undid a change of", ""),
    "import": ("imported", _MEMORIES),
    "describe": ("described", _BANK),
    "bank created": ("made", _BANK),
    "bank trashed": ("trashed", _BANK),
    "bank restored": ("restored", _BANK),
    "bank renamed": ("renamed", _BANK),
}
"""The verb of an operation and what it is about; `{}` is a number."""

_FOUND = {
    "created": "new",
    "updated": "changed",
    "superseded": "replaced",
    "deleted": "deleted",
    "restored": "restored",
    "rules-changed": "changed",
    "trashed": "trashed",
    "renamed": "renamed",
}
"""What became of one thing."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the log is narrowed to, as people type it; `""` = everything."""

    bank: str = ""
    who: str = ""
    key: str = ""
    after: str = ""

    @classmethod
    def of(cls, query: QueryDict) -> "Wanted":
        """What an address asks for."""
        names = ("bank", "who", "key", "after")
        return cls(**{name: query.get(name, "").strip() for name in names})

    @property
    def is_narrowed(self) -> bool:
        """Whether something is left out."""
        return bool(self.bank or self.who or self.key)

    @property
    def query_string(self) -> str:
        """The same as an address."""
        pairs = (("bank", self.bank), ("who", self.who), ("key", self.key), ("after", self.after))
        told = urlencode([(name, value) for name, value in pairs if value])
        return f"?{told}" if told else reverse("audit")

    @property
    def actor(self) -> str | None:
        """The handle of who is meant: a name is that of a person."""
        word = self.who
        if not word:
            return None
        if word.lower() in (BY_HAND, audit.BY_HAND):
            return audit.BY_HAND
        if word.endswith(_MARK_OF_TOKENS):
            return f"token:{word.removesuffix(_MARK_OF_TOKENS)}"
        return word if ":" in word or word == access.SYSTEM.handle else f"user:{word}"


@dataclass(frozen=True, slots=True)
class Target:
    """One thing that a deed changed. `address` leads to it, `""` where there is no page; `name` is
    the beginning of a memory that is still there; `became` is told where not all
    things became the same."""

    key: str
    address: str
    name: str
    became: str


@dataclass(frozen=True, slots=True)
class Line:
    """A deed in words: somebody `verb` `what`, and what that was. Some of `targets` are shown at
    once, `rest` on demand, `unlisted` more are only counted."""

    deed: Deed
    verb: str
    what: str
    targets: list[Target]
    by: Wanted

    @property
    def first(self) -> list[Target]:
        """What is shown at once."""
        return self.targets[:SHOWN]

    @property
    def rest(self) -> list[Target]:
        """What is shown on demand."""
        return self.targets[SHOWN:]

    @property
    def unlisted(self) -> int:
        """How many things are not named."""
        return self.deed.count - len(self.targets)

    @property
    def id(self) -> str:
        """What the row and its controls are called by."""
        return self.deed.uid or f"{self.deed.bank}-{self.deed.at}-{self.deed.changes[0].key}"

    @property
    def reason(self) -> str:
        """Why, as it was given; that it was found in the files is told otherwise."""
        return "" if self.deed.reason == audit.FOUND else self.deed.reason

    @property
    def is_by_hand(self) -> bool:
        """Whether it was found in the files."""
        return self.deed.actor == audit.BY_HAND


@dataclass(frozen=True, slots=True)
class Log:
    """A page of the log, newest first."""

    wanted: Wanted
    lines: list[Line]
    banks: list[str]
    older: str = ""

    @property
    def headline(self) -> str:
        """What is listed."""
        count = len(self.lines)
        if self.wanted.after:
            return f"{count} older"
        if self.older:
            return f"The newest {count}"
        return "1 change" if count == 1 else f"{count} changes, newest first"


def log(principal: Principal, wanted: Wanted) -> Log:
    """What was changed in the banks that this person may read, as far as it is wanted.

    Raises BankNotFound, Invalid for a broken cursor.
    """
    page = audit.page(
        principal,
        bank=wanted.bank or None,
        actor=wanted.actor,
        key=wanted.key or None,
        after=wanted.after or None,
        limit=PAGE,
    )
    named = _named(principal, page.deeds)
    return Log(
        wanted=wanted,
        lines=[_line(deed, named, wanted) for deed in page.deeds],
        banks=[each.name for each in queries.summaries(principal)],
        older=replace(wanted, after=page.next_cursor).query_string if page.next_cursor else "",
    )


def _named(principal: Principal, deeds: Iterable[Deed]) -> dict[tuple[str, str], Memory]:
    """The memories that lines name, as they are now; by bank and id."""
    keys: dict[str, set[str]] = {}
    for deed in deeds:
        entries = {each.key for each in deed.changes[:SHOWN] if each.target == "entry"}
        keys.setdefault(deed.bank, set()).update(entries)
    found: dict[tuple[str, str], Memory] = {}
    for name, wanted in keys.items():
        bank = access.bank_for(principal, name, Role.VIEWER)
        rows = queries.rows_by_ids(bank, wanted)
        found |= {(name, each.id): each for each in queries.memories(bank, list(rows.values()))}
    return found


def _line(deed: Deed, named: Mapping[tuple[str, str], Memory], wanted: Wanted) -> Line:
    verb, what = _words(deed)
    targets = [_target(deed, each, named.get((deed.bank, each.key))) for each in deed.changes]
    return Line(deed, verb, what, targets, replace(wanted, who=deed.actor, after=""))


def _words(deed: Deed) -> tuple[str, str]:
    """Verb and object. What was found on disk has no verb of its own."""
    first = deed.changes[0]
    if not deed.uid:
        found = _FOUND.get(first.action, first.action)
        return found if deed.count == 1 else f"{deed.count:,} changes", ""
    verb, what = _ACTS.get(deed.act, (deed.act, ""))
    if deed.act == "save" and first.version_before:
        verb = "stated again"
    if deed.act == "set rule":
        verb = "wrote" if not first.version_before else verb
        verb = "removed" if not first.version_after else verb
    if deed.act in ("undo", "import") and deed.count == 1:
        what = _RULE if first.target == "rule" else _MEMORY
    elif deed.act == "undo":
        what = f"{deed.count:,} things"
    return verb, what.format(f"{deed.count:,}")


def _target(deed: Deed, touch: Touch, memory: Memory | None) -> Target:
    if touch.target == "entry":
        address = reverse("memory", args=[deed.bank, touch.key])
    elif touch.target == "rule":
        address = reverse("rule", args=[deed.bank, touch.key]) if touch.version_after else ""
    else:
        address = reverse("memories", args=[deed.bank])
    is_mixed = len({each.action for each in deed.changes}) > 1
    became = _FOUND.get(touch.action, touch.action) if is_mixed else ""
    name = (memory.title or memory.summary) if memory else ""
    return Target(touch.key, address, name or "", became)
