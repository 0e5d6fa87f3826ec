"""Which runs and proposals somebody may see and decide about: those of banks they maintain."""

from typing import TypeVar

from django.db.models import QuerySet

from banks import errors
from banks.access import Principal, Role, Scope, can, require, visible_banks
from banks.models import Bank
from banks.outbox import is_uid
from banks.services import open_bank
from recall.models import ConsolidationRun, Proposal

Row = TypeVar("Row", ConsolidationRun, Proposal)


def banks(principal: Principal, bank: Bank | None = None) -> QuerySet[Bank]:
    """The banks that the caller maintains, by name, or this one of them.

    Raises ScopeMissing, Forbidden (a bank that the caller does not maintain).
    """
    require(principal, Scope.RUNS_RUN)
    kept = visible_banks(principal, Role.MAINTAINER)
    if bank is None:
        return kept
    if not can(principal, bank, Role.MAINTAINER, Scope.RUNS_RUN):
        raise errors.Forbidden("That needs the role maintainer in this bank.")
    return kept.filter(pk=bank.pk)


def place(rows: QuerySet[Row], key: str) -> int:
    """The primary key of the row with this uid, among those that the caller may see. Raises
    Invalid."""
    found = rows.filter(uid=key).values_list("pk", flat=True).first() if is_uid(key) else None
    if found is None:
        raise errors.Invalid("That page is gone: begin with the first one.", loc="cursor")
    return found


def one(
    principal: Principal, kind: type[Row], key: str, *, missing: type[errors.NotFound]
) -> tuple[Row, Bank]:
    """The row with this uid, and its bank, opened. Raises ScopeMissing, and `missing` for a row
    that is not there or not the caller's to decide about."""
    require(principal, Scope.RUNS_RUN)
    rows = kind.objects.filter(uid=key).select_related("bank")
    row = rows.first() if is_uid(key) else None
    if row is None or row.bank.state != Bank.State.ACTIVE:
        raise missing
    try:
        return row, open_bank(principal, row.bank.name, Role.MAINTAINER, Scope.RUNS_RUN)
    except (errors.BankNotFound, errors.Forbidden) as error:
        raise missing from error
