"""How values are written on pages."""

from datetime import datetime
from functools import cache

from django import template
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from lucide.templatetags.lucide import lucide

from banks import queries, seams
from banks.audit import BY_HAND
from banks.queries import Memory
from banks.revisions import Revision
from banks.store.types import Kind
from memoryconsole.console.procedure import Section, cut
from memoryconsole.console.telling import LINK, LOG, REDO, UNDO

register = template.Library()

GIST_LENGTH = 600

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400

ORIGINS = {
    "user_message": "a person",
    "user_feedback": "a person's feedback",
    "tool_result": "a tool's output",
    "consolidation": "consolidation",
    "agent": "an agent",
}
LINKS = {LINK: "Open it", LOG: "Its changes"}
CATEGORIES = {
    "facts": "fact",
    "preferences": "preference",
    "rules": "remembered rule",
    "events": "event",
    "feedbacks": "feedback",
    "errors": "error",
    "procedure": "procedure",
}


@register.simple_tag
@cache
def icon(name: str) -> str:
    """The drawing of this name, made once: a list shows the same few a hundred times."""
    look = {"class": "icon", "aria_hidden": "true", "focusable": "false"}
    return lucide(name, size=16, stroke_width=1.75, **look)


@register.filter
def moment(milliseconds: int) -> datetime:
    """The time of milliseconds since the epoch."""
    return queries.from_milliseconds(milliseconds)


@register.filter
def ago(milliseconds: int) -> str:
    """How long ago, in words; a day beyond a week."""
    time, now = moment(milliseconds), seams.now()
    seconds = (now - time).total_seconds()
    if seconds < -_MINUTE or seconds >= 7 * _DAY:
        return f"{time.day} {time:%b}" if time.year == now.year else f"{time.day} {time:%b %Y}"
    if seconds < _MINUTE:
        return "just now"
    if seconds < _HOUR:
        return f"{int(seconds // _MINUTE)} min ago"
    if seconds < _DAY:
        return f"{int(seconds // _HOUR)} h ago"
    days = int(seconds // _DAY)
    return "1 day ago" if days == 1 else f"{days} days ago"


@register.filter
def exact(milliseconds: int) -> str:
    """The exact time."""
    return f"{moment(milliseconds):%Y-%m-%d %H:%M:%S} UTC"


@register.filter
def actor(handle: str) -> str:
    """Who did it, from a handle."""
    kind, _, name = handle.partition(":")
    if kind == "user" and name:
        return name
    if kind == "token" and name:
        return f"{name} (token)"
    return handle


@register.filter
def deed(revision: Revision) -> str:
    """What was done to a memory."""
    return "changed by hand in the file" if revision.actor == BY_HAND else revision.act


@register.filter
def by(revision: Revision) -> str:
    """Who did it; `""` when that is not known."""
    return "" if revision.actor == BY_HAND else actor(revision.actor)


@register.filter
def origin(word: str) -> str:
    """Where it was learned, in words."""
    return ORIGINS.get(word, word)


@register.filter
def category(word: str) -> str:
    """One memory of this category, in words."""
    return CATEGORIES.get(word, word)


@register.filter
def gist(memory: Memory) -> str:
    """The beginning of a text for a list; of a procedure only the sections that say something."""
    begin = memory.text[:GIST_LENGTH].strip()
    if memory.kind != Kind.PROCEDURAL:
        return begin
    lines = [line for line in begin.split("\n") if line.strip()]
    following = [*lines[1:], "##"]
    shown = [
        line.removeprefix("## ")
        for line, after in zip(lines, following, strict=True)
        if not (line.startswith("##") and after.startswith("##"))
    ]
    return "\n".join(shown)


@register.filter
def name(memory: Memory) -> str:
    """What a link to a memory without a text says."""
    return memory.title or memory.summary or memory.id


@register.filter
def sections(text: str) -> list[Section]:
    """The text of a procedure, cut at its headings."""
    return cut(text)


@register.filter
def breakable(path: str) -> SafeString:
    """A path that may be broken behind its slashes."""
    return format_html_join(SafeString("/<wbr>"), "{}", ((part,) for part in path.split("/")))


@register.filter
def thousands(number: int) -> str:
    """A count with a comma between thousands."""
    return f"{number:,}"


@register.filter
def plus_one(number: int) -> int:
    """How often a memory was seen: the first time counts too."""
    return number + 1


@register.filter
def undo(tags: str) -> str:
    """The address of a message's Undo form, or of the one that does it again; `""` when it has
    none."""
    kind, *parts = tags.split(" ")
    return parts[0] if kind in (UNDO, REDO) else ""


@register.filter
def is_redo(tags: str) -> bool:
    """Whether that form does again what was undone."""
    return tags.startswith(f"{REDO} ")


@register.filter
def touched(tags: str) -> str:
    """The id of the memory, or the name of the rule, that a message with an Undo form is about."""
    return tags.split(" ")[2]


@register.filter
def without_sel(address: str) -> str:
    """The address of a list without the memory that is open beside it."""
    path, _, query = address.partition("?")
    kept = [pair for pair in query.split("&") if pair and not pair.startswith("sel=")]
    return f"{path}?{'&'.join(kept)}" if kept else path


@register.filter
def link(tags: str) -> str:
    """Where a message leads; `""` when to nowhere."""
    kind, *parts = tags.split(" ")
    return parts[0] if kind in LINKS else ""


@register.filter
def link_word(tags: str) -> str:
    """What that link says."""
    return LINKS[tags.split(" ", maxsplit=1)[0]]
