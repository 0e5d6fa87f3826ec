"""Two texts side by side: which words went and which came."""

import difflib
import re
from dataclasses import dataclass

MOST_WORDS = 1_500
SHOWN_AROUND = 60
_WORDS = re.compile(r"\s+|\w+|[^\w\s]")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of text: `same`, `gone` or `new`."""

    kind: str
    text: str


def pieces(before: str, after: str) -> list[Piece]:
    """The runs that make up both texts, in order: word by word, long texts line by line.

    Leaving out what is `new` gives `before`, leaving out what is `gone` gives `after`.
    """
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    if max(len(old), len(new)) > MOST_WORDS:
        old, new = _LINES.findall(before), _LINES.findall(after)
    found: list[Piece] = []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
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
