"""What the audit log shows: deeds in words, with links to what they were about."""

from collections.abc import Iterable, Set
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse

from banks import access, audit, queries
from banks.access import Principal, Role
from banks.audit import Deed, Touch
from banks.queries import Memory
from banks.revisions import Then, of_versions, rules_with_past
from memoryconsole.console import htmx
from memoryconsole.console.timeline import as_in_left_out

PAGE = 50
SHOWN = 3

BY_HAND = "by hand"
_MARK_OF_TOKENS = " (token)"

_MEMORY, _MEMORIES, _RULE, _BANK = "a memory", "{} memories", "the rule", "the bank"
_ACTS = {
    "save": ("saved", _MEMORY),
    "save many": ("saved", _MEMORIES),
    "update": ("changed", _MEMORY),
    "revert": ("brought back an earlier state of", _MEMORY),
    "pin": ("changed the pin of", _MEMORY),
    "pin many": ("changed the pins of", _MEMORIES),
    "delete": ("deleted", _MEMORY),
    "delete many": ("deleted", _MEMORIES),
    "supersede": ("replaced", _MEMORY),
    "restore": ("restored", _MEMORY),
    "set rule": ("changed", _RULE),
    "revert rule": ("brought back an earlier state of", _RULE),
    "undo": ("undid a change of", ""),
    "import": ("imported", _MEMORIES),
    "learn": ("learned", _MEMORIES),
    "consolidate": ("consolidated", _MEMORIES),
    "roll back": ("rolled back", _MEMORIES),
    "describe": ("described", _BANK),
    "bank created": ("made", _BANK),
    "bank trashed": ("trashed", _BANK),
    "bank restored": ("restored", _BANK),
    "bank renamed": ("renamed", _BANK),
}
"""The verb of an operation and what it is about; `{}` is a number."""

_PINS, _REVERTS = ("pin", "pin many"), ("revert", "revert rule")
_ONE = {"entry": _MEMORY, "rule": _RULE, "bank": _BANK}
_MANY = {"entry": _MEMORIES, "rule": "{} rules", "bank": "{} banks"}

_FOUND = {
    "created": "added",
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
    what the deed made of a memory, or what it was before, as far as that is known, else what it is
    now; `became` is told where not all things became the same."""

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
        """Why, as it was given; that it was found in the files, or which earlier state came back,
        is told otherwise."""
        if self.deed.act in _REVERTS:
            return as_in_left_out(self.deed.reason)
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


def log(principal: Principal, wanted: Wanted, rows: int = 0) -> Log:
    """What was changed in the banks that this person may read, as far as it is wanted; when so many
    `rows` were shown already, as many again.

    Raises BankNotFound, Invalid for a broken cursor.
    """
    page = audit.page(
        principal,
        bank=wanted.bank or None,
        actor=wanted.actor,
        key=wanted.key or None,
        after=wanted.after or None,
        limit=htmx.whole_pages(rows, PAGE, audit.PAGE_MOST),
    )
    states, rules = _states(principal, page.deeds), _rules(principal, page.deeds)
    return Log(
        wanted=wanted,
        lines=[_line(deed, states, rules, wanted) for deed in page.deeds],
        banks=[each.name for each in queries.summaries(principal)],
        older=replace(wanted, after=page.next_cursor).query_string if page.next_cursor else "",
    )


@dataclass(frozen=True, slots=True)
class _States:
    """What the memories are that lines name, and what they were; by bank, id and version."""

    now: dict[tuple[str, str], Memory]
    then: dict[tuple[str, str, str], Then]

    def after(self, deed: Deed, touch: Touch) -> Then | None:
        """What a deed made of a memory; None when nobody knows."""
        return self.then.get((deed.bank, touch.key, touch.version_after))

    def before(self, deed: Deed, touch: Touch) -> Then | None:
        """What it was before."""
        return self.then.get((deed.bank, touch.key, touch.version_before))

    def name(self, deed: Deed, touch: Touch) -> str:
        """What a memory was called when the deed was done; `""` when nobody knows."""
        known = self.after(deed, touch) or self.before(deed, touch)
        if known is not None:
            return known.name
        memory = self.now.get((deed.bank, touch.key))
        return (memory.title or memory.summary) if memory else ""


def _states(principal: Principal, deeds: Iterable[Deed]) -> _States:
    """What the page needs to know of memories: rows by bank, and one history for each of them."""
    wanted: dict[str, dict[str, set[str]]] = {}
    for deed in deeds:
        for touch in deed.changes[:SHOWN]:
            if touch.target == "entry":
                versions = wanted.setdefault(deed.bank, {}).setdefault(touch.key, set())
                versions.update((touch.version_before, touch.version_after))
    states = _States({}, {})
    for name, versions_of in wanted.items():
        bank = access.bank_for(principal, name, Role.VIEWER)
        rows = queries.rows_by_ids(bank, versions_of)
        for each in queries.memories(bank, list(rows.values())):
            states.now[name, each.id] = each
            here = Then(each.title or each.summary, each.pinned)
            states.then[name, each.id, each.version] = here
            versions_of[each.id].discard(each.version)
        earlier = {key: versions - {""} for key, versions in versions_of.items()}
        for (key, version), was in of_versions(bank, earlier).items():
            states.then[name, key, version] = was
    return states


def _rules(principal: Principal, deeds: Iterable[Deed]) -> set[tuple[str, str]]:
    """The rules that have a page, removed ones too, of the banks whose rules are named."""
    found: set[tuple[str, str]] = set()
    for name in {each.bank for each in deeds if any(_is_rule(touch) for touch in each.changes)}:
        bank = access.bank_for(principal, name, Role.VIEWER)
        there = {rule.name for rule in queries.rules(bank)} | rules_with_past(bank)
        found |= {(name, each) for each in there}
    return found


def _is_rule(touch: Touch) -> bool:
    return touch.target == "rule"


def _line(
    deed: Deed,
    states: _States,
    rules: Set[tuple[str, str]],
    wanted: Wanted,
) -> Line:
    verb, what = _words(deed, states)
    targets = [
        _target(deed, each, states, has_page=(deed.bank, each.key) in rules)
        for each in deed.changes
    ]
    return Line(deed, verb, what, targets, replace(wanted, who=deed.actor, after=""))


def _words(deed: Deed, states: _States) -> tuple[str, str]:
    """Verb and object."""
    first = deed.changes[0]
    if not deed.uid:
        return _found(deed)
    verb, what = _ACTS.get(deed.act, (deed.act, ""))
    if deed.act == "save" and deed.count == 1:
        verb = {"updated": "confirmed", "restored": "restored"}.get(first.action, verb)
    if deed.act in _PINS:
        verb = next((word for each in deed.changes if (word := _pinned(deed, each, states))), verb)
    if deed.act == "set rule":
        verb = _rule_act(first)
    if (deed.act == "undo" or what == _MEMORIES) and deed.count == 1:
        what = _ONE[first.target]
    elif deed.act == "undo":
        what = "{} things"
    return verb, what.format(f"{deed.count:,}")


def _found(deed: Deed) -> tuple[str, str]:
    """What was found in the files, by who did it: a bank that somebody imported is new in all."""
    acts = {_act(each) for each in deed.changes}
    verb = acts.pop() if len(acts) == 1 else "changed"
    kinds = {each.target for each in deed.changes}
    if deed.actor != audit.BY_HAND and all(not each.version_before for each in deed.changes):
        verb = "imported"
    if deed.count == 1:
        return verb, _ONE[deed.changes[0].target]
    what = _MANY[kinds.pop()] if len(kinds) == 1 else "{} memories and rules"
    return verb, what.format(f"{deed.count:,}")


def _act(touch: Touch) -> str:
    return _rule_act(touch) if _is_rule(touch) else _FOUND.get(touch.action, touch.action)


def _rule_act(touch: Touch) -> str:
    if not touch.version_before:
        return "wrote"
    return "changed" if touch.version_after else "removed"


def _pinned(deed: Deed, touch: Touch, states: _States) -> str:
    """Which it was, as far as the state that the deed made is known, or the one before it."""
    after, before = states.after(deed, touch), states.before(deed, touch)
    if after is None and before is None:
        return ""
    became = after.pinned if after else not (before and before.pinned)
    return "pinned" if became else "unpinned"


def _target(deed: Deed, touch: Touch, states: _States, *, has_page: bool) -> Target:
    if touch.target == "entry":
        address = reverse("memory", args=[deed.bank, touch.key])
    elif _is_rule(touch):
        address = reverse("rule", args=[deed.bank, touch.key]) if has_page else ""
    else:
        address = reverse("memories", args=[deed.bank])
    is_mixed = len({(each.target, _act(each)) for each in deed.changes}) > 1
    became = ""
    if is_mixed:
        became = f"{_act(touch)} the rule" if _is_rule(touch) else _act(touch)
    return Target(touch.key, address, states.name(deed, touch), became)
