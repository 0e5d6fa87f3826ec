"""Calls about banks themselves."""

from typing import Any

from ninja import Router

from banks import queries
from banks.access import Role, Scope, require
from banks.api import Request
from banks.queries import Summary
from banks.schemas.banks import (
    BankIn,
    BanksOut,
    CreatedOut,
    DescriptionIn,
    FolderIn,
    NameIn,
    OneBankOut,
    PathsOut,
    TrashedOut,
    TrashOut,
)
from banks.schemas.common import answers
from banks.services import banks, open_bank, opening

router = Router(tags=["banks"])


@router.post("/banks", response=answers(CreatedOut))
def create_bank(request: Request, body: BankIn) -> dict[str, Any]:
    """Create a bank. One that exists is answered as it is, its description too."""
    bank, created = banks.create(request.auth, body.name, body.description)
    return {"bank": queries.summary(bank), "created": created}


@router.get("/banks", response=answers(BanksOut))
def list_banks(request: Request) -> dict[str, list[Summary]]:
    """Every bank that the caller may see, by name, with its counts."""
    return {"banks": opening.listed(request.auth)}


@router.get("/banks/{name}", response=answers(OneBankOut))
def get_bank(request: Request, name: str) -> dict[str, Summary]:
    """One bank with its counts."""
    bank = open_bank(request.auth, name, Role.VIEWER, Scope.MEMORY_READ)
    return {"bank": queries.summary(bank)}


@router.patch("/banks/{name}", response=answers(OneBankOut))
def describe_bank(request: Request, name: str, body: DescriptionIn) -> dict[str, Summary]:
    """Change the description of a bank."""
    bank = open_bank(request.auth, name, Role.OWNER, Scope.ADMIN)
    banks.describe(request.auth, bank, body.description)
    return {"bank": queries.summary(bank)}


@router.delete("/banks/{name}", response=answers(TrashedOut))
def delete_bank(request: Request, name: str) -> dict[str, str]:
    """Move a bank to the trash, from where it can be restored."""
    bank = open_bank(request.auth, name, Role.OWNER, Scope.ADMIN)
    return {"trashed_to": banks.trash(request.auth, bank)}


@router.get("/trash", response=answers(TrashOut))
def list_trash(request: Request) -> dict[str, list[dict[str, str]]]:
    """The trashed banks that the caller owned, newest first."""
    require(request.auth, Scope.ADMIN)
    found = banks.trashed(request.auth)
    return {"banks": [{"name": bank.name, "trashed_to": banks.trash_path(bank)} for bank in found]}


@router.post("/banks/{name}/restore", response=answers(OneBankOut))
def restore_bank(request: Request, name: str, body: FolderIn | None = None) -> dict[str, Summary]:
    """Bring a trashed bank back, its members with it; the newest one of that name when no folder
    is named.
    """
    require(request.auth, Scope.ADMIN)
    bank = banks.restore(request.auth, name, body.folder if body else None)
    return {"bank": queries.summary(bank)}


@router.post("/banks/{name}/rename", response=answers(OneBankOut))
def rename_bank(request: Request, name: str, body: NameIn) -> dict[str, Summary]:
    """Give a bank another name; members, tokens and history stay."""
    bank = open_bank(request.auth, name, Role.OWNER, Scope.ADMIN)
    return {"bank": queries.summary(banks.rename(request.auth, bank, body.name))}


@router.post("/banks/{name}/ensure", response=answers(PathsOut))
def ensure_bank(request: Request, name: str) -> dict[str, list[str]]:
    """Create the files of a bank's tree that are missing; those that exist are not touched."""
    bank = open_bank(request.auth, name, Role.EDITOR, Scope.MEMORY_WRITE)
    return {"created": banks.ensure(request.auth, bank)}
