"""Every call has a rule: the least role and the scope. The table is walked for all of them.

A new call without a line here fails the first test; a call that forgets its check fails the rest.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.conf import settings
from django.http import HttpResponse

from banks.access import Principal, Role, Scope
from banks.models import Bank, Change
from banks.services import banks
from memoryconsole.api import api
from tests import builders
from tests.api.conftest import EVERY_SCOPE, Api, signed_in, token_of

SAFE = ("GET", "HEAD")


@dataclass(frozen=True)
class Rule:
    """A call that succeeds for whoever holds the role in the bank `ops`, and the scope."""

    name: str
    method: str
    path: str
    scope: Scope | None
    role: Role | None = None
    body: object = None
    needs_admin: bool = False
    refusal: tuple[int, ...] = (403,)


def _rules(key: str, other: str) -> list[Rule]:
    read, write, admin = Scope.MEMORY_READ, Scope.MEMORY_WRITE, Scope.ADMIN
    viewer, editor, owner = Role.VIEWER, Role.EDITOR, Role.OWNER
    at = f"/memories/{key}"
    item = {"bank": "ops", "text": "Valve 9 is new."}
    return [
        Rule("create_bank", "POST", "/banks", Scope.BANKS_CREATE, None, {"name": "ops"}),
        Rule("list_banks", "GET", "/banks", read),
        Rule("get_bank", "GET", "/banks/ops", read, viewer),
        Rule("describe_bank", "PATCH", "/banks/ops", admin, owner, {"description": "x"}),
        Rule("ensure_bank", "POST", "/banks/ops/ensure", write, editor),
        Rule("rename_bank", "POST", "/banks/ops/rename", admin, owner, {"name": "pumps"}),
        Rule("delete_bank", "DELETE", "/banks/ops", admin, owner),
        Rule("list_trash", "GET", "/trash", admin),
        # A bank in the trash is visible to its owners alone.
        Rule("restore_bank", "POST", "/banks/old/restore", admin, owner, refusal=(404,)),
        Rule("save_memory", "POST", "/memories", write, editor, item),
        Rule("save_memories", "POST", "/memories/bulk", write, editor,
             {"bank": "ops", "memories": [item]}),
        Rule("list_memories", "GET", "/memories?bank=ops", read, viewer),
        Rule("get_memory", "GET", f"{at}?bank=ops", read, viewer),
        Rule("memory_history", "GET", f"{at}/history?bank=ops", read, viewer),
        Rule("update_memory", "PATCH", at, write, editor, {"bank": "ops", "tags": ["new"]}),
        Rule("delete_memory", "DELETE", f"{at}?bank=ops", write, editor),
        Rule("pin_memory", "POST", f"{at}/pin", write, editor, {"bank": "ops", "pinned": True}),
        Rule("supersede_memory", "POST", f"{at}/supersede", write, editor,
             {"bank": "ops", "superseded_by": other}),
        Rule("restore_memory", "POST", "/memories/DEAD/restore", write, editor, {"bank": "ops"}),
        Rule("procedure_template", "GET", "/procedures/template", read),
        Rule("list_tags", "GET", "/tags?bank=ops", read, viewer),
        Rule("list_rules", "GET", "/rules?bank=ops", Scope.RULES_READ, viewer),
        Rule("set_rule", "PUT", "/rules/valves", Scope.RULES_WRITE, Role.MAINTAINER,
             {"bank": "ops", "content": "Close valve 2 first."}),
        Rule("recall", "POST", "/recall", read, viewer, {"bank": "ops", "query": "valve"}),
        Rule("doctor", "POST", "/doctor", admin, needs_admin=True),
        Rule("reload", "POST", "/reload", admin, needs_admin=True),
    ]  # fmt: skip


TABLE = _rules("", "")
NAMES = [rule.name for rule in TABLE]
# Recall only reads; it is a POST because a query may be long.
CHANGING = [rule.name for rule in TABLE if rule.method not in SAFE and rule.name != "recall"]


@dataclass(frozen=True)
class Scene:
    """A world with two live memories, a dead one and a trashed bank of the same people."""

    world: builders.World
    rules: dict[str, Rule]

    def ask(self, name: str, principal: Principal, *scopes: str) -> HttpResponse:
        rule = self.rules[name]
        return Api(token_of(principal, *scopes)).send(rule.method, rule.path, rule.body)


@pytest.fixture
def scene(db: None) -> Scene:
    world = builders.world()
    one = builders.save(world, "Valve 1 is open.").memory
    two = builders.save(world, "Valve 2 is open.").memory
    dead = builders.save(world, "Valve 3 is gone.").memory
    Api(token_of(world.editor)).ok("DELETE", f"/memories/{dead.id}?bank=ops")
    old, _ = banks.create(world.admin, "old")
    for role in Role:
        builders.members.set_role(world.admin, old, role.name.lower(), role)
    banks.trash(world.admin, old)
    rules = {rule.name: rule for rule in _rules(one.id, two.id)}
    dead_path = rules["restore_memory"].path.replace("DEAD", dead.id)
    rules["restore_memory"] = Rule(
        "restore_memory", "POST", dead_path, Scope.MEMORY_WRITE, Role.EDITOR, {"bank": "ops"}
    )
    return Scene(world, rules)


def _cases() -> list[tuple[str, Role | None]]:
    """Each call with the least role, the one below it, and nobody's; any role where none counts."""
    cases: list[tuple[str, Role | None]] = []
    for rule in TABLE:
        least = rule.role or (Role.OWNER if rule.needs_admin else Role.VIEWER)
        below = [Role(least - 1)] if least > Role.VIEWER else []
        cases += [(rule.name, role) for role in (least, *below, None)]
    return cases


def state() -> object:
    """All that a call could have changed: the files, the banks, the journal."""
    files = {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in Path(settings.DATA_DIR).rglob("*")
        if path.is_file()
    }
    rows = sorted(Bank.objects.values_list("name", "state"))
    return files, rows, Change.objects.count()


def test_every_call_of_the_api_has_a_line_in_the_table() -> None:
    paths = api.get_openapi_schema()["paths"]
    actual = [call["operationId"] for calls in paths.values() for call in calls.values()]
    assert sorted(NAMES) == sorted(actual)


@pytest.mark.parametrize(("name", "role"), _cases())
def test_the_least_role_suffices_and_any_lower_one_does_not(
    scene: Scene, name: str, role: Role | None
) -> None:
    rule = scene.rules[name]
    person = getattr(scene.world, role.name.lower() if role else "stranger")
    # With banks:create a missing bank would be made, and a foreign one be called taken.
    scopes = [each for each in EVERY_SCOPE if each != "banks:create" or name == "create_bank"]
    before = state()
    answer = scene.ask(name, person, *scopes)
    if rule.needs_admin:
        assert answer.status_code == 403
    elif name == "create_bank":
        # The token may create banks; the bank is there, and a stranger must not see that.
        assert answer.status_code == (200 if role else 409)
    elif rule.role is None or (role is not None and role >= rule.role):
        assert answer.status_code == 200, answer.content
        return
    else:
        assert answer.status_code in (rule.refusal if role else (404,)), answer.content
    assert state() == before


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_token_and_an_admins_token_without_the_scope_are_refused(
    scene: Scene, name: str
) -> None:
    rule = scene.rules[name]
    before = state()
    assert Api("mc_wrong").send(rule.method, rule.path, rule.body).status_code == 401
    others = (each for each in EVERY_SCOPE if each != rule.scope)
    answer = scene.ask(name, scene.world.admin, *others)
    assert (answer.status_code, state()) == (403, before)


@pytest.mark.parametrize("name", NAMES)
def test_its_scope_alone_suffices_for_an_admin(scene: Scene, name: str) -> None:
    needed = scene.rules[name].scope
    assert needed is not None
    answer = scene.ask(name, scene.world.admin, needed.value)
    assert answer.status_code == 200, answer.content


# field case A44
@pytest.mark.parametrize("name", CHANGING)
def test_a_read_only_token_and_a_viewer_in_the_browser_change_nothing(
    scene: Scene, name: str
) -> None:
    rule = scene.rules[name]
    before = state()
    answer = scene.ask(name, scene.world.admin, "memory:read", "rules:read")
    assert answer.status_code == 403, answer.content
    browser = signed_in(scene.world.viewer)
    browser.cookies[settings.CSRF_COOKIE_NAME] = "c" * 32
    answer = browser.generic(
        rule.method,
        f"/api/v1{rule.path}",
        b"" if rule.body is None else json.dumps(rule.body).encode(),
        content_type="application/json",
        headers={"X-CSRFToken": "c" * 32},
    )
    assert answer.status_code in (403, 404), answer.content
    assert (answer.status_code == 404) is (rule.refusal == (404,))
    assert state() == before
