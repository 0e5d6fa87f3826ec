"""Two edits that met: what it was, what it is now, what somebody typed meanwhile; and their merge.

A merge keeps what only one side changed. Where both changed the same words, both stand in it, with
marks that nobody can overlook.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import Match

from memoryconsole.console.diff import Piece, opcodes, pieces, tokens

NOTHING = "(nothing)"
_MARKS = ("[yours: ", "[theirs: ")
_ANCHOR = re.compile(r"\w|\n")


@dataclass(frozen=True, slots=True)
class Merged:
    """The text that has both edits; in how many places both changed the same words."""

    text: str
    clashes: int

    @property
    def is_clean(self) -> bool:
        """Whether nothing has to be decided by hand."""
        return not self.clashes

    def undecided(self, text: str) -> int:
        """In how many places of a text that was made of this one both still stand. Such marks that
        one of the edits brought along count as words."""
        more = (text.count(mark) - self.text.count(mark) for mark in _MARKS)
        return max(0, self.clashes + max(more)) if self.clashes else 0


@dataclass(frozen=True, slots=True)
class Conflict:
    """Three texts of one thing. `was` None = the state that the edit began with is not known, and
    `theirs` (from `was` to `now`) and `yours` (from `was` to `mine`) are empty."""

    was: str | None
    now: str
    mine: str
    theirs: list[Piece]
    yours: list[Piece]
    merged: Merged


def conflict(was: str | None, now: str, mine: str, *, by_lines: bool = False) -> Conflict:
    """What two edits of `was` did, and how they go together; `by_lines`: no line of the merge has
    words of both."""
    if was is None:
        common = "".join(piece.text for piece in pieces(now, mine) if piece.kind == "same")
        merged = merge(common, mine, now, by_lines=by_lines)
        return Conflict(None, now, mine, [], [], merged)
    merged = merge(was, mine, now, by_lines=by_lines)
    return Conflict(was, now, mine, pieces(was, now), pieces(was, mine), merged)


def merge(was: str, mine: str, theirs: str, *, by_lines: bool = False) -> Merged:
    """Both edits of `was` in one text: word by word, long texts (and `by_lines` all) by lines."""
    base, ours, others = tokens(was, mine, theirs, by_lines=by_lines)
    parts: list[str] = []
    clashes = b = m = t = 0
    for at, at_mine, at_theirs, size in _kept_by_both(base, ours, others):
        old, my, their = base[b:at], ours[m:at_mine], others[t:at_theirs]
        if their in (my, old):
            parts += my
        elif my == old:
            parts += their
        else:
            parts += _marked(my, their)
            clashes += 1
        parts += base[at : at + size]
        b, m, t = at + size, at_mine + size, at_theirs + size
    return Merged("".join(parts), clashes)


def _blocks(base: Sequence[str], other: Sequence[str]) -> list[Match]:
    """The runs that both have, in order, and one of no length at the end."""
    same = [Match(i, j, to - i) for tag, i, to, j, _ in opcodes(base, other) if tag == "equal"]
    return [*same, Match(len(base), len(other), 0)]


def _kept_by_both(
    base: Sequence[str], mine: Sequence[str], theirs: Sequence[str]
) -> Iterator[tuple[int, int, int, int]]:
    """The runs of `base` that both sides have: where they are in each, and how long. The last one
    is the end. A space or a sign alone ties nothing: words on both sides are one place."""
    left, right = _blocks(base, mine), _blocks(base, theirs)
    i = j = 0
    while i < len(left) and j < len(right):
        one, other = left[i], right[j]
        start = max(one.a, other.a)
        end = min(one.a + one.size, other.a + other.size)
        if start < end and any(_ANCHOR.search(token) for token in base[start:end]):
            yield start, one.b + start - one.a, other.b + start - other.a, end - start
        if one.a + one.size <= other.a + other.size:
            i += 1
        else:
            j += 1
    yield len(base), len(mine), len(theirs), 0


def _marked(mine: list[str], theirs: list[str]) -> list[str]:
    """Both texts of one place; what they begin and end with alike stays outside of the marks."""
    head = _alike(mine, theirs)
    tail = _alike(mine[head:][::-1], theirs[head:][::-1])
    before, after = mine[:head], mine[len(mine) - tail :]
    yours, other = ("".join(each[head : len(each) - tail]) for each in (mine, theirs))
    around = yours if yours.strip() else other
    inner = around.strip()
    first, last = around.split(inner, 1) if inner else (around, "")
    ours, others = (f"{each.strip() or NOTHING}]" for each in (yours, other))
    marks = f"{_MARKS[0]}{ours} {_MARKS[1]}{others}"
    return [*before, first, marks, last, *after]


def _alike(one: list[str], other: list[str]) -> int:
    """With how many tokens both begin alike."""
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def choose_first(count: int) -> str:
    """What a merge is refused with in which so many places are not decided."""
    places = "1 place" if count == 1 else f"{count} places"
    return (
        f"Choose in {places} first: leave one of both texts, and take away “[yours: …]” and "
        "“[theirs: …]” around them."
    )


def merge_labels(was: Sequence[str], mine: Sequence[str], theirs: Sequence[str]) -> list[str]:
    """Labels of both: theirs without what was taken away here, then what was added here."""
    kept = [label for label in theirs if label in mine or label not in was]
    return kept + [label for label in mine if label not in was and label not in kept]
