"""Value types of the markdown store: what an entry is, and what can be wrong with a file.

Nothing here knows a framework, a clock or a disk. All values are frozen.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Kind(StrEnum):
    """The agent-memory taxonomy; on disk the key `type`. Derived from the category."""

    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"


class Category(StrEnum):
    """What an entry is about; decides its file and its kind."""

    EVENTS = "events"
    FEEDBACKS = "feedbacks"
    ERRORS = "errors"
    FACTS = "facts"
    RULES = "rules"
    PREFERENCES = "preferences"
    PROCEDURE = "procedure"

    @property
    def kind(self) -> Kind:
        """The kind that this category belongs to."""
        return _KINDS[self]


_KINDS = {
    Category.EVENTS: Kind.EPISODIC,
    Category.FEEDBACKS: Kind.EPISODIC,
    Category.ERRORS: Kind.EPISODIC,
    Category.FACTS: Kind.SEMANTIC,
    Category.RULES: Kind.SEMANTIC,
    Category.PREFERENCES: Kind.SEMANTIC,
    Category.PROCEDURE: Kind.PROCEDURAL,
}


class Origin(StrEnum):
    """Where an entry came from; on disk the key `source`."""

    USER_MESSAGE = "user_message"
    USER_FEEDBACK = "user_feedback"
    TOOL_RESULT = "tool_result"
    CONSOLIDATION = "consolidation"
    AGENT = "agent"


class Trust(StrEnum):
    """How much to believe an entry; on disk the key `confidence`."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One memory as its block says it. Times are aware UTC. `""` and `None` both mean absent.

    `title`, `updated`, `stated` are None when the block leaves them out; `shown_title`,
    `updated_at` and `stated_at` give the effective values. Pointers are as on disk: whether they
    lead anywhere is not known here.
    """

    id: str
    created: datetime
    category: Category
    origin: Origin = Origin.AGENT
    trust: Trust = Trust.MEDIUM
    tags: tuple[str, ...] = ()
    supersedes: str | None = None
    superseded_by: str | None = None
    summary: str = ""
    title: str | None = None
    entities: tuple[str, ...] = ()
    pinned: bool = False
    corroboration: int = 0
    revision: int = 0
    updated: datetime | None = None
    stated: datetime | None = None
    invalidated: datetime | None = None
    session: str | None = None
    entry: str | None = None
    agent: str | None = None
    former_id: str | None = None
    text: str = ""

    @property
    def kind(self) -> Kind:
        """The kind, derived from the category."""
        return self.category.kind

    @property
    def updated_at(self) -> datetime:
        """Last change of any kind; `created` when the block does not say."""
        return self.updated or self.created

    @property
    def stated_at(self) -> datetime:
        """Last time the fact was stated; `created` when the block does not say."""
        return self.stated or self.created


class Severity(StrEnum):
    """A problem hides its own block; a warning hides nothing."""

    PROBLEM = "problem"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in a file that could not be read as it stands, or looks wrong.

    `line` counts from 1 within the bytes that were parsed (a block, or a file in `Document`).
    `message` is for people: what and how to repair; it never quotes the text of a memory.
    """

    code: str
    line: int
    message: str
    severity: Severity = Severity.PROBLEM


@dataclass(frozen=True, slots=True)
class Span:
    """Where a block stands in a file's bytes: from its opening fence to its last line with
    content, without that line's terminator, so that neighbours and appends never move it.

    `line` is the 1-based line of the opening fence. `body` is the offset, in the file, of the first
    byte after the closing fence's terminator (== `end` when there is no body), or None when the
    closing fence is missing.
    """

    start: int
    end: int
    line: int
    body: int | None


@dataclass(frozen=True, slots=True)
class Block:
    """One parsed block. `entry` is None when a problem of severity PROBLEM was found."""

    entry: Entry | None
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A whole file: spans in order, a parsed block for each, and what is wrong with it all.

    `problems` holds those of the blocks too, with lines counted in the file.
    """

    spans: tuple[Span, ...]
    blocks: tuple[Block, ...]
    problems: tuple[Problem, ...]
