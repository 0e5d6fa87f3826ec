"""Who is let in: tokens in the header, sessions with CSRF, nothing else."""

import json
import logging
from datetime import timedelta

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from banks import seams
from banks.models import AccessToken
from banks.services import tokens
from tests.api.conftest import BASE, Api, signed_in, token_of
from tests.builders import World, save

BODY = json.dumps({"bank": "ops", "text": "Kiln 1 is cold."})


def post(client: Client, content_type: str = "application/json", **headers: str) -> int:
    return client.post(
        f"{BASE}/memories", BODY, content_type=content_type, headers=headers
    ).status_code


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer ", "Bearer mc_wrong", "Basic dXNlcjpwYXNz", "mc_bare", "Token"]
)
def test_without_a_valid_token_every_call_is_401(world: World, header: str) -> None:
    given = {"Authorization": header} if header else {}
    answer = Client().get(f"{BASE}/banks", headers=given)
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_a_revoked_or_expired_token_is_401_at_once(world: World) -> None:
    api = Api(token_of(world.editor))
    api.ok("GET", "/banks")
    row = AccessToken.objects.get()
    with seams.replaced(now=lambda: row.created_at + timedelta(days=91)):
        api.refused(401, "unauthenticated", "GET", "/banks")
    tokens.revoke(world.editor, row.pk)
    api.refused(401, "unauthenticated", "GET", "/banks")


def test_a_token_of_somebody_who_was_shut_out_is_401(world: World) -> None:
    api = Api(token_of(world.editor))
    User.objects.filter(pk=world.editor.user_id).update(is_active=False)
    api.refused(401, "unauthenticated", "GET", "/banks")


def test_a_wrong_token_beside_a_session_is_401(world: World) -> None:
    client = signed_in(world.editor)
    assert client.get(f"{BASE}/banks").status_code == 200
    for header in ("Bearer mc_wrong", "Basic dXNlcjpwYXNz", ""):
        answer = client.get(f"{BASE}/banks", headers={"Authorization": header})
        assert answer.status_code == 401


# field case A26
@pytest.mark.parametrize("name", ["token", "access_token", "api_key"])
def test_a_token_in_the_address_is_401_and_reaches_no_log(
    world: World, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    secret = token_of(world.editor)
    with caplog.at_level(logging.DEBUG):
        for client, headers in (
            (Client(), {}),
            (signed_in(world.editor), {}),
            (Client(), {"Authorization": f"Bearer {secret}"}),
        ):
            answer = client.get(f"{BASE}/banks?{name}={secret}", headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")
            assert secret.encode() not in answer.content
    assert secret not in caplog.text


# field case A43
@pytest.mark.parametrize(
    ("content_type", "headers"),
    [
        ("text/plain", {}),
        ("application/x-www-form-urlencoded", {}),
        ("multipart/form-data; boundary=x", {}),
        ("application/json", {}),
        ("application/json", {"Origin": "https://elsewhere.example"}),
        ("application/json", {"X-CSRFToken": "a" * 32}),
    ],
)
def test_a_session_without_csrf_token_writes_nothing(
    world: World, content_type: str, headers: dict[str, str]
) -> None:
    client = signed_in(world.editor)
    before = (settings.DATA_DIR / "ops" / "semantic_memory" / "facts.md").read_bytes()
    answer = client.post(f"{BASE}/memories", BODY, content_type=content_type, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (403, "csrf_failed")
    assert (settings.DATA_DIR / "ops" / "semantic_memory" / "facts.md").read_bytes() == before


# field case A43
def test_a_session_with_the_csrf_token_writes_and_a_foreign_origin_does_not(world: World) -> None:
    client = signed_in(world.editor)
    value = "c" * 32
    client.cookies[settings.CSRF_COOKIE_NAME] = value
    assert post(client, **{"X-CSRFToken": value}) == 200
    assert post(client, **{"X-CSRFToken": value, "Origin": "https://elsewhere.example"}) == 403


def test_a_form_with_the_csrf_token_is_no_json(world: World) -> None:
    client = signed_in(world.editor)
    value = "c" * 32
    client.cookies[settings.CSRF_COOKIE_NAME] = value
    kind = "multipart/form-data; boundary=x"
    assert post(client, kind, **{"X-CSRFToken": value}) == 422


def test_a_token_needs_no_csrf_token(world: World) -> None:
    client = Client(enforce_csrf_checks=True)
    assert post(client, Authorization=f"Bearer {token_of(world.editor)}") == 200


# field case A43
@pytest.mark.parametrize("verb", ["pin", "supersede", "restore"])
def test_get_changes_nothing(world: World, verb: str) -> None:
    memory = save(world, "Kiln 1 is cold.").memory
    answer = signed_in(world.editor).get(f"{BASE}/memories/{memory.id}/{verb}?bank=ops")
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
    assert answer.headers["Allow"] == "POST"


def test_a_token_of_some_banks_sees_no_other(world: World, admin: Api) -> None:
    admin.ok("POST", "/banks", {"name": "kilns"})
    limited = Api(token_of(world.admin, banks=["kilns"]))
    assert [each["name"] for each in limited.ok("GET", "/banks")["banks"]] == ["kilns"]
    limited.refused(404, "bank_not_found", "GET", "/memories?bank=ops")
