"""People with an account: made, let in and kept out, given another password."""

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from banks import errors
from banks.access import Principal, require_admin

USERNAME_LENGTH = 150


def account(username: str, password: str, *, is_admin: bool) -> User:
    """An account that is not saved yet. Raises Invalid for the name or the password."""
    name = username.strip()
    if not name or len(name) > USERNAME_LENGTH or not name.isprintable():
        raise errors.Invalid("Choose a name of 1 to 150 characters.", loc="username")
    user = User(username=name, is_superuser=is_admin, is_staff=is_admin)
    _set_password(user, password)
    return user


def _set_password(user: User, password: str) -> None:
    try:
        validate_password(password, user)
    except ValidationError as error:
        details = tuple(errors.Detail("password", message) for message in error.messages)
        raise errors.Invalid(details[0].message, details=details) from error
    user.set_password(password)


def add(principal: Principal, username: str, password: str, *, is_admin: bool = False) -> User:
    """Make an account. Raises Forbidden, Invalid, NameTaken."""
    require_admin(principal)
    user = account(username, password, is_admin=is_admin)
    try:
        with transaction.atomic():
            user.save()
    except IntegrityError as error:
        raise errors.NameTaken from error
    return user


def change(
    principal: Principal,
    user_id: int,
    *,
    is_active: bool,
    is_admin: bool,
    password: str | None = None,
) -> User:
    """Let somebody in or keep them out, make or unmake an instance admin, set a new password.

    Somebody who is kept out keeps memberships and tokens; both count for nothing until they are
    let in again. Raises Forbidden, NotFound, Invalid, and Conflict when the last instance admin
    would be gone.
    """
    require_admin(principal)
    with transaction.atomic():
        user = User.objects.select_for_update().filter(pk=user_id).first()
        if user is None:
            raise errors.NotFound("There is no person of that name.")
        if not (is_active and is_admin):
            _keep_an_admin(user_id)
        user.is_active, user.is_superuser, user.is_staff = is_active, is_admin, is_admin
        if password is not None:
            _set_password(user, password)
        user.save()
    return user


def change_own_password(principal: Principal, old: str, new: str) -> User:
    """Give the caller, a person, another password; their other sessions end with that.

    Raises Forbidden for a token, Invalid at `old` when it is not theirs, else at `password`.
    """
    if principal.is_token or principal.user_id is None:
        raise errors.Forbidden("Only a person has a password.")
    with transaction.atomic():
        user = User.objects.select_for_update().get(pk=principal.user_id)
        if not user.check_password(old):
            raise errors.Invalid("That is not your password now.", loc="old")
        _set_password(user, new)
        user.save(update_fields=["password"])
    return user


def _keep_an_admin(user_id: int) -> None:
    admins = User.objects.select_for_update().filter(is_superuser=True, is_active=True)
    if {user.pk for user in admins} == {user_id}:
        raise errors.Conflict("Nobody would be instance admin: make somebody else one first.")
