"""What the pages of a bank's rules show: the list and its budget, one rule, its history."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.http import HttpRequest
from django.utils.safestring import SafeString

from banks import errors, queries
from banks.access import Role, Scope
from banks.audit import BY_HAND
from banks.queries import LastChange, RuleText
from banks.revisions import RuleRevision, of_rule, rules_with_past
from banks.services import Bank, open_bank
from banks.services.rules import RULE_LENGTH
from memoryconsole.console.comparing import Compared, chosen, last_changed
from memoryconsole.console.context import Place, person, place
from memoryconsole.console.diff import lines
from memoryconsole.console.markdown import render
from memoryconsole.console.merge import Conflict, conflict
from memoryconsole.console.meter import Meter, meter
from memoryconsole.console.timeline import REVERTED, as_in, brought_back
from recall import services as recall_services
from recall.services import LEARNED, Fit, PackedRule, PackedRules, rule_size

SHOWN = 20
EXAMPLE_NAME = "style"
EXAMPLE = """# Style

- Answer first, then the reasons.
- Name the file and the line that you talk about.
- Ask before you delete anything.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One rule in a list. `packed` None = it is kept, but not given to agents."""

    rule: RuleText
    packed: PackedRule | None
    last: LastChange | None
    budget_chars: int

    @property
    def is_learned(self) -> bool:
        """Whether agents write it."""
        return self.rule.name == LEARNED

    @property
    def chars(self) -> int:
        """Its size in characters, as the budget counts it."""
        return self.packed.chars if self.packed else rule_size(self.rule.content)

    @property
    def size(self) -> str:
        """Its size, and how much of it is given where that is not all."""
        if self.packed is None or self.packed.fit is Fit.WHOLE:
            return f"{self.chars:,}"
        return f"given {self.packed.kept_chars:,} of {self.chars:,}"

    @property
    def share(self) -> str:
        """What is given of it as a part of the budget; "" when it takes nothing of it. Never
        rounded up, so that all of them are no more than the whole."""
        if self.packed is None or not (self.budget_chars and self.packed.kept_chars):
            return ""
        percent = 100 * self.packed.kept_chars // self.budget_chars
        return f"{percent} %" if percent else "< 1 %"

    @property
    def cut(self) -> str:
        """What of it agents do not get; "" when they get all."""
        return fate(self.packed) if self.packed else ""


@dataclass(frozen=True, slots=True)
class Removed:
    """A rule that is no more, but whose earlier texts are kept. `last` None = nobody knows when."""

    name: str
    last: LastChange | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """The rules of a bank in the order in which agents get them; removed ones by name."""

    place: Place
    rows: list[Row]
    removed: list[Removed]
    meter: Meter
    example: SafeString

    @property
    def are_given(self) -> bool:
        """Whether agents get any of them."""
        return any(row.packed for row in self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One state of a rule; `before` is the number of the one before it, 0 for the first."""

    revision: RuleRevision
    before: int
    is_now: bool
    reason: str

    @property
    def name(self) -> str:
        """What the state is called."""
        return f"r{self.revision.number}"

    @property
    def before_name(self) -> str:
        """What the one before it is called."""
        return f"r{self.before}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One rule and how it came about. `is_gone`: it was removed, and `row` is how it was last.

    `last_changed`: the number of the last state that says something else than the one before it.
    """

    place: Place
    row: Row
    html: SafeString
    meter: Meter
    steps: list[Step]
    older: int
    is_gone: bool
    last_changed: int

    @property
    def revisions(self) -> int:
        """How many states are known."""
        return len(self.steps) + self.older

    @property
    def version(self) -> str:
        """The version that a change of the rule begins with; "" when it was removed."""
        return "" if self.is_gone else self.row.rule.version

    @property
    def delete_fields(self) -> list[tuple[str, str]]:
        """What the form sends that removes the rule."""
        return [("version", self.version)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A text that is not saved: how it reads, and what it does to the budget."""

    html: SafeString
    is_too_long: bool
    meter: Meter
    chars: int
    cuts: list[str]


def listed(request: HttpRequest, name: str) -> Listed:
    """The rules of this bank. Raises what `open_bank` raises."""
    bank = open_bank(person(request), name, Role.VIEWER, Scope.RULES_READ)
    rules, packed = queries.rules(bank), recall_services.rules_budget(bank)
    there = {rule.name for rule in rules}
    gone = sorted(rules_with_past(bank) - there)
    last = queries.last_rule_changes(bank, [*there, *gone])
    return Listed(
        place=place(request, name),
        rows=[_row(rule, packed, last.get(rule.name)) for rule in rules],
        removed=[Removed(each, last.get(each)) for each in gone],
        meter=meter(packed.total_chars, packed.budget_chars),
        example=render(EXAMPLE),
    )


def told(request: HttpRequest, name: str, rule_name: str, *, whole: bool) -> Told:
    """One rule with its newest states, or with all; a removed one as it was last.

    Raises what `open_bank` raises, and RuleNotFound.
    """
    bank = open_bank(person(request), name, Role.VIEWER, Scope.RULES_READ)
    revisions = of_rule(bank, rule_name)
    rule = _current(bank, rule_name)
    packed = recall_services.rules_budget(bank)
    was = rule or _last(rule_name, revisions)
    last = queries.last_rule_changes(bank, [rule_name]).get(rule_name)
    row = _row(was, packed, last)
    mine = row.packed.chars if row.packed else 0
    return Told(
        place=place(request, name),
        row=row,
        html=render(was.content),
        meter=meter(packed.total_chars, packed.budget_chars, this=mine),
        steps=_steps(revisions)[: len(revisions) if whole else SHOWN],
        older=0 if whole else max(0, len(revisions) - SHOWN),
        is_gone=rule is None,
        last_changed=_last_changed(revisions),
    )


def draft(bank: Bank, name: str, text: str) -> Draft:
    """How a text for this rule would read, and which rules would be cut if it were saved."""
    content = queries.plain(text)
    packed = recall_services.rules_budget(bank, instead={name: content})
    mine = next((each for each in packed.rules if each.name == name), None)
    chars = mine.chars if mine else rule_size(content)
    is_too_long = len(content) > RULE_LENGTH
    return Draft(
        html=render("" if is_too_long else content),
        is_too_long=is_too_long,
        meter=meter(packed.total_chars, packed.budget_chars, this=mine.chars if mine else 0),
        chars=chars,
        cuts=[
            f"{'This rule' if each.name == name else each.name} is {fate(each)}"
            for each in packed.rules
            if each.fit is not Fit.WHOLE
        ],
    )


def fate(rule: PackedRule) -> str:
    """Where a rule is cut, in words; "" when agents get all of it."""
    if rule.fit is Fit.WHOLE:
        return ""
    if rule.fit is Fit.OMITTED:
        return "left out, since not one line of it fits"
    which = "newest" if rule.name == LEARNED else "first"
    return (
        f"cut: agents get the {which} {rule.kept_lines:,} of {rule.lines:,} lines, "
        f"{rule.kept_chars:,} of {rule.chars:,} characters"
    )


@dataclass(frozen=True, slots=True)
class Clash:
    """An edit of a rule that met another one. `version`: of what is there now, "" for nothing."""

    texts: Conflict
    latest: RuleRevision
    version: str


def clash(bank: Bank, name: str, base: str, typed: str, *, onto: str | None = None) -> Clash:
    """What happened to a rule between the version `base` and now, or the later version `onto` as
    far as that is known. Raises RuleNotFound."""
    revisions, now = of_rule(bank, name), _current(bank, name)
    met = next((n for n, each in enumerate(revisions) if each.version == onto), 0)
    if met:
        revisions = revisions[met:]
        now = RuleText(name, revisions[0].content, onto, revisions[0].at or 0) if onto else None
    was = next((each.content for each in revisions if each.version == base), None)
    texts = conflict(
        was if base else "", now.content if now else "", queries.plain(typed), by_lines=True
    )
    latest = revisions[0]
    if latest.at is None and now is not None:
        latest = replace(latest, at=now.updated_at)
    return Clash(texts, latest, now.version if now else "")


def compared(bank: Bank, name: str, first: str, second: str) -> Compared:
    """Two states of a rule, line by line. Raises RuleNotFound, NotFound."""
    revisions = of_rule(bank, name)
    before, after = chosen(first, second, len(revisions), _last_changed(revisions))
    old, new = revisions[-before], revisions[-after]
    differ = lines(old.content, new.content) if old.content != new.content else []
    return Compared(before, after, old, new, differ, [])


def _last_changed(revisions: Sequence[RuleRevision]) -> int:
    return last_changed(revisions, lambda old, new: old.content != new.content)


def _current(bank: Bank, name: str) -> RuleText | None:
    try:
        return queries.rule(bank, name)
    except errors.RuleNotFound:
        return None


def _last(name: str, revisions: Sequence[RuleRevision]) -> RuleText:
    """A removed rule as it was before."""
    removed, was = revisions[0], revisions[1]
    return RuleText(name, was.content, was.version, removed.at or 0)


def _row(rule: RuleText, packed: PackedRules, last: LastChange | None) -> Row:
    return Row(
        rule=rule,
        packed=next((each for each in packed.rules if each.name == rule.name), None),
        last=last,
        budget_chars=packed.budget_chars,
    )


def _steps(revisions: Sequence[RuleRevision]) -> list[Step]:
    return [
        Step(
            revision=each,
            before=each.number - 1,
            is_now=place == 0,
            reason=_reason(each, revisions[place + 1 :]),
        )
        for place, each in enumerate(revisions)
    ]


def _reason(revision: RuleRevision, earlier: Sequence[RuleRevision]) -> str:
    """Why a state was made. What was brought back is named as it is on the page."""
    if revision.actor == BY_HAND:
        return ""
    if revision.act != REVERTED:
        return revision.reason or ""
    wanted = brought_back(revision.reason or "")
    same = [each.number for each in earlier if each.version == revision.version]
    number = wanted if wanted in same else next(iter(same), None)
    return as_in(revision.reason or "", number)
