"""The call about tags."""

from typing import Any

from ninja import Query, Router

from banks import queries
from banks.access import Scope
from banks.api import Request, bank_named
from banks.schemas.common import answers
from banks.schemas.memories import BankParams, TagsOut
from banks.services import opening

router = Router(tags=["memories"])


@router.get("/tags", response=answers(TagsOut))
def list_tags(request: Request, params: Query[BankParams]) -> dict[str, Any]:
    """The tags of live memories with their counts, most used first."""
    bank = opening.to_read(request.auth, bank_named(request, params.bank), Scope.MEMORY_READ)
    found = queries.tags(bank) if bank else []
    told = [{"tag": tag, "count": count} for tag, count in found]
    return {"bank": opening.name_of(bank_named(request, params.bank)), "tags": told}
