"""A procedure's text as a page shows it: cut at its headings, everything else as it was typed."""

import re
from dataclasses import dataclass

from banks.store.procedure import SECTIONS

_HEADING = re.compile(r"(#{1,6}) +(.*?)(?: +#+)? *")
_OUTLINE = 2
_KNOWN = {section.casefold() for section in SECTIONS}


@dataclass(frozen=True, slots=True)
class Part:
    """Some lines of a section. `is_code`: they are a fenced block, with its fences."""

    text: str
    is_code: bool


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

    @property
    def parts(self) -> list[Part]:
        """The lines by what they are, without blank ones between."""
        runs: list[tuple[bool, list[str]]] = [(False, [])]
        fence = ""
        for line in self.text.split("\n"):
            mark = _fence(line, fence)
            if mark and not fence:
                runs.append((True, []))
            runs[-1][1].append(line)
            if mark and fence:
                runs.append((False, []))
            if mark:
                fence = "" if fence else mark
        found = [Part("\n".join(lines).strip("\n"), is_code) for is_code, lines in runs]
        return [each for each in found if each.text]


def cut(text: str) -> list[Section]:
    """The text cut before each heading. In a fenced block `#` opens a comment, not a heading."""
    parts: list[tuple[str, int, list[str]]] = [("", _OUTLINE, [])]
    fence = ""
    for line in text.split("\n"):
        if mark := _fence(line, fence):
            fence = "" if fence else mark
        found = None if fence else _HEADING.fullmatch(line)
        if found is None:
            parts[-1][2].append(line)
            continue
        is_top = len(found[1]) <= _OUTLINE or len(parts) == 1
        parts.append((found[2], _OUTLINE if is_top else _OUTLINE + 1, []))
    cut_up = [Section(name, level, "\n".join(lines).strip("\n")) for name, level, lines in parts]
    return [each for each in cut_up if each.heading or each.text.strip()]


def _fence(line: str, within: str) -> str:
    """The mark of a line that opens a fenced block, or ends the one that it stands `within`; `""`
    for any other line."""
    mark = line.strip()[:3]
    return mark if mark in ("```", "~~~") and within in ("", mark) else ""
