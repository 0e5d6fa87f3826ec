"""Who belongs to a bank, and in what role."""

from django.contrib.auth import get_user_model
from django.db import transaction

from banks import errors
from banks.access import Principal, Role
from banks.models import Bank, Membership


def listed(bank: Bank) -> list[tuple[str, Role]]:
    """User names and roles, by name."""
    rows = Membership.objects.filter(bank=bank).select_related("user").order_by("user__username")
    return [(row.user.get_username(), Role(row.role)) for row in rows]


def set_role(principal: Principal, bank: Bank, username: str, role: Role) -> None:
    """Make somebody a member or change the role. Owners do that (the face opened the bank as one).

    Raises NotFound for an unknown person, Conflict when the last owner would be gone.
    """
    user = get_user_model().objects.filter(username=username).first()
    if user is None:
        raise errors.NotFound("There is no person of that name.")
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


def _keep_an_owner(principal: Principal, bank: Bank, user_id: int) -> None:
    """An instance admin may leave a bank without an owner: it is theirs then."""
    if principal.is_admin:
        return
    owners = Membership.objects.select_for_update().filter(bank=bank, role=Role.OWNER)
    if {row.user_id for row in owners} == {user_id}:
        raise errors.Conflict("The bank would have no owner: make somebody else owner first.")
