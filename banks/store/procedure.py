"""The shape of a procedure's text: five sections, so that an agent knows where to look."""

SECTIONS = (
    "When to use",
    "Preconditions",
    "Steps",
    "Tools required",
    "Known failures",
)
_DEFAULT = "Steps"

TEMPLATE = "\n\n".join(f"## {section}" for section in SECTIONS)


def shape(text: str) -> str:
    """The text with all five sections in their order: what stands under a heading stays there.

    A text with none of the sections goes under Steps; a missing section is added empty. Shaping
    twice changes nothing.
    """
    lines = text.split("\n")
    if not any(_section(line) for line in lines):
        lines = [f"## {_DEFAULT}", "", *lines]
    parts = _parts(lines)
    shaped = [body for name, body in parts if not name]
    for section in SECTIONS:
        there = [body for name, body in parts if name == section]
        shaped += there or [[f"## {section}"]]
    return "\n\n".join("\n".join(body).strip("\n") for body in shaped if _shown(body))


def says_something(text: str) -> bool:
    """Whether there is anything but headings in the text."""
    return any(line.strip() and not line.startswith("#") for line in text.split("\n"))


def _shown(body: list[str]) -> bool:
    return any(line.strip() for line in body)


def _section(line: str) -> str:
    """The section that a line opens, `""` for any other line."""
    name = line[3:].strip().casefold() if line.startswith("## ") else ""
    return next((section for section in SECTIONS if section.casefold() == name), "")


def _parts(lines: list[str]) -> list[tuple[str, list[str]]]:
    """The text cut before each of the five headings; what stands before the first is unnamed."""
    parts: list[tuple[str, list[str]]] = [("", [])]
    for line in lines:
        section = _section(line)
        if section:
            parts.append((section, []))
        parts[-1][1].append(line)
    return parts
