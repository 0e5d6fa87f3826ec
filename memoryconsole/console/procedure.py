"""A procedure's text as a page shows it: cut at its headings, everything else as it was typed."""

import re
from dataclasses import dataclass

from banks.store.procedure import SECTIONS

_HEADING = re.compile(r"(#{1,6}) +(.*?)(?: +#+)? *")
_OUTLINE = 2
_KNOWN = {section.casefold() for section in SECTIONS}


@dataclass(frozen=True, slots=True)
class Section:
    """A heading (level 2 or 3; `""` for what stands before the first) and the lines below it."""

    heading: str
    level: int
    text: str

    @property
    def is_empty(self) -> bool:
        """Whether one of the five sections was left without a word."""
        return not self.text and self.heading.casefold() in _KNOWN


def cut(text: str) -> list[Section]:
    """The text cut before each heading. In a fenced block `#` opens a comment, not a heading."""
    parts: list[tuple[str, int, list[str]]] = [("", _OUTLINE, [])]
    fence = ""
    for line in text.split("\n"):
        mark = line.strip()[:3]
        if mark in ("```", "~~~") and fence in ("", mark):
            fence = "" if fence else mark
        found = None if fence else _HEADING.fullmatch(line)
        if found is None:
            parts[-1][2].append(line)
            continue
        is_top = len(found[1]) <= _OUTLINE or len(parts) == 1
        parts.append((found[2], _OUTLINE if is_top else _OUTLINE + 1, []))
    cut_up = [Section(name, level, "\n".join(lines).strip("\n")) for name, level, lines in parts]
    return [each for each in cut_up if each.heading or each.text.strip()]
