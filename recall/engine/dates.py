"""Dates in what people write and in what was written when, as terms of the index."""

import re
from datetime import date

from recall.engine.analysis import fold

_NAMES = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_MONTHS = {
    name[:size]: number for number, name in enumerate(_NAMES, start=1) for size in (3, len(name))
}
_VERBS = frozenset(("mar", "march", "may"))
"""Months that are words too: in small letters they need a number beside them."""

_DATED = re.compile(
    r"(?<![\w.:/-])(?P<year>[12]\d{3})-(?P<month>0[1-9]|1[0-2])"
    r"(?:-(?P<day>0[1-9]|[12]\d|3[01]))?(?![\d/-]|\.\d)"
    r"|(?<![\w.])(?:(?P<before>0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?(?:\s+of)?\s+)?"
    rf"\b(?P<name>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b"
    r"(?:\s+(?P<after>[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?\b(?![.:]\d))?(?:,?\s+(?P<in>[12]\d{3})\b)?"
    r"|(?<![\w.:/-])(?P<alone>(?:19|20)\d\d)(?![\w:/-]|\.\d)",
    re.IGNORECASE,
)
"""A date as people write it: ISO, with the name of its month, or a year that stands alone."""


def day_terms(day: date) -> list[str]:
    """What a memory of that day is found by: day, year, month, and day of the month.

    They are written as no word is (ISO 8601 with parts left out): a `1` or a `2026` inside an
    identifier finds the memories that say so, not all that were written on such a day.
    """
    return _date_terms(day.year, day.month, day.day)


def date_terms(text: str) -> list[str]:
    """Terms of the dates that a text names, as `day_terms` writes them; in order, with repeats."""
    found = []
    for match in _DATED.finditer(fold(text)):
        part = match.groupdict()
        year = part["year"] or part["in"] or part["alone"]
        name, day = part["name"], part["day"] or part["before"] or part["after"]
        month = part["month"] or (name and _MONTHS[name.lower()])
        if name in _VERBS and not (day or year):
            continue
        found += _date_terms(*(int(each) if each else None for each in (year, month, day)))
    return found


def _date_terms(year: int | None, month: int | None, day: int | None) -> list[str]:
    terms = []
    if year and month and day:
        terms.append(f"{year}-{month:02}-{day:02}")
    if year:
        terms.append(f"{year}-")
    if month:
        terms.append(f"--{month:02}")
    if month and day:
        terms.append(f"--{month:02}-{day:02}")
    return terms
