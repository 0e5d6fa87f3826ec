"""`manage.py token`."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from banks import auth, errors
from banks.access import AGENT_SCOPES, SYSTEM, Scope
from banks.models import AccessToken
from banks.services import banks as bank_service
from tests import builders

pytestmark = pytest.mark.usefixtures("transactional_db")


def made(*args: str) -> str:
    out, err = StringIO(), StringIO()
    call_command("token", *args, stdout=out, stderr=err)
    assert err.getvalue() == ""
    return out.getvalue()


def test_the_secret_stands_alone_and_works() -> None:
    out = made("laptop", "--scopes", "memory:read, rules:read")
    secret = out.removesuffix("\n")
    assert out == f"{secret}\n"
    assert len(secret.split()) == 1
    principal = auth.principal_of_token(secret)
    assert principal.scopes == {Scope.MEMORY_READ, Scope.RULES_READ}
    assert (principal.is_admin, principal.bank_ids) == (True, None)
    token = AccessToken.objects.get()
    assert token.expires_at is not None
    assert token.expires_at - token.created_at == timedelta(days=90)


def test_without_scopes_it_is_an_agents_token() -> None:
    principal = auth.principal_of_token(made("agent").strip())
    assert principal.scopes == set(AGENT_SCOPES)


def test_it_can_be_of_a_person_and_for_some_banks() -> None:
    builders.person("ada")
    bank, _ = bank_service.create(SYSTEM, "ops")
    secret = made("x", "--banks", "ops", "--days", "7", "--owner", "ada").strip()
    principal = auth.principal_of_token(secret)
    assert (principal.is_admin, principal.bank_ids) == (False, {bank.pk})


@pytest.mark.parametrize(
    "args",
    [
        ("x", "--scopes", "everything"),
        ("x", "--scopes", ","),
        ("x", "--banks", "nowhere"),
        ("x", "--owner", "nobody"),
        ("x", "--days", "0"),
        (" ",),
    ],
)
def test_what_cannot_be_is_refused(args: tuple[str, ...]) -> None:
    with pytest.raises(CommandError):
        made(*args)
    assert not AccessToken.objects.exists()


def test_an_unknown_secret_opens_nothing() -> None:
    secret = made("x").strip()
    with pytest.raises(errors.Unauthenticated):
        auth.principal_of_token(secret[:-1])
