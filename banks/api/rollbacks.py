"""What one session or token wrote, and all of it taken back."""

from typing import Any

from ninja import Query, Router

from banks.access import Role, Scope
from banks.api import KEYED, Request, bank_named, idempotency
from banks.schemas.common import answers
from banks.schemas.rollbacks import RollbackIn, RollbackParams, RolledBackOut, WritesOut
from banks.services import opening, rollbacks

router = Router(tags=["rollbacks"])


@router.get("/rollbacks", response=answers(WritesOut))
def list_writes(request: Request, params: Query[RollbackParams]) -> dict[str, Any]:
    """What a rollback would take back."""
    named = bank_named(request, params.bank)
    bank = opening.to_write(request.auth, named, Role.MAINTAINER, Scope.MEMORY_WRITE)
    return {"writes": rollbacks.listed(request.auth, bank, params.origin())}


@router.post("/rollbacks", response=answers(RolledBackOut), openapi_extra=KEYED)
def roll_back(request: Request, body: RollbackIn) -> rollbacks.RolledBack:
    """Take back all that a session or token wrote, as one operation."""
    named = bank_named(request, body.bank)
    bank = opening.to_write(request.auth, named, Role.MAINTAINER, Scope.MEMORY_WRITE)
    return rollbacks.roll_back(request.auth, bank, body.origin(), idempotency=idempotency(request))
