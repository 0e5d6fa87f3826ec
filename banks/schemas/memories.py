"""Memories, their history, their tags."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from banks import errors
from banks.queries import LIST_LIMIT, LIST_MOST, Filters, from_milliseconds
from banks.schemas.common import (
    Addressed,
    Answer,
    BankField,
    Body,
    CategoryField,
    Milliseconds,
    OriginField,
    Params,
    Revision,
    TrustField,
    Version,
    invalid,
    optional,
    refusals,
    tag_filter,
)
from banks.services.drafts import Draft, Patch
from banks.services.entries import Expected, Saved
from banks.store.types import Category, Kind, Origin, Trust

BULK_MOST = 500
OFFSET_MOST = 1_000_000_000


class SourceOut(Answer):
    """Where a memory was learned."""

    session_id: str | SkipJsonSchema[None] = optional("The conversation.")
    entry_id: str | SkipJsonSchema[None] = optional("The message in it.")
    agent: str | SkipJsonSchema[None] = optional("Who wrote it down.")


class MemoryOut(Answer):
    """One memory. Times are milliseconds since the epoch."""

    id: str
    bank: str
    text: str
    summary: str
    title: str | SkipJsonSchema[None] = optional("Procedures only.")
    category: Category
    kind: Kind
    origin: Origin
    trust: Trust
    confidence: Literal["stated", "extracted", "inferred"]
    tags: list[str]
    entities: list[str]
    pinned: bool
    corroboration: int
    revision: int
    created_at: int
    updated_at: int
    stated_at: int
    invalid_at: int | SkipJsonSchema[None] = optional("When it stopped being true.")
    superseded_by: str | SkipJsonSchema[None] = optional("The memory that replaced this one.")
    supersedes: str | SkipJsonSchema[None] = optional("The memory that this one replaced first.")
    replaces: list[str] = Field(description="All memories that this one replaced.")
    former_id: str | SkipJsonSchema[None] = optional("Its id before an import or a move.")
    fingerprint: str
    version: str = Field(description="Changes with every change of its block, by hand too.")
    path: str = Field(description="Its file within the bank's folder.")
    source: SourceOut | None


class SaveItem(Body):
    """One memory to save."""

    bank: BankField = None
    text: str = Field(description="One self-contained statement.")
    category: CategoryField | None = None
    tags: list[str] = Field(default=[])
    entities: list[str] = Field(default=[])
    pinned: bool = False
    summary: str | None = None
    title: str | None = Field(default=None, description="Procedures only.")
    origin: OriginField | None = None
    trust: TrustField | None = None
    supersedes: str | None = Field(default=None, description="A live memory that this replaces.")
    session_id: str | None = None
    entry_id: str | None = None
    agent: str | None = None
    created_at: Milliseconds | None = Field(default=None, description="For imports; maintainers.")

    def draft(self) -> Draft:
        """What the services take."""
        return Draft(
            text=self.text,
            category=self.category,
            tags=tuple(self.tags),
            entities=tuple(self.entities),
            pinned=self.pinned,
            summary=self.summary,
            title=self.title,
            origin=self.origin,
            trust=self.trust,
            supersedes=self.supersedes or None,
            session=self.session_id,
            source_entry=self.entry_id,
            agent=self.agent,
            created=None if self.created_at is None else from_milliseconds(self.created_at),
        )


class SavedOut(Answer):
    """A saved memory; `created` is false when its text was known and it was reinforced."""

    created: bool
    memory: MemoryOut


_Item = Annotated[
    Any,
    WithJsonSchema({"type": "object", "description": "A body of POST /memories."}),
]


Home = Callable[[str | None], str | None]
"""The bank that the memories of a session go to; None = the default one. Raises BankNotFound."""


class BulkIn(Body):
    """Memories to save at once; a bad one is refused alone."""

    bank: BankField = None
    memories: list[_Item] = Field(max_length=BULK_MOST)

    def first_session(self) -> str | None:
        """The session that the first item names; it decides where all of them go."""
        first = self.memories[0] if self.memories else None
        named = first.get("session_id") if isinstance(first, dict) else None
        return named if isinstance(named, str) else None

    def drafts(self, bank: str, home: Home) -> list[Draft | errors.DomainError]:
        """Each item as a draft, or why it cannot be one."""
        expected = home(self.first_session())
        return [_item(each, bank, lambda named: home(named) == expected) for each in self.memories]


def _item(
    value: object, bank: str, fits: Callable[[str | None], bool]
) -> Draft | errors.DomainError:
    try:
        item = SaveItem.model_validate(value)
        together = item.bank == bank if item.bank is not None else fits(item.session_id)
    except ValidationError as error:
        return invalid(refusals(error))
    except errors.BankNotFound as error:
        return error
    if not together:
        place = "session_id" if item.bank is None else "bank"
        return errors.Invalid("All memories of one call go into one bank.", loc=place)
    return item.draft()


class ItemErrorOut(Answer):
    """Why one item was refused."""

    code: str
    message: str


class ItemOut(Answer):
    """What became of one item: `created` and `memory`, or `error`."""

    created: bool | SkipJsonSchema[None] = optional("As in the answer of a single save.")
    memory: MemoryOut | SkipJsonSchema[None] = optional("The saved memory.")
    error: ItemErrorOut | SkipJsonSchema[None] = optional("Why it was refused.")


class BulkOut(Answer):
    """One result for each item, in their order."""

    results: list[ItemOut]


def item_result(result: Saved | errors.DomainError) -> dict[str, Any]:
    """What became of one item, for `BulkOut`."""
    if isinstance(result, errors.DomainError):
        return {"error": {"code": result.code, "message": result.message}}
    return {"created": result.created, "memory": result.memory}


class GuardedIn(Body):
    """A change that may be tied to the state that the caller saw."""

    id: Addressed = None
    bank: BankField = None
    if_revision: Revision = None
    if_version: Version = None

    def expected(self) -> Expected:
        """What the services take."""
        return Expected(self.if_revision, self.if_version)


class GuardedParams(Params):
    """The same for a call without a body."""

    bank: BankField = None
    if_revision: Revision = None
    if_version: Version = None

    def expected(self) -> Expected:
        """What the services take."""
        return Expected(self.if_revision, self.if_version)


class PatchIn(GuardedIn):
    """Fields to change; a field that is left out stays as it is, an empty list clears."""

    text: str | None = None
    tags: list[str] | None = None
    entities: list[str] | None = None
    pinned: bool | None = None
    summary: str | None = None
    title: str | None = None
    trust: TrustField | None = None

    def patch(self) -> Patch:
        """What the services take."""
        return Patch(
            text=self.text,
            tags=None if self.tags is None else tuple(self.tags),
            entities=None if self.entities is None else tuple(self.entities),
            pinned=self.pinned,
            summary=self.summary,
            title=self.title,
            trust=self.trust,
        )


class PinIn(GuardedIn):
    """Pin or unpin."""

    pinned: bool


class SupersedeIn(GuardedIn):
    """Which live memory takes over."""

    superseded_by: str = Field(description="A live memory of the same bank.")
    reason: str | None = Field(default=None, description="Why; cut at 500 characters.")
    reinforce: bool = Field(default=False, description="The survivor absorbs the observations.")


class OneOut(Answer):
    """One memory."""

    memory: MemoryOut


class SupersededOut(Answer):
    """The retired memory, and whether the survivor was reinforced."""

    memory: MemoryOut
    reinforced: bool


class RevisionOut(Answer):
    """One state of a memory and how it came about."""

    revision: int
    at: int
    actor: str
    act: str
    reason: str | SkipJsonSchema[None] = optional("Why, when somebody said so.")
    memory: MemoryOut


class HistoryOut(Answer):
    """Every known state, newest first."""

    revisions: list[RevisionOut]


class BankParams(Params):
    """Which bank."""

    bank: BankField = None


class ListParams(BankParams):
    """What a list is narrowed to, and which part of it is wanted."""

    kind: Kind | None = None
    category: Category | None = None
    tag: list[str] = Field(default=[], description="Repeat it to ask for several.")
    match: Literal["all", "any"] = Field(default="all", description="All of the tags, or any.")
    origin: Origin | None = None
    since: Milliseconds | None = None
    until: Milliseconds | None = Field(default=None, description="Not included.")
    pinned: bool | None = None
    q: str = Field(default="", max_length=4_000, description="Part of summary, text or a tag.")
    include_superseded: bool = False
    limit: int = Field(default=LIST_LIMIT, ge=0, le=LIST_MOST)
    offset: int = Field(default=0, ge=0, le=OFFSET_MOST)
    cursor: str | None = Field(default=None, max_length=500, description="Goes before `offset`.")

    def filters(self) -> Filters:
        """What the queries take. Raises Invalid."""
        return Filters(
            kind=self.kind,
            category=self.category,
            tags=tag_filter(self.tag, "tag"),
            any_tag=self.match == "any",
            origin=self.origin,
            since=None if self.since is None else from_milliseconds(self.since),
            until=None if self.until is None else from_milliseconds(self.until),
            pinned=self.pinned,
            text=self.q,
            include_superseded=self.include_superseded,
        )


class PageOut(Answer):
    """A page of memories; `total` counts all that match."""

    memories: list[MemoryOut]
    total: int
    next_cursor: str | SkipJsonSchema[None] = optional("Where the next page begins.")


class TagOut(Answer):
    """A tag and how many live memories carry it."""

    tag: str
    count: int


class TagsOut(Answer):
    """Tags of live memories, most used first."""

    bank: str
    tags: list[TagOut]


class TemplateOut(Answer):
    """The sections of a procedure's text."""

    text: str
