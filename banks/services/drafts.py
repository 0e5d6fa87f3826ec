"""What a caller wants to save or change, made fit to be written: cleaned, masked, measured.

All of it happens before the bank's lock is taken.
"""

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime

from banks import errors
from banks.access import Principal, Scope
from banks.operations import store_errors
from banks.store import names, procedure, redact
from banks.store.types import Category, Kind, Origin, Trust

SUMMARY_LENGTH = 200
HANDLE_LENGTH = 255
REASON_LENGTH = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A memory to save. None = not given. `created` may be given for imports only."""

    text: str
    category: Category | None = None
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    pinned: bool = False
    summary: str | None = None
    title: str | None = None
    origin: Origin | None = None
    trust: Trust | None = None
    supersedes: str | None = None
    session: str | None = None
    source_entry: str | None = None
    agent: str | None = None
    created: datetime | None = None
    redacted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """Fields to change; None = leave as it is. An empty tuple clears, and so does an empty
    summary (it follows the text again)."""

    text: str | None = None
    tags: tuple[str, ...] | None = None
    entities: tuple[str, ...] | None = None
    pinned: bool | None = None
    summary: str | None = None
    title: str | None = None
    trust: Trust | None = None
    redacted: tuple[str, ...] = ()


def refuse_secret(name: str) -> None:
    """Raise Invalid for a new name of a bank or rule that is a secret: it would stand in addresses,
    and cannot be masked like a text."""
    if redact.mask(name).labels:
        raise errors.Invalid(
            "That looks like a secret: choose a name that all may see.",
            loc="name",
            code="invalid_name",
        )


def clean(principal: Principal, draft: Draft) -> Draft:
    """The draft as it may be written. Raises Invalid, ScopeMissing (`created` without curate)."""
    if draft.created is not None and not principal.has(Scope.MEMORY_CURATE):
        raise errors.ScopeMissing("Setting created_at needs the scope memory:curate.")
    category = draft.category or Category.FACTS
    masked = _Mask()
    with store_errors():
        text = _text(masked(names.clean_text(draft.text)), category)
        cleaned = replace(
            draft,
            text=text,
            tags=names.clean_labels(map(masked, draft.tags), "tags"),
            entities=names.clean_labels(map(masked, draft.entities), "entities"),
            summary=_line(masked, draft.summary, "summary"),
            title=_title(masked, draft.title) if category is Category.PROCEDURE else None,
            session=_line(masked, draft.session, "session_id", HANDLE_LENGTH),
            source_entry=_line(masked, draft.source_entry, "entry_id", HANDLE_LENGTH),
            agent=_line(masked, draft.agent, "agent", HANDLE_LENGTH),
            origin=draft.origin or (Origin.AGENT if principal.is_token else Origin.USER_MESSAGE),
        )
    return replace(cleaned, redacted=masked.labels)


def usable(principal: Principal, draft: Draft) -> Draft | None:
    """The same of what a program made up; None when it cannot be written. Raises ScopeMissing."""
    try:
        return clean(principal, draft)
    except errors.Invalid:
        return None


def clean_patch(patch: Patch, category: Category) -> Patch:
    """The patch as it may be written to an entry of this category. Raises Invalid."""
    masked = _Mask()
    with store_errors():
        text = None if patch.text is None else masked(names.clean_text(patch.text))
        cleaned = replace(
            patch,
            text=None if text is None else _text(text, category),
            tags=None
            if patch.tags is None
            else names.clean_labels(map(masked, patch.tags), "tags"),
            entities=None
            if patch.entities is None
            else names.clean_labels(map(masked, patch.entities), "entities"),
            summary=None
            if patch.summary is None
            else _line(masked, patch.summary, "summary") or "",
            title=_line(masked, patch.title, "title"),
        )
    return replace(cleaned, redacted=masked.labels)


def _text(text: str, category: Category) -> str:
    names.check_length(text, category)
    if category is not Category.PROCEDURE:
        return text
    if not procedure.says_something(text):
        raise errors.Invalid("Fill one section of the procedure at least.", loc="text")
    shaped = procedure.shape(text)
    names.check_length(shaped, category)
    return shaped


def _title(masked: "_Mask", title: str | None) -> str | None:
    """A procedure's title. One that is left out follows from the summary or the text."""
    if title is not None and not title.strip():
        raise errors.Invalid("Give the procedure a title.", loc="title")
    return _line(masked, title, "title")


def _line(
    masked: "_Mask", value: str | None, field: str, limit: int = SUMMARY_LENGTH
) -> str | None:
    if value is None:
        return None
    return names.clean_line(masked(value), field, limit) or None


class _Mask:
    """Masks secrets and remembers which kinds it found."""

    def __init__(self) -> None:
        self._labels: dict[str, None] = {}

    def __call__(self, text: str) -> str:
        found = redact.mask(text)
        self._labels |= dict.fromkeys(found.labels)
        return found.text

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self._labels)


def clean_reason(reason: str | None) -> str:
    """Why something is done: masked, on one line, cut at 500 characters."""
    return redact.mask(" ".join((reason or "").split())).text[:REASON_LENGTH]


def redaction_reason(labels: tuple[str, ...]) -> str:
    """The reason that an event carries when secrets were masked; `""` when none was."""
    return f"redacted: {', '.join(labels)}" if labels else ""


def observation(session: str | None, source_entry: str | None) -> str:
    """What makes two observations the same one; `""` when the caller did not say enough."""
    if not session or not source_entry:
        return ""
    return hashlib.sha256(f"{session}\0{source_entry}".encode()).hexdigest()[:32]


def default_trust(origin: Origin) -> Trust:
    """The trust of a new memory whose caller gave none: what a tool printed proves little."""
    return Trust.LOW if origin is Origin.TOOL_RESULT else Trust.HIGH


def is_episode(category: Category) -> bool:
    """Whether entries of this category are never rewritten."""
    return category.kind is Kind.EPISODIC
