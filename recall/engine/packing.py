"""What fits into a prompt: rules into characters, memories into tokens. Nothing is rendered here.

Rules keep whole lines: a sentence that ends half-way says something else.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import accumulate

CHARS_A_TOKEN = 4
"""Characters that count as one token (spec: functions, Rules, injection)."""

AMBIENT_FLOOR = 3
"""Memories that a turn is given at least, if the bank has so many and the limit allows it."""

LEARNED = "learned"
"""The rule that grows line by line at its end: of it the newest lines are kept."""

LEARNED_SHARE = 0.25
"""Share of the budget that rules before and behind `LEARNED` leave to its newest lines."""


class Fit(StrEnum):
    """What became of a rule."""

    WHOLE = "whole"
    CUT = "cut"
    OMITTED = "omitted"


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedRule:
    """A rule and what is kept of it. `chars` and `lines` count its content, `kept` is the text."""

    name: str
    fit: Fit
    kept: str
    chars: int
    lines: int

    @property
    def kept_chars(self) -> int:
        """Characters that are kept."""
        return len(self.kept)

    @property
    def kept_lines(self) -> int:
        """Lines that are kept: the first ones, of `LEARNED` the last ones."""
        return self.kept.count("\n") + 1 if self.kept else 0


@dataclass(frozen=True, slots=True)
class PackedRules:
    """Rules by name and the budget in characters of content that they share."""

    rules: tuple[PackedRule, ...]
    budget_chars: int

    @property
    def total_chars(self) -> int:
        """Characters of all rules, kept or not."""
        return sum(rule.chars for rule in self.rules)

    @property
    def kept_chars(self) -> int:
        """Characters that are kept; never more than the budget."""
        return sum(rule.kept_chars for rule in self.rules)

    @property
    def over_chars(self) -> int:
        """How many characters there are too many; 0 when all fits."""
        return max(0, self.total_chars - self.budget_chars)

    @property
    def included(self) -> int:
        """How many rules are there, whole or in part."""
        return sum(rule.fit is not Fit.OMITTED for rule in self.rules)

    @property
    def truncated(self) -> bool:
        """Whether anything was left out."""
        return any(rule.fit is not Fit.WHOLE for rule in self.rules)


def pack_rules(contents: Iterable[tuple[str, str]], *, budget_chars: int) -> PackedRules:
    """Fit rules (name and content, names unique) into a budget of characters, in order of name.

    Blank lines around a content do not count, and a blank rule is no rule. What does not fit is
    cut at a line end, or omitted when not one line fits; later rules take the room that is left.
    `LEARNED` comes last but is kept room for: its newest lines are the last corrections.
    """
    rules = [
        PackedRule(name=name, fit=Fit.WHOLE, kept=text, chars=len(text), lines=text.count("\n") + 1)
        for name, content in sorted(contents)
        if (text := _bare(content))
    ]
    reserved = sum(_reserve(rule, budget_chars) for rule in rules if rule.name == LEARNED)
    room = budget_chars - reserved
    packed = {}
    for rule in sorted(rules, key=lambda rule: (rule.name == LEARNED, rule.name)):
        if rule.name == LEARNED:
            room += reserved
        packed[rule.name] = _cut(rule, room)
        room -= packed[rule.name].kept_chars
    return PackedRules(tuple(packed[rule.name] for rule in rules), budget_chars)


def rule_size(content: str) -> int:
    """How many characters of a rule count: blank lines around it do not."""
    return len(_bare(content))


def _bare(content: str) -> str:
    """Without blank lines before and white space behind; the first line keeps its indent."""
    text = content.rstrip()
    start = len(text) - len(text.lstrip())
    return text[text.rfind("\n", 0, start) + 1 :]


def _reserve(learned: PackedRule, budget_chars: int) -> int:
    """The room that is kept for the newest lines: a share, or the newest line when it is longer."""
    share = _cut(learned, int(budget_chars * LEARNED_SHARE)).kept_chars
    newest = len(learned.kept) - learned.kept.rfind("\n") - 1
    return max(share, newest if newest <= budget_chars else 0)


def _cut(rule: PackedRule, room: int) -> PackedRule:
    """The rule with whole lines of at most `room` characters."""
    if rule.chars <= room:
        return rule
    lines = rule.kept.split("\n")
    newest_first = rule.name == LEARNED
    if newest_first:
        lines.reverse()
    ends = accumulate(len(line) + 1 for line in lines)
    kept = lines[: sum(end - 1 <= room for end in ends)]
    if newest_first:
        kept.reverse()
    text = _bare("\n".join(kept))
    return replace(rule, kept=text, fit=Fit.CUT if text else Fit.OMITTED)


@dataclass(frozen=True, slots=True)
class PackedMemories:
    """Which hits and which ambient memories fit, as places in what was given."""

    hits: tuple[int, ...]
    ambient: tuple[int, ...]


def pack_memories(
    hits: Sequence[int], ambient: Sequence[int], *, limit: int, room_chars: int
) -> PackedMemories:
    """Fit memories, given as the characters of each, into a room; one that does not fit is skipped.

    Of `hits` at most `limit` are taken. When there were fewer than min(`AMBIENT_FLOOR`, `limit`),
    `ambient` ones fill up to that.
    """
    offered = hits[:limit]
    chosen, room = _fitting(offered, most=limit, room=room_chars)
    missing = max(0, min(AMBIENT_FLOOR, limit) - len(offered))
    padding, _ = _fitting(ambient, most=missing, room=room)
    return PackedMemories(chosen, padding)


def _fitting(sizes: Sequence[int], *, most: int, room: int) -> tuple[tuple[int, ...], int]:
    chosen: list[int] = []
    for place, size in enumerate(sizes):
        if len(chosen) < most and size <= room:
            chosen.append(place)
            room -= size
    return tuple(chosen), room


def tokens(chars: int) -> int:
    """Tokens that so many characters count as, rounded up."""
    return -(-chars // CHARS_A_TOKEN)
