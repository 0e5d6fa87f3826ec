"""Calls about memories."""

import functools
from typing import Any

from ninja import Query, Router

from banks import errors, queries, revisions
from banks.access import Role, Scope, require
from banks.api import KEYED, Request, as_addressed, bank_named, idempotency
from banks.queries import Memory, Page
from banks.schemas.common import answers
from banks.schemas.memories import (
    BankParams,
    BulkIn,
    BulkOut,
    GuardedIn,
    GuardedParams,
    HistoryOut,
    ListParams,
    OneOut,
    PageOut,
    PatchIn,
    PinIn,
    SavedOut,
    SaveItem,
    SupersededOut,
    SupersedeIn,
    TemplateOut,
    item_result,
)
from banks.services import entries, opening
from banks.services.entries import Saved, Superseded
from banks.store import procedure

router = Router(tags=["memories"])

One = dict[str, Memory]


@router.post("/memories", response=answers(SavedOut), openapi_extra=KEYED)
def save_memory(request: Request, body: SaveItem) -> Saved:
    """Save one memory. A known text reinforces the memory that has it; a missing bank is made if
    the caller may create banks.
    """
    bank = opening.to_save(
        request.auth,
        bank_named(request, body.bank, body.session_id),
        Role.EDITOR,
        Scope.MEMORY_WRITE,
    )
    return entries.save(request.auth, bank, body.draft(), idempotency=idempotency(request))


@router.post("/memories/bulk", response=answers(BulkOut), openapi_extra=KEYED)
def save_memories(request: Request, body: BulkIn) -> dict[str, Any]:
    """Save up to 500 memories at once. A bad one is refused alone, its result says why."""
    home = functools.cache(functools.partial(bank_named, request, body.bank))
    bank = opening.to_save(
        request.auth, home(body.first_session()), Role.EDITOR, Scope.MEMORY_WRITE
    )
    wanted = body.drafts(bank.name, home)
    good = [each for each in wanted if not isinstance(each, errors.DomainError)]
    saved = iter(entries.save_many(request.auth, bank, good, idempotency=idempotency(request)))
    told = [each if isinstance(each, errors.DomainError) else next(saved) for each in wanted]
    return {"results": [item_result(each) for each in told]}


@router.get("/memories", response=answers(PageOut))
def list_memories(request: Request, params: Query[ListParams]) -> Page:
    """A page of memories, newest first. Filters apply before the page is cut."""
    bank = opening.to_read(request.auth, bank_named(request, params.bank), Scope.MEMORY_READ)
    filters = params.filters()
    if bank is None:
        return Page()
    return queries.list_memories(
        bank, filters, limit=params.limit, offset=params.offset, cursor=params.cursor
    )


@router.get("/memories/{id}", response=answers(OneOut))
def get_memory(request: Request, id: str, params: Query[BankParams]) -> One:
    """One memory, dead ones too, by id, former id or fingerprint."""
    bank = opening.to_write(
        request.auth, bank_named(request, params.bank), Role.VIEWER, Scope.MEMORY_READ
    )
    return {"memory": queries.memory(bank, id)}


@router.patch("/memories/{id}", response=answers(OneOut), openapi_extra=KEYED)
def update_memory(request: Request, id: str, body: PatchIn) -> One:
    """Change fields of a live memory in place; its earlier state goes to its history."""
    as_addressed(id, body.id)
    bank = opening.to_write(
        request.auth, bank_named(request, body.bank), Role.EDITOR, Scope.MEMORY_WRITE
    )
    memory = entries.update(
        request.auth,
        bank,
        id,
        body.patch(),
        expected=body.expected(),
        idempotency=idempotency(request),
    )
    return {"memory": memory}


@router.delete("/memories/{id}", response=answers(OneOut), openapi_extra=KEYED)
def delete_memory(request: Request, id: str, params: Query[GuardedParams]) -> One:
    """Retire a memory: it leaves recall, its text stays. A dead one is answered unchanged."""
    bank = opening.to_write(
        request.auth, bank_named(request, params.bank), Role.EDITOR, Scope.MEMORY_WRITE
    )
    memory = entries.delete(
        request.auth, bank, id, expected=params.expected(), idempotency=idempotency(request)
    )
    return {"memory": memory}


@router.post("/memories/{id}/pin", response=answers(OneOut), openapi_extra=KEYED)
def pin_memory(request: Request, id: str, body: PinIn) -> One:
    """Pin or unpin a live memory. No automatic path touches a pinned one."""
    as_addressed(id, body.id)
    bank = opening.to_write(
        request.auth, bank_named(request, body.bank), Role.EDITOR, Scope.MEMORY_WRITE
    )
    memory = entries.pin(
        request.auth,
        bank,
        id,
        pinned=body.pinned,
        expected=body.expected(),
        idempotency=idempotency(request),
    )
    return {"memory": memory}


@router.post("/memories/{id}/supersede", response=answers(SupersededOut), openapi_extra=KEYED)
def supersede_memory(request: Request, id: str, body: SupersedeIn) -> Superseded:
    """Retire a memory in favour of another one, which stays linked to it."""
    as_addressed(id, body.id)
    bank = opening.to_write(
        request.auth, bank_named(request, body.bank), Role.EDITOR, Scope.MEMORY_WRITE
    )
    return entries.supersede(
        request.auth,
        bank,
        id,
        body.superseded_by,
        reason=body.reason,
        reinforce=body.reinforce,
        expected=body.expected(),
        idempotency=idempotency(request),
    )


@router.post("/memories/{id}/restore", response=answers(OneOut), openapi_extra=KEYED)
def restore_memory(request: Request, id: str, body: GuardedIn | None = None) -> One:
    """Bring a deleted or superseded memory back."""
    asked = body or GuardedIn()
    as_addressed(id, asked.id)
    bank = opening.to_write(
        request.auth, bank_named(request, asked.bank), Role.EDITOR, Scope.MEMORY_WRITE
    )
    memory = entries.restore(
        request.auth, bank, id, expected=asked.expected(), idempotency=idempotency(request)
    )
    return {"memory": memory}


@router.get("/memories/{id}/history", response=answers(HistoryOut))
def memory_history(request: Request, id: str, params: Query[BankParams]) -> dict[str, Any]:
    """Every known state of a memory, newest first, and how each came about."""
    bank = opening.to_write(
        request.auth, bank_named(request, params.bank), Role.VIEWER, Scope.MEMORY_READ
    )
    return {"revisions": revisions.of_entry(bank, id)}


@router.get("/procedures/template", response=answers(TemplateOut))
def procedure_template(request: Request) -> dict[str, str]:
    """The sections that a procedure's text has, in their order."""
    require(request.auth, Scope.MEMORY_READ)
    return {"text": procedure.TEMPLATE}
