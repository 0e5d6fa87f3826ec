"""Calls about the files of a bank."""

from ninja import Query, Router

from banks import errors, files
from banks.access import Scope
from banks.api import Request, bank_named
from banks.files import Listing, Page
from banks.schemas.common import answers
from banks.schemas.files import LinesOut, LinesParams, RouterOut, RouterParams
from banks.services import opening

router = Router(tags=["files"])


@router.get("/files", response=answers(RouterOut))
def list_files(request: Request, params: Query[RouterParams]) -> Listing:
    """The files of a bank, or of one kind of memory, as its router describes them."""
    bank = opening.to_read(request.auth, bank_named(request, params.bank), Scope.MEMORY_READ)
    if bank is None:
        return files.empty_listing(opening.name_of(bank_named(request, params.bank)), params.kind)
    return files.listing(bank, params.kind)


@router.get("/files/{path:path}", response=answers(LinesOut))
def read_file(request: Request, path: str, params: Query[LinesParams]) -> Page:
    """Lines of one file of a bank; an injected rule needs the scope `rules:read` besides."""
    bank = opening.to_read(request.auth, bank_named(request, params.bank), Scope.MEMORY_READ)
    if bank is None:
        raise errors.FileNotFound
    return files.page(request.auth, bank, path, offset=params.offset, limit=params.limit)
