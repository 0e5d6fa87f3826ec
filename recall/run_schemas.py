"""What the calls about runs of consolidation and about proposals take and give."""

from typing import Annotated, Literal

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from banks.schemas.common import Answer, BankField, Body, optional
from banks.schemas.memories import BankParams
from banks.store.names import STORY_LONGEST
from recall.learning import runs
from recall.schemas import QUERY_LENGTH

DECIDED_MOST = 200
_ID_LENGTH = 32


class RunParams(BankParams):
    """Which page of runs."""

    limit: int = Field(default=runs.PAGE_MOST, ge=1, le=runs.PAGE_MOST)
    cursor: str | SkipJsonSchema[None] = Field(
        default=None, max_length=_ID_LENGTH, description="`next_cursor` of the page before."
    )


class ProposalParams(RunParams):
    """Which page of which proposals."""

    state: Literal["waiting", "accepted", "edited", "rejected", "stale"] = "waiting"
    kind: Literal["learned_rule", "merge", "promotion", "known_failure"] | None = None


class ProposalOut(Answer):
    """What a person is asked about, and what was decided."""

    id: str
    bank: str
    kind: str = Field(description="learned_rule, merge, promotion or known_failure.")
    text: str = Field(description="What is shown of it: a line, a new memory, the one to retire.")
    rule: str | SkipJsonSchema[None] = optional("The rule that would get the line.")
    category: str | SkipJsonSchema[None] = optional("Of the new memory.")
    title: str | SkipJsonSchema[None] = optional("Of the new procedure.")
    memories: list[str] = Field(description="Ids of what it was made from.")
    retires: list[str] = Field(description="Ids of what would give way.")
    changes: str | SkipJsonSchema[None] = optional("The memory that stays, and would be changed.")
    because: str | SkipJsonSchema[None] = optional("Why it is proposed.")
    run: str | SkipJsonSchema[None] = optional("The run that proposes it.")
    state: str
    session_id: str | SkipJsonSchema[None] = optional("Where it was said.")
    proposed_by: str
    proposed_at: int
    decided_by: str | SkipJsonSchema[None] = optional("Who accepted or rejected it.")
    decided_at: int | SkipJsonSchema[None] = optional("When.")
    reason: str | SkipJsonSchema[None] = optional("Why it was rejected.")


class ProposalsOut(Answer):
    """Proposals, oldest first."""

    proposals: list[ProposalOut]
    next_cursor: str | SkipJsonSchema[None] = optional("Where the next page begins.")


class ProposalChangedOut(Answer):
    """A proposal as it is now."""

    proposal: ProposalOut


class AcceptIn(Body):
    """In which words; left out: in those of the proposal."""

    text: str | None = Field(default=None, max_length=STORY_LONGEST)


class RejectIn(Body):
    """Why, for the record."""

    reason: str | None = Field(default=None, max_length=QUERY_LENGTH)


class ConsolidateIn(Body):
    """One pass over a bank."""

    bank: BankField = None
    dry_run: bool = Field(default=False, description="Tell what would be done, and do nothing.")


class ChangeOut(Answer):
    """What became of one change, and the memories that it is about."""

    kind: str
    outcome: str = Field(
        description="applied, proposed, planned, to be proposed, stale, pinned, known or refused."
    )
    memories: list[str]


class RunOut(Answer):
    """One pass over a bank, and what came of it."""

    id: str
    bank: str
    state: str = Field(description="queued, running, done or failed.")
    dry_run: bool
    started_by: str
    created_at: int
    started_at: int | SkipJsonSchema[None] = optional("When it began.")
    finished_at: int | SkipJsonSchema[None] = optional("When it ended.")
    duration_ms: int | SkipJsonSchema[None] = optional("How long it took.")
    read: int = Field(description="Episodes.")
    proposed: int
    applied: int
    rejected: int
    stale: int
    capped: int
    pinned_skipped: int
    model: str | SkipJsonSchema[None] = optional("What read the episodes.")
    tokens: int
    note: str | SkipJsonSchema[None] = optional("What it could not do.")
    error: str | SkipJsonSchema[None] = optional("Why it failed, or has to be tried again.")
    changes: list[ChangeOut]
    undoable: bool
    undone_at: int | SkipJsonSchema[None] = optional("When it was taken back.")


class RunChangedOut(Answer):
    """A run as it is now."""

    run: RunOut


class RunsOut(Answer):
    """Runs, newest first."""

    runs: list[RunOut]
    next_cursor: str | SkipJsonSchema[None] = optional("Where the next page begins.")


class RunWithProposalsOut(Answer):
    """A run, and what it asks a person about."""

    run: RunOut
    proposals: list[ProposalOut]


Ids = Annotated[list[str], Field(max_length=DECIDED_MOST)]


class ApplyIn(Body):
    """What is decided about proposals of a run, by their ids."""

    accept: Ids = Field(default_factory=list)
    edit: Annotated[dict[str, str], Field(max_length=DECIDED_MOST)] = Field(
        default_factory=dict, description="Accepted in these words."
    )
    reject: Ids = Field(default_factory=list)


class AppliedOut(Answer):
    """The run, and what became of each proposal: applied, rejected, or why it is left."""

    run: RunOut
    outcomes: dict[str, str]
