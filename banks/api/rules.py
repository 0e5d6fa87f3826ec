"""Calls about the rules that are put into every prompt."""

from typing import Any

from ninja import Query, Router

from banks import queries
from banks.access import Role, Scope
from banks.api import KEYED, Request, as_addressed, bank_named, idempotency
from banks.schemas.common import answers
from banks.schemas.memories import BankParams
from banks.schemas.rules import RuleIn, RuleSetOut, RulesOut
from banks.services import opening, rules

router = Router(tags=["rules"])


@router.get("/rules", response=answers(RulesOut))
def list_rules(request: Request, params: Query[BankParams]) -> dict[str, Any]:
    """The rules of a bank, by name, with their whole content."""
    bank = opening.to_read(request.auth, bank_named(request, params.bank), Scope.RULES_READ)
    found = queries.rules(bank) if bank else []
    return {"bank": opening.name_of(bank_named(request, params.bank)), "rules": found}


@router.put("/rules/{name}", response=answers(RuleSetOut), openapi_extra=KEYED)
def set_rule(request: Request, name: str, body: RuleIn) -> dict[str, bool]:
    """Create or replace one rule; blank content removes it. A missing bank is made if the caller
    may create banks.
    """
    as_addressed(name, body.name, loc="name")
    # Only a rule that is written makes a bank: there is nothing to remove in a new one.
    find = opening.to_save if body.content.strip() else opening.to_write
    bank = find(request.auth, bank_named(request, body.bank), Role.MAINTAINER, Scope.RULES_WRITE)
    exists = rules.set_rule(
        request.auth,
        bank,
        name,
        body.content,
        version=body.if_version,
        idempotency=idempotency(request),
    )
    return {"exists": exists}
