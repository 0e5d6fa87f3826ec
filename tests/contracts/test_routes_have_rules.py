"""Every call has a rule: the least role and the scope. All roles are tried with all scopes.

A new call without a line in `calls.py` fails the first test; one that forgets its check the rest.
What is refused changes nothing, so that one world serves for all of them.
"""

import hashlib
import json
from pathlib import Path

import pytest
from django.conf import settings
from django.http import HttpResponse

from banks.access import Principal, Role, Scope
from banks.models import AccessToken, Bank, Change
from banks.outbox import Delivery, Webhook
from memoryconsole.api import api
from tests import builders
from tests.api.conftest import EVERY_SCOPE, Api, signed_in, token_of
from tests.contracts.calls import CHANGING, NAMES, TABLE, Rule, Scene, mended, scene_of

WHO = ("stranger", *(role.name.lower() for role in Role), "admin")


@pytest.fixture
def scene(db: None) -> Scene:
    return scene_of(builders.world())


def state() -> object:
    """All that a call could have changed: the files, the banks, the journal."""
    files = {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in Path(settings.DATA_DIR).rglob("*")
        if path.is_file()
    }
    rows = sorted(Bank.objects.values_list("name", "state"))
    told = sorted(Webhook.objects.values_list("pk", "url", "active", "owner"))
    return files, rows, Change.objects.count(), told, Delivery.objects.count()


def held(who: str) -> Role | None:
    """The role in `ops`; an instance admin holds the highest."""
    return {"stranger": None, "admin": Role.OWNER}.get(who) or getattr(Role, who.upper(), None)


def expected(rule: Rule, who: str, scopes: tuple[str, ...]) -> tuple[int, ...]:
    """What a call is answered with, for this person and a token with these scopes."""
    role = held(who)
    if rule.scope is None or rule.scope.value not in scopes:
        return (403,)
    if rule.needs_admin:
        return (200,) if who == "admin" else (403,)
    if rule.name == "create_bank":
        # The token may create banks; the bank is there, and a stranger must not see that.
        return (200,) if role else (409,)
    if rule.role is None or (role is not None and role >= rule.role):
        return (200,)
    return rule.refusal if role else (404,)


def test_every_call_of_the_api_has_a_line_in_the_table() -> None:
    paths = api.get_openapi_schema()["paths"]
    actual = [call["operationId"] for calls in paths.values() for call in calls.values()]
    assert sorted(NAMES) == sorted(actual)


def asked(api: Api, rule: Rule) -> HttpResponse:
    answer = api.send(rule.method, rule.path, rule.body)
    answer.close()
    return answer


def tokens_of(principal: Principal) -> dict[tuple[str, ...], Api]:
    """A client for each scope alone, and one without any, which no service would make."""
    bare = Api(token_of(principal, Scope.HOOKS.value))
    AccessToken.objects.filter(pk=AccessToken.objects.latest("pk").pk).update(scopes=[])
    return {(): bare} | {(scope,): Api(token_of(principal, scope)) for scope in EVERY_SCOPE}


@pytest.mark.wide
def test_every_role_with_every_scope_gets_what_the_table_says(scene: Scene) -> None:
    clients = {who: tokens_of(getattr(scene.world, who)) for who in WHO}
    wrong = []

    def ask(name: str, who: str, scopes: tuple[str, ...]) -> int:
        answer = asked(clients[who][scopes], scene.rules[name])
        if answer.status_code not in expected(scene.rules[name], who, scopes):
            wrong.append((name, who, scopes, answer.status_code))
        return answer.status_code

    cases = [(name, who, each) for name in NAMES for who in WHO for each in clients[who]]
    allowed = [case for case in cases if expected(scene.rules[case[0]], *case[1:]) == (200,)]
    before = state()
    for case in cases:
        if case not in allowed:
            ask(*case)
    assert (wrong, state()) == ([], before)
    for case in allowed:
        if ask(*case) == 200:
            mended(scene, case[0])
    assert wrong == []
    assert {name for name, _, _ in allowed} == set(NAMES)


def test_a_wrong_token_and_every_scope_but_the_one_that_is_needed_are_refused(scene: Scene) -> None:
    before, wrong = state(), Api("mc_wrong")
    lacking = {
        scope: Api(token_of(scene.world.admin, *(each for each in EVERY_SCOPE if each != scope)))
        for scope in {rule.scope for rule in TABLE}
    }
    for name, rule in scene.rules.items():
        assert asked(wrong, rule).status_code in (401, 429), name
        assert asked(lacking[rule.scope], rule).status_code == 403, name
    assert state() == before


# field case A44
def test_a_read_only_token_and_a_viewer_in_the_browser_change_nothing(scene: Scene) -> None:
    before = state()
    reading = Api(token_of(scene.world.admin, Scope.MEMORY_READ.value, Scope.RULES_READ.value))
    browser = signed_in(scene.world.viewer)
    browser.cookies[settings.CSRF_COOKIE_NAME] = "c" * 32
    for name in CHANGING:
        rule = scene.rules[name]
        assert asked(reading, rule).status_code == 403, name
        answer = browser.generic(
            rule.method,
            f"/api/v1{rule.path}",
            b"" if rule.body is None else json.dumps(rule.body).encode(),
            content_type="application/json",
            headers={"X-CSRFToken": "c" * 32},
        )
        assert answer.status_code == (404 if rule.refusal == (404,) else 403), name
    assert state() == before
