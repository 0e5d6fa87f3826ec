"""What the recall calls take and give."""

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic.json_schema import SkipJsonSchema

from banks.queries import Filters, from_milliseconds
from banks.schemas.common import (
    Answer,
    BankField,
    Body,
    CategoryField,
    KindField,
    Milliseconds,
    OriginField,
    optional,
    tag_filter,
)
from banks.schemas.memories import MemoryOut
from recall.engine import injection
from recall.learning.turns import Ended
from recall.services import LIMIT_MOST, Continued, Preview, Step

QUERY_LENGTH = 4_000
UNREADABLE = -1
"""The step of a turn when what was sent is no number of one."""


class QueryIn(Body):
    """What to look for, and among which memories. Filters apply before the limit."""

    bank: BankField = None
    query: str = Field(max_length=QUERY_LENGTH, description="Plain words; there are no operators.")
    limit: int | None = Field(
        default=None, ge=0, le=LIMIT_MOST, description="Left out: the recall_limit of the bank."
    )
    include_superseded: bool = False
    kind: KindField | None = None
    category: CategoryField | None = None
    tag: str | None = None
    tags: list[str] = Field(default=[], description="Memories that carry all of them.")
    origin: OriginField | None = None
    since: Milliseconds | None = None
    until: Milliseconds | None = Field(default=None, description="Not included.")

    def filters(self) -> Filters:
        """What the services take. Raises Invalid."""
        one = [] if self.tag is None else [self.tag]
        return Filters(
            kind=self.kind,
            category=self.category,
            tags=tuple(dict.fromkeys(tag_filter(one, "tag") + tag_filter(self.tags, "tags"))),
            origin=self.origin,
            since=None if self.since is None else from_milliseconds(self.since),
            until=None if self.until is None else from_milliseconds(self.until),
            include_superseded=self.include_superseded,
        )


class RecallIn(QueryIn):
    """The same, and by what to look."""

    mode: Literal["hybrid", "lexical", "semantic"] = "hybrid"


class ExplainIn(QueryIn):
    """The same, and the memory to explain."""

    id: str = Field(description="Its id, former id or fingerprint.")


class HitOut(Answer):
    """A memory with its score; the signals add up to it."""

    memory: MemoryOut
    score: float
    signals: dict[str, float]


class IndexOut(Answer):
    """How the search index stands: `lag` counts changes that it has not seen yet."""

    state: Literal["ok", "behind", "rebuilding", "unavailable"]
    lag: int


class MeaningOut(Answer):
    """How far meanings were compared: `lag` counts changes whose memories may have no vector yet.
    Unavailable: the query has none."""

    state: Literal["ok", "behind", "unavailable"]
    lag: int


class RecallOut(Answer):
    """Hits, best first; `retrieval` says what ran."""

    bank: str
    memories: list[HitOut]
    retrieval: str
    index: IndexOut
    meaning: MeaningOut | SkipJsonSchema[None] = optional("Where an embedder is set up.")


class ExplainOut(Answer):
    """One memory and one query."""

    bank: str
    id: str
    is_hit: bool = Field(description="Whether a recall gives it.")
    reasons: list[str] = Field(description="Why it is no hit; empty for a hit.")
    rank: int | SkipJsonSchema[None] = optional("From 1, among all candidates, when it is one.")
    limit: int = Field(description="Hits that the recall gives at most.")
    score: float | SkipJsonSchema[None] = optional("When it is a candidate.")
    signals: dict[str, float] | SkipJsonSchema[None] = optional("They add up to the score.")
    terms: dict[str, list[str]] = Field(description="Each one, and the parts of it that hold it.")
    named: list[str] = Field(description="Known entities that the query names.")
    asks_for: list[str] = Field(description="newest, time: what lifts some memories.")
    retrieval: str
    index: IndexOut
    meaning: MeaningOut | SkipJsonSchema[None] = optional("Where an embedder is set up.")


class PreviewIn(Body):
    """What somebody would type in a chat."""

    bank: BankField = None
    query: str = Field(
        description="The hypothetical message of a user; as in a turn its first 4,000 characters "
        "are the question, without what the memory put there."
    )


class InjectedOut(HitOut):
    """A memory of a turn. An ambient one is there for company: it does not fit the query."""

    ambient: bool
    chars: int = Field(description="Characters of its line in the message.")


class RulePartOut(Answer):
    """What became of one rule."""

    name: str
    fit: Literal["whole", "cut", "omitted"]
    chars: int
    kept_chars: int


class PreviewOut(Answer):
    """What a new session's turn would be given, word for word."""

    bank: str
    system_prompt_section: str = Field(description='"" when there is nothing to say.')
    rules: int = Field(description="Rules in the section, whole or in part.")
    rules_truncated: bool = Field(description="Whether a rule was cut or left out.")
    rule_parts: list[RulePartOut] = Field(description="Each rule, by name.")
    rules_chars: int = Field(description="Characters of all rules, kept or not.")
    max_rule_chars: int = Field(description="The budget that they share.")
    memories: list[InjectedOut] = Field(description="In the order of the message.")
    message: str | SkipJsonSchema[None] = optional("The message of memories, when there is one.")
    tokens: int = Field(description="Of the message, at 4 characters a token.")
    budget_tokens: int
    skipped: list[InjectedOut] = Field(description="Hits that the budget has no room for.")
    retrieval: str
    index: IndexOut | SkipJsonSchema[None] = optional("When memories were looked up.")


def preview_answer(preview: Preview) -> dict[str, Any]:
    """A preview under the names of `PreviewOut`."""
    packed, given = preview.section.packed, preview.given
    return {
        "bank": preview.bank,
        "system_prompt_section": preview.section.text,
        "rules": packed.included,
        "rules_truncated": packed.truncated,
        "rule_parts": packed.rules,
        "rules_chars": packed.total_chars,
        "max_rule_chars": packed.budget_chars,
        "memories": given.memories,
        "message": given.message or None,
        "tokens": preview.tokens,
        "budget_tokens": given.budget_tokens,
        "skipped": given.skipped,
        "retrieval": given.retrieval,
        "index": given.index,
    }


def _whole(value: object) -> object:
    """A prompt with half of a character in it is one all the same."""
    return injection.whole(value) if isinstance(value, str) else value


def _encodable(value: str | None) -> str | None:
    """What is kept under a name has to be named by it alone, so nothing in it is replaced."""
    if value is not None and injection.whole(value) != value:
        raise ValueError("holds half a character")
    return value


def _step(value: object, read: ValidatorFunctionWrapHandler) -> int | None:
    """A number that is none costs the memories of the step, not its rules."""
    try:
        number: int | None = read(value)
    except ValidationError:
        return UNREADABLE
    return number


class GenerateIn(BaseModel):
    """The request to the model, as far as it is ready. Its messages are the harness's own."""

    messages: Any = None
    system_prompt: Annotated[str | None, BeforeValidator(_whole)] = None


class StepIn(BaseModel):
    """One step of a turn. What is not known here is passed over: a turn never fails for it."""

    generate: GenerateIn | None = None
    metadata: Any = Field(default=None, description="`memory_bank` names the bank of this turn.")
    session_id: Annotated[str | None, AfterValidator(_encodable)] = Field(
        default=None, description="Left out: the header X-Session-Id, if there is one."
    )
    step: Annotated[int | None, Field(ge=0), WrapValidator(_step)] = Field(
        default=None, description="0 opens a turn."
    )
    turn_id: Any = Field(default=None, description="The turn that the step belongs to.")

    def step_of(self, session_id: str | None) -> Step:
        """What the services take; the session is this one when the body names none."""
        generate = self.generate or GenerateIn()
        return Step(
            session_id=self.session_id or session_id,
            turn_id=self.turn_id,
            step=self.step or 0,
            system_prompt=generate.system_prompt,
            messages=generate.messages,
            metadata=self.metadata,
        )


class MutationsOut(Answer):
    """What to put into the request to the model."""

    append_messages: list[dict[str, Any]]
    system_prompt: str | SkipJsonSchema[None] = optional("Left out: as it was.")


class AnnotationsOut(Answer):
    """What was given, and what went wrong, if anything."""

    bank: str
    memories: list[str] = Field(description="Ids, in the order of the message.")
    rules: int
    rules_truncated: bool
    retrieval: str
    fault: str | SkipJsonSchema[None] = optional("A code of docs/errors.md.")


class HookOut(Answer):
    """What to do with the step: always to go on. `mutations` is null when nothing is added."""

    decision: Literal["continue"] = "continue"
    mutations: MutationsOut | None
    annotations: AnnotationsOut


def hook_answer(answer: Continued) -> dict[str, Any]:
    """The answer to a step under the names of `HookOut`."""
    return {"mutations": answer.mutations, "annotations": answer.annotations}


class SessionIn(Body):
    """The bank that a session uses."""

    bank: str


class SessionOut(Answer):
    """A session and its bank."""

    session_id: str
    bank: str


class SessionDeletedIn(BaseModel):
    """A session that is no more. What else the event of a harness holds is passed over."""

    session_id: str | None = None


class DoneOut(Answer):
    """It is done."""

    ok: bool


class TurnCompletedIn(BaseModel):
    """A turn that has ended. What else the event of a harness holds is passed over."""

    session_id: Annotated[str | None, AfterValidator(_encodable)] = None
    turn_id: Any = Field(default=None, description="The same one again is read once.")
    parent: Any = Field(default=None, description="The turn above, of a sub-agent's turn.")
    parent_session_id: Annotated[str | None, AfterValidator(_encodable)] = None
    messages: list[Any] | None = Field(
        default=None,
        description="What was said: {id, role, text}. Left out: what the steps have shown.",
    )

    def ended(self) -> Ended:
        """What the services take."""
        return Ended(
            session_id=self.session_id,
            turn_id=self.turn_id,
            parent=self.parent,
            parent_session_id=self.parent_session_id,
            messages=self.messages,
        )


class TurnCompletedOut(Answer):
    """It is noted; `state` says what becomes of it."""

    ok: bool
    state: str = Field(description="queued, nothing new, or skipped: why.")


class ExtractIn(Body):
    """One pass over what a session said."""

    session_id: str
    bank: str | None = Field(default=None, description="Left out: the bank of each turn.")
    until: str | None = Field(default=None, description="The id of the last message to read.")
    skip: bool = Field(default=False, description="Count it as read, and read nothing.")


class ExtractOut(Answer):
    """What came of it, and how many of each."""

    ok: bool
    state: str = Field(description="done, nothing new, or skipped: why.")
    created: int
    reinforced: int
    left: int = Field(description="Pinned, dead or unusable: left as they are.")
    rules: int = Field(description="Lines that the rule `learned` was given.")
    proposed: int = Field(description="Lines that wait for a person.")
