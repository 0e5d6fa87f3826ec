"""Two texts side by side: which words went and which came."""

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

MOST_WORDS = 1_500
MOST_COMPARED = 2_000
SHOWN_AROUND = 60
_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
CONTEXT = 3
"""How many unchanged lines are shown around changed ones."""
LEAST_ALIKE = 0.3
"""The share of a line that stayed, below which its words are not compared."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of text: `same`, `gone` or `new`."""

    kind: str
    text: str


def tokens(*texts: str, by_lines: bool = False) -> list[list[str]]:
    """Each text cut into words, spaces and signs; when one of them is long, or `by_lines`, all
    into lines."""
    words = [] if by_lines else [_WORDS.findall(text) for text in texts]
    if words and max(map(len, words)) <= MOST_WORDS:
        return words
    return [_LINES.findall(text) for text in texts]


def pieces(before: str, after: str) -> list[Piece]:
    """The runs that make up both texts, in order: word by word, long texts line by line.

    Leaving out what is `new` gives `before`, leaving out what is `gone` gives `after`.
    """
    old, new = tokens(before, after)
    found: list[Piece] = []
    for tag, i1, i2, j1, j2 in opcodes(old, new):
        if tag == "equal":
            found.append(Piece("same", "".join(old[i1:i2])))
            continue
        found += [Piece("gone", "".join(old[i1:i2]))] if i2 > i1 else []
        found += [Piece("new", "".join(new[j1:j2]))] if j2 > j1 else []
    return found


def shortened(found: list[Piece]) -> list[Piece]:
    """The same with the middle of long unchanged runs left out."""
    last = len(found) - 1
    return [_cut(piece, first=n == 0, last=n == last) for n, piece in enumerate(found)]


def _cut(piece: Piece, *, first: bool, last: bool) -> Piece:
    if piece.kind != "same" or len(piece.text) <= 3 * SHOWN_AROUND:
        return piece
    head = "" if first else piece.text[:SHOWN_AROUND] + " "
    tail = "" if last else " " + piece.text[-SHOWN_AROUND:]
    return Piece("same", f"{head}…{tail}")


def opcodes(old: Sequence[str], new: Sequence[str]) -> Sequence[tuple[str, int, int, int, int]]:
    """What leads from one sequence to the other, as `difflib` says it: `equal`, `replace`, `delete`
    or `insert`, with the places in both. Of two long ones only what they begin and end with is
    found to be equal: comparing each line with all that are like it takes their product."""
    if max(len(old), len(new)) <= MOST_COMPARED:
        return difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    most = min(len(old), len(new))
    head = next((n for n in range(most) if old[n] != new[n]), most)
    tail = next((n for n in range(most - head) if old[-n - 1] != new[-n - 1]), most - head)
    i, j = len(old) - tail, len(new) - tail
    kind = "replace" if i > head and j > head else "delete" if i > head else "insert"
    return [
        each
        for each in (
            ("equal", 0, head, 0, head),
            (kind, head, i, head, j),
            ("equal", i, len(old), j, len(new)),
        )
        if each[1] < each[2] or each[3] < each[4]
    ]


@dataclass(frozen=True, slots=True)
class Side:
    """One line of one of two texts: its number, from 1, and its runs."""

    number: int
    pieces: list[Piece]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of both texts (`same`, `changed`) or of one (`gone`, `new`), or a number of unchanged
    ones that are left out (`fold`, with neither side)."""

    kind: str
    old: Side | None = None
    new: Side | None = None
    left_out: int = 0


def lines(before: str, after: str) -> list[Line]:
    """Both texts line by line, with the words that differ; the middle of long unchanged parts is
    left out."""
    old, new = before.split("\n"), after.split("\n")
    found: list[Line] = []
    for tag, i1, i2, j1, j2 in opcodes(old, new):
        if tag == "equal":
            same = [_same(i1 + n, j1 + n, old[i1 + n]) for n in range(i2 - i1)]
            found += _folded(same, first=i1 == 0, last=i2 == len(old))
        else:
            found += _differing(old[i1:i2], new[j1:j2], i1, j1)
    return found


def _same(i: int, j: int, text: str) -> Line:
    whole = [Piece("same", text)]
    return Line("same", Side(i + 1, whole), Side(j + 1, whole))


def _folded(same: list[Line], *, first: bool, last: bool) -> list[Line]:
    """Unchanged lines with their middle left out; of the first and last ones only what is near."""
    head, tail = 0 if first else CONTEXT, 0 if last else CONTEXT
    left_out = len(same) - head - tail
    if left_out <= CONTEXT:
        return same
    return [*same[:head], Line("fold", left_out=left_out), *same[len(same) - tail :]]


def _differing(old: Sequence[str], new: Sequence[str], i: int, j: int) -> Iterator[Line]:
    for n, (before, after) in enumerate(zip_longest(old, new)):
        if after is None:
            yield Line("gone", old=Side(i + n + 1, [Piece("gone", before)]))
        elif before is None:
            yield Line("new", new=Side(j + n + 1, [Piece("new", after)]))
        else:
            found = _words(before, after)
            left = [piece for piece in found if piece.kind != "new"]
            right = [piece for piece in found if piece.kind != "gone"]
            yield Line("changed", Side(i + n + 1, left), Side(j + n + 1, right))


def _words(before: str, after: str) -> list[Piece]:
    """The runs of two lines; of lines with little in common each is one."""
    found = pieces(before, after)
    stayed = sum(len(piece.text) for piece in found if piece.kind == "same")
    if stayed < LEAST_ALIKE * max(len(before), len(after)):
        return [piece for piece in (Piece("gone", before), Piece("new", after)) if piece.text]
    return found
