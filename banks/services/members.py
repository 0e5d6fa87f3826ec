"""Who belongs to a bank, and in what role."""

from django.contrib.auth import get_user_model
from django.contrib.auth.base_user import AbstractBaseUser
from django.db import transaction

from banks import access, errors
from banks.access import Principal, Role
from banks.models import Bank, Membership


def listed(bank: Bank) -> list[tuple[str, Role]]:
    """User names and roles, by name."""
    rows = Membership.objects.filter(bank=bank).select_related("user").order_by("user__username")
    return [(row.user.get_username(), Role(row.role)) for row in rows]


def owners(bank: Bank) -> list[str]:
    """The names of those who give roles in this bank and may sign in, by name."""
    rows = Membership.objects.filter(bank=bank, role=Role.OWNER, user__is_active=True)
    return list(rows.order_by("user__username").values_list("user__username", flat=True))


def roles(principal: Principal) -> dict[str, Role]:
    """The caller's role in each bank that it may see, by the bank's name."""
    banks = list(access.visible_banks(principal))
    held = access.roles_in(principal, banks)
    return {bank.name: held[bank.pk] for bank in banks}


def own(principal: Principal) -> dict[str, Role]:
    """The memberships of the caller, by the bank's name: without what an instance admin may too."""
    if principal.user_id is None:
        return {}
    rows = Membership.objects.filter(user_id=principal.user_id).values_list("bank__name", "role")
    return {name: Role(role) for name, role in rows}


def add(principal: Principal, bank: Bank, username: str, role: Role) -> None:
    """Make somebody a member who is none. Owners do that (the face opened the bank as one).

    Raises NotFound for an unknown person, Conflict for a member: that one keeps the role.
    """
    user = _person(username)
    row, is_new = Membership.objects.get_or_create(bank=bank, user=user, defaults={"role": role})
    if not is_new:
        held = Role(row.role).name.lower()
        raise errors.Conflict(f"{username} is a member already, as {held}: change the role there.")


def set_role(principal: Principal, bank: Bank, username: str, role: Role) -> None:
    """Make somebody a member or change the role. Owners do that (the face opened the bank as one).

    Raises NotFound for an unknown person, Conflict when the last owner would be gone.
    """
    user = _person(username)
    with transaction.atomic():
        if role is not Role.OWNER:
            _keep_an_owner(principal, bank, user.pk)
        Membership.objects.update_or_create(bank=bank, user=user, defaults={"role": role})


def remove(principal: Principal, bank: Bank, username: str) -> None:
    """End a membership. Raises NotFound, Conflict when the last owner would be gone."""
    row = Membership.objects.filter(bank=bank, user__username=username).first()
    if row is None:
        raise errors.NotFound("That person is no member of this bank.")
    with transaction.atomic():
        _keep_an_owner(principal, bank, row.user_id)
        row.delete()


def _person(username: str) -> AbstractBaseUser:
    user = get_user_model().objects.filter(username=username).first()
    if user is None:
        raise errors.NotFound("There is no person of that name.")
    return user


def _keep_an_owner(principal: Principal, bank: Bank, user_id: int) -> None:
    """An instance admin may leave a bank without an owner: it is theirs then.

    Somebody who is kept out cannot act as one. The lock lets two owners not drop each other.
    """
    if principal.is_admin:
        return
    held = Membership.objects.select_for_update(of=("self",)).filter(bank=bank, role=Role.OWNER)
    if set(held.filter(user__is_active=True).values_list("user_id", flat=True)) == {user_id}:
        raise errors.Conflict("The bank would have no owner: make somebody else owner first.")
