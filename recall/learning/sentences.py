"""Whole sentences of what somebody said: a part of one may say the opposite.

Where it is not plain that a sentence ends, it goes on.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from banks.store import names

_MARKS = " \"'`.,;:!?\u201c\u201d\u201e\u00ab\u00bb\u2018\u2019\u3002\uff01\uff1f"
"""What may stand around a quote: quotation marks and the ends of sentences, nothing that counts."""

_MARKS_MOST = 20

_BULLET = re.compile(r"\s*(?:[-*+\u2022]|\d{1,3}[.)])\s+")
_END = re.compile(
    "[.!?\u2026]+[\"')\\]\u201d\u2019\u00bb]*\\s+|[\u3002\uff01\uff1f]+[\u300d\u300f]?\\s*"
)
_LINE_ENDS = (".", "!", "?", ":", "\u3002", "\uff01", "\uff1f")
_LEADS = (":", "\uff1a", "**")
_GOES_ON = (",", ";", "-", "\u2013", "\u2014", "(")
_QUOTES = re.compile('["\u201c\u201d\u201e\u00ab\u00bb]')
_SHORT = frozenset(
    {
        "abs", "abt", "approx", "art", "bzw", "ca", "cf", "dr", "ed", "eds", "eg", "esp", "etc",
        "evtl", "fig", "ggf", "ie", "incl", "jr", "max", "min", "mr", "mrs", "ms", "mt", "nr",
        "no", "op", "pp", "prof", "resp", "sec", "sr", "st", "usw", "vgl", "vol", "vs",
    }
)  # fmt: skip
"""Words that end in a full stop within a sentence."""


@dataclass(frozen=True, slots=True)
class _Unit:
    """A sentence; `lead` is the line that leads it in, and may turn its sense round."""

    lead: str
    bullet: str
    words: str


def bare(text: str) -> str:
    """A text as quotes are compared: folded, without marks around it."""
    return names.normalise(text).strip(_MARKS)


def whole(text: str, quote: str) -> str:
    """The sentences, items or lines of a text that a quote consists of, on one line; else "".

    An item comes with the line that leads its list in.
    """
    wanted = bare(_BULLET.sub("", quote, count=1))
    units = list(_units(text))
    for first, unit in enumerate(units):
        found = unit.words
        for following in units[first + 1 :]:
            if len(found) > len(quote) + _MARKS_MOST or len(bare(found)) >= len(wanted):
                break
            found = f"{found} {following.bullet}{following.words}"
        if wanted and bare(found) == wanted:
            return f"{unit.lead} {found}".strip()
    return ""


def _units(text: str) -> Iterator[_Unit]:
    lead, is_list, was_blank = "", False, False
    for bullet, line in _lines(text):
        if not line:
            was_blank = True
            continue
        # A list may follow its lead after a blank line; any other line only at once.
        if not bullet and (is_list or was_blank):
            lead = ""
        for number, words in enumerate(_sentences(line)):
            yield _Unit(lead, bullet if number == 0 else "", words)
        is_list, was_blank = bool(bullet), False
        if line.endswith(_LEADS) or line.startswith("#"):
            lead, is_list = line, False
        elif not bullet:
            lead = ""


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Each line as bullet and words; what only wraps is one line."""
    bullet = line = ""
    for raw in text.splitlines():
        found = _BULLET.match(raw)
        words = " ".join(raw[found.end() if found else 0 :].split())
        if line and words and not found and _wraps(line, words):
            line = f"{line} {words}"
            continue
        yield bullet, line
        bullet, line = found[0].strip() + " " if found else "", words
    yield bullet, line


def _wraps(line: str, following: str) -> bool:
    return line.endswith(_GOES_ON) or (following[0].islower() and not line.endswith(_LINE_ENDS))


def _sentences(line: str) -> Iterator[str]:
    start = 0
    for end in _END.finditer(line):
        sentence, following = line[start : end.end()].strip(), line[end.end() :]
        if following and _is_over(sentence, end[0], following):
            yield sentence
            start = end.end()
    yield line[start:]


def _is_over(sentence: str, end: str, following: str) -> bool:
    if following[0].islower() or end.startswith(("..", "\u2026")):
        return False
    if len(_QUOTES.findall(sentence)) % 2 or sentence.count("(") > sentence.count(")"):
        return False
    word = sentence.rsplit(maxsplit=1)[-1].strip(_MARKS + "()[]")
    is_short = "." in word or word.lower() in _SHORT or (len(word) == 1 and word.isalpha())
    return not (end.startswith(".") and is_short)
