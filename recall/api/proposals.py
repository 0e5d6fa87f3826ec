"""What waits for a person to decide."""

from typing import Any

from ninja import Query, Router

from banks.access import Role, Scope
from banks.api import Request
from banks.schemas.common import answers
from banks.services import open_bank
from recall.learning import proposals
from recall.run_schemas import (
    AcceptIn,
    ProposalChangedOut,
    ProposalParams,
    ProposalsOut,
    RejectIn,
)

router = Router(tags=["proposals"])


@router.get("/proposals", response=answers(ProposalsOut))
def list_proposals(request: Request, params: Query[ProposalParams]) -> dict[str, Any]:
    """The proposals of a bank; of all banks that the caller maintains when none is named."""
    bank = None
    if params.bank is not None:
        bank = open_bank(request.auth, params.bank, Role.MAINTAINER, Scope.RUNS_RUN)
    found, following = proposals.listed(
        request.auth, bank, state=params.state, kind=params.kind,
        limit=params.limit, after=params.cursor,
    )  # fmt: skip
    return {"proposals": found, "next_cursor": following}


@router.post("/proposals/{id}/accept", response=answers(ProposalChangedOut))
def accept_proposal(request: Request, id: str, body: AcceptIn) -> dict[str, Any]:
    """Do what it proposes, in other words if some are given."""
    return {"proposal": proposals.accept(request.auth, id, text=body.text)}


@router.post("/proposals/{id}/reject", response=answers(ProposalChangedOut))
def reject_proposal(request: Request, id: str, body: RejectIn) -> dict[str, Any]:
    """Leave it. The same is not proposed again."""
    return {"proposal": proposals.reject(request.auth, id, reason=body.reason)}
