"""Every change of the product, and the one door to a bank. Faces call this and queries."""

from banks import errors, sync
from banks.access import Principal, Role, Scope, bank_for, require
from banks.models import Bank
from banks.operations import Idempotency, store_errors
from banks.store import names

__all__ = ["Bank", "Idempotency", "open_bank"]


def open_bank(principal: Principal, name: str, role: Role, scope: Scope) -> Bank:
    """The bank of this name for this caller, with its files looked at: access, then look.

    Raises Invalid (no possible name), ScopeMissing, BankNotFound, Forbidden.
    """
    with store_errors():
        names.bank_name(name)
    require(principal, scope)
    try:
        bank = bank_for(principal, name, role)
    except errors.BankNotFound:
        if not principal.is_admin:
            raise
        sync.discover()
        bank = bank_for(principal, name, role)
    sync.look(bank)
    return bank
