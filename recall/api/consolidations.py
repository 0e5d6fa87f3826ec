"""Runs that tidy a bank and make knowledge of its episodes."""

from typing import Any

from ninja import Query, Router

from banks.access import Role, Scope
from banks.api import Request, bank_named
from banks.schemas.common import answers
from banks.services import open_bank, opening
from recall.learning import runs
from recall.run_schemas import (
    AppliedOut,
    ApplyIn,
    ConsolidateIn,
    RunChangedOut,
    RunParams,
    RunsOut,
    RunWithProposalsOut,
)

router = Router(tags=["consolidation"])


@router.post("/consolidations", response=answers(RunChangedOut))
def start_consolidation(request: Request, body: ConsolidateIn) -> dict[str, Any]:
    """Have a worker go over a bank now."""
    named = bank_named(request, body.bank)
    bank = opening.to_write(request.auth, named, Role.MAINTAINER, Scope.RUNS_RUN)
    return {"run": runs.start(request.auth, bank, dry_run=body.dry_run)}


@router.get("/consolidations", response=answers(RunsOut))
def list_consolidations(request: Request, params: Query[RunParams]) -> dict[str, Any]:
    """The runs of a bank; of all banks that the caller maintains when none is named."""
    bank = None
    if params.bank is not None:
        bank = open_bank(request.auth, params.bank, Role.MAINTAINER, Scope.RUNS_RUN)
    found, following = runs.listed(request.auth, bank, limit=params.limit, after=params.cursor)
    return {"runs": found, "next_cursor": following}


@router.get("/consolidations/{id}", response=answers(RunWithProposalsOut))
def get_consolidation(request: Request, id: str) -> dict[str, Any]:
    """One run, what became of each change, and what it proposes."""
    run, proposed = runs.one(request.auth, id)
    return {"run": run, "proposals": proposed}


@router.post("/consolidations/{id}/apply", response=answers(AppliedOut))
def apply_consolidation(request: Request, id: str, body: ApplyIn) -> dict[str, Any]:
    """Decide about proposals of a run: what is accepted is one operation."""
    run, outcomes = runs.apply(
        request.auth, id, accept=body.accept, edit=body.edit, reject=body.reject
    )
    return {"run": run, "outcomes": outcomes}


@router.post("/consolidations/{id}/undo", response=answers(RunChangedOut))
def undo_consolidation(request: Request, id: str) -> dict[str, Any]:
    """Take back all that a run wrote."""
    return {"run": runs.undo(request.auth, id)}
