"""Which bank a call means when it names none, and what a missing default bank is: an empty one."""

from banks import config, errors, queries, sync
from banks.access import SYSTEM, Principal, Role, Scope, require, visible_banks
from banks.models import Bank
from banks.queries import Summary
from banks.services import open_bank
from banks.services.banks import open_or_create


def name_of(name: str | None) -> str:
    """The bank that is meant: the named one, else the configured default."""
    return config.current().default_bank if name is None else name


def to_read(principal: Principal, name: str | None, scope: Scope) -> Bank | None:
    """The bank for a read; None for a default bank that is missing: it reads as empty.

    A default bank that the caller may not see is missing too. Raises as `open_bank` does.
    """
    wanted = name_of(name)
    try:
        return open_bank(principal, wanted, Role.VIEWER, scope)
    except errors.BankNotFound:
        if wanted != config.current().default_bank:
            raise
        return None


def to_write(principal: Principal, name: str | None, role: Role, scope: Scope) -> Bank:
    """The bank for a change of what is in it. Raises as `open_bank` does."""
    return open_bank(principal, name_of(name), role, scope)


def to_save(principal: Principal, name: str | None, role: Role, scope: Scope) -> Bank:
    """The bank for a save, made if it is missing and the caller may. Raises as `open_or_create`."""
    return open_or_create(principal, name_of(name), role, scope)


def listed(principal: Principal) -> list[Summary]:
    """Every bank that the caller may see, by name, its files looked at. Raises ScopeMissing."""
    require(principal, Scope.MEMORY_READ)
    if principal.is_admin:
        sync.discover()
    for bank in visible_banks(principal):
        sync.look(bank)
    return queries.summaries(principal)


def all_banks() -> list[Bank]:
    """Every active bank, those found on disk just now too; for whoever may do everything."""
    sync.discover()
    return list(visible_banks(SYSTEM))


def can_be_accepted(hold: str) -> bool:
    """Whether an owner can end this hold by taking the files as they are."""
    return sync.is_acceptable(hold)
