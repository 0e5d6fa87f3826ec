"""Which runs and proposals somebody may see and decide about: those of banks they maintain."""

from typing import TypeVar

from banks import errors
from banks.access import Principal, Role, Scope, require, roles_in, visible_banks
from banks.models import Bank
from banks.outbox import is_uid
from banks.services import open_bank
from recall.models import ConsolidationRun, Proposal

Row = TypeVar("Row", ConsolidationRun, Proposal)


def banks(principal: Principal, bank: Bank | None) -> list[int]:
    """The primary keys of the banks that the caller maintains, or of this one.

    Raises ScopeMissing, Forbidden (a bank that the caller does not maintain).
    """
    require(principal, Scope.RUNS_RUN)
    roles = roles_in(principal, [bank] if bank else visible_banks(principal))
    kept = [key for key, role in roles.items() if role >= Role.MAINTAINER]
    if bank is not None and not kept:
        raise errors.Forbidden("That needs the role maintainer in this bank.")
    return kept


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
