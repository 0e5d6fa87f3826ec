"""Who may do what: the only way from a name to a bank."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from django.db.models import QuerySet

from banks import errors
from banks.models import Bank, Membership


class Role(IntEnum):
    """Per bank, each holds what the ones below it hold."""

    VIEWER = 1
    EDITOR = 2
    MAINTAINER = 3
    OWNER = 4


class Scope(StrEnum):
    """What a token was made for. A call needs the role and the scope."""

    MEMORY_READ = "memory:read"
    MEMORY_WRITE = "memory:write"
    MEMORY_CURATE = "memory:curate"
    RULES_READ = "rules:read"
    RULES_WRITE = "rules:write"
    BANKS_CREATE = "banks:create"
    RUNS_RUN = "runs:run"
    HOOKS = "hooks"
    ADMIN = "admin"


AGENT_SCOPES = (Scope.MEMORY_READ, Scope.MEMORY_WRITE, Scope.RULES_READ, Scope.HOOKS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Whoever asks. `scopes` is None for a person (all of them); `bank_ids` None = every bank.

    `is_admin`: an instance admin, who holds every role on every bank. A token limited to some
    banks holds them there alone and nothing of the instance: `is_instance_admin` tells that.
    """

    handle: str
    user_id: int | None = None
    token_id: int | None = None
    is_admin: bool = False
    scopes: frozenset[Scope] | None = None
    bank_ids: frozenset[int] | None = None

    def has(self, scope: Scope) -> bool:
        """Whether a call that needs this scope may go on."""
        return self.scopes is None or scope in self.scopes

    @property
    def may_create_banks(self) -> bool:
        """Instance admins, and tokens made for it."""
        if self.scopes is None:
            return self.is_admin
        return self.bank_ids is None and Scope.BANKS_CREATE in self.scopes

    @property
    def is_instance_admin(self) -> bool:
        """Whether the instance is the caller's to change: never for a token limited to banks."""
        return self.is_admin and self.bank_ids is None

    @property
    def key(self) -> str:
        """Who this is among all callers: people choose the names of their tokens freely."""
        return self.handle if self.token_id is None else f"token:{self.token_id}"

    @property
    def is_token(self) -> bool:
        """True for an API token, false for a person or a command."""
        return self.token_id is not None


SYSTEM = Principal(handle="system", is_admin=True)
"""Commands run by whoever may start processes on the machine."""


def require(principal: Principal, scope: Scope) -> None:
    """Raise ScopeMissing when the token was not made for this."""
    if not principal.has(scope):
        raise errors.ScopeMissing(f"This token lacks the scope {scope.value}.")


def require_admin(principal: Principal, scope: Scope = Scope.ADMIN) -> None:
    """Raise Forbidden unless the caller is an instance admin, and its token has the scope and is
    not limited to some banks."""
    require(principal, scope)
    if not principal.is_instance_admin:
        raise errors.Forbidden("That needs an instance admin.")


def role_in(principal: Principal, bank: Bank) -> Role | None:
    """The caller's role in a bank; None when the bank is not visible to it."""
    return roles_in(principal, [bank]).get(bank.pk)


def roles_in(principal: Principal, banks: Iterable[Bank]) -> dict[int, Role]:
    """The caller's roles by the primary keys of the banks that are visible, in one query."""
    keys = {bank.pk for bank in banks}
    if principal.bank_ids is not None:
        keys &= principal.bank_ids
    if principal.is_admin:
        return dict.fromkeys(keys, Role.OWNER)
    if principal.user_id is None:
        return {}
    rows = Membership.objects.filter(user_id=principal.user_id, bank__in=keys)
    return {key: Role(role) for key, role in rows.values_list("bank", "role")}


def bank_for(principal: Principal, name: str, role: Role) -> Bank:
    """The active bank of this name, if the caller holds the role in it.

    Raises BankNotFound (unknown and invisible alike) and Forbidden (visible, role too low).
    """
    bank = Bank.objects.filter(name=name, state=Bank.State.ACTIVE).first()
    held = role_in(principal, bank) if bank else None
    if bank is None or held is None:
        raise errors.BankNotFound
    if held < role:
        raise errors.Forbidden(f"That needs the role {role.name.lower()} in this bank.")
    return bank


def can(principal: Principal, bank: Bank, role: Role, scope: Scope | None = None) -> bool:
    """Whether the caller holds the role (and the scope): for templates and views alike."""
    return reaches(principal, role_in(principal, bank), role, scope)


def reaches(
    principal: Principal, held: Role | None, role: Role, scope: Scope | None = None
) -> bool:
    """The same of a role that was looked up before; None = the bank is not visible."""
    return held is not None and held >= role and (scope is None or principal.has(scope))


def visible_banks(principal: Principal, role: Role = Role.VIEWER) -> QuerySet[Bank]:
    """The active banks that the caller may see, or holds this role in, by name."""
    banks = Bank.objects.filter(state=Bank.State.ACTIVE).order_by("name")
    if principal.bank_ids is not None:
        banks = banks.filter(pk__in=principal.bank_ids)
    if principal.is_admin:
        return banks
    if principal.user_id is None:
        return banks.none()
    return banks.filter(memberships__user_id=principal.user_id, memberships__role__gte=role)


def parse_scopes(values: Iterable[str]) -> frozenset[Scope]:
    """Scopes by their names. Raises Invalid for an unknown one."""
    known = {scope.value: scope for scope in Scope}
    for value in values:
        if value not in known:
            names = ", ".join(sorted(known))
            raise errors.Invalid(f"Unknown scope: use {names}.", loc="scopes")
    return frozenset(known[value] for value in values)
