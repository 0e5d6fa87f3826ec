"""The shape of a procedure's text: five sections, so that an agent knows where to look."""

SECTIONS = (
    "When to use",
    "Preconditions",
    "Steps",
    "Tools required",
    "Known failures",
)
_DEFAULT = "Steps"
FAILURES = SECTIONS[-1]

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


def section(text: str, name: str) -> str:
    """What stands under one of the five headings, without the heading; `""` when nothing does."""
    bodies = [
        "\n".join(body[1:]).strip("\n") for part, body in _parts(text.split("\n")) if part == name
    ]
    return "\n".join(body for body in bodies if body)


def with_item(text: str, name: str, item: str) -> str:
    """The shaped text with one more item at the end of the list under this heading."""
    lines: list[str] = []
    for part, body in _parts(shape(text).split("\n")):
        kept = "\n".join(body).strip("\n")
        if part == name:
            gap = "\n" if _section(kept.rsplit("\n", 1)[-1]) else ""
            kept = f"{kept}\n{gap}- {item}"
        lines.append(kept)
    return "\n\n".join(each for each in lines if each)


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
