"""What agents ask most: the memories that fit, and what a turn would be given."""

from typing import Any

from ninja import Router

from banks import errors
from banks.access import Scope
from banks.api import Request, bank_named
from banks.schemas.common import answers
from banks.services import opening
from recall import services
from recall.schemas import (
    ExplainIn,
    ExplainOut,
    PreviewIn,
    PreviewOut,
    RecallIn,
    RecallOut,
    preview_answer,
)
from recall.services import Explained, Recalled

router = Router(tags=["recall"])


@router.post("/recall", response=answers(RecallOut))
def recall(request: Request, body: RecallIn) -> Recalled | dict[str, Any]:
    """The memories that fit a query, best first. Reading changes nothing."""
    bank = opening.to_read(request.auth, bank_named(request, body.bank), Scope.MEMORY_READ)
    filters = body.filters()
    if bank is None:
        name = opening.name_of(bank_named(request, body.bank))
        index = {"state": "ok", "lag": 0}
        return {"bank": name, "memories": [], "retrieval": "none", "index": index}
    return services.recall(
        request.auth, bank, body.query, limit=body.limit, filters=filters, mode=body.mode,
        include_superseded=body.include_superseded,
    )  # fmt: skip


@router.post("/recall/explain", response=answers(ExplainOut))
def explain_recall(request: Request, body: ExplainIn) -> Explained:
    """Why a memory stands where it does in the answer to a query, or is not in it."""
    bank = opening.to_read(request.auth, bank_named(request, body.bank), Scope.MEMORY_READ)
    filters = body.filters()
    if bank is None:
        raise errors.MemoryNotFound
    return services.explain(
        request.auth, bank, body.query, body.id, limit=body.limit, filters=filters
    )


@router.post("/preview", response=answers(PreviewOut))
def preview(request: Request, body: PreviewIn) -> dict[str, Any]:
    """What a new session would be given for this message. Nothing is recorded."""
    bank = opening.to_read(request.auth, bank_named(request, body.bank), Scope.MEMORY_READ)
    if bank is None:
        return preview_answer(services.nothing(opening.name_of(bank_named(request, body.bank))))
    return preview_answer(services.preview(request.auth, bank, body.query))
