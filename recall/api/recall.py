"""The call that agents make most."""

from typing import Any

from ninja import Router

from banks.access import Scope
from banks.api import Request
from banks.schemas.common import answers
from banks.services import opening
from recall import services
from recall.schemas import RecallIn, RecallOut
from recall.services import Recalled

router = Router(tags=["recall"])


@router.post("/recall", response=answers(RecallOut))
def recall(request: Request, body: RecallIn) -> Recalled | dict[str, Any]:
    """The memories that fit a query, best first. Reading changes nothing."""
    bank = opening.to_read(request.auth, body.bank, Scope.MEMORY_READ)
    filters = body.filters()
    if bank is None:
        name = opening.name_of(body.bank)
        index = {"state": "ok", "lag": 0}
        return {"bank": name, "memories": [], "retrieval": "none", "index": index}
    return services.recall(
        request.auth, bank, body.query, limit=body.limit, filters=filters, mode=body.mode,
        include_superseded=body.include_superseded,
    )  # fmt: skip
