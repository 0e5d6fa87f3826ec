"""GET /rules and PUT /rules/{name}."""

import pytest
from django.conf import settings

from tests.api.conftest import Api, MakeApi
from tests.builders import World

KEY = "sk-" + "0a1b2c3d4e5f6a7b8c9d"


@pytest.fixture
def maintainer(world: World, api_of: MakeApi) -> Api:
    return api_of(world.maintainer)


def test_set_list_and_remove_a_rule(world: World, maintainer: Api) -> None:
    body = {"bank": "ops", "content": "Close valve 2 first.\n"}
    assert maintainer.ok("PUT", "/rules/valves", body) == {"ok": True, "exists": True}
    told = maintainer.ok("GET", "/rules?bank=ops")
    assert told["bank"] == "ops"
    [rule] = told["rules"]
    assert (rule["name"], rule["content"]) == ("valves", "Close valve 2 first.\n")
    assert set(rule) == {"name", "content", "version", "updated_at"}
    blank = {"bank": "ops", "content": "  \n"}
    assert maintainer.ok("PUT", "/rules/valves", blank) == {"ok": True, "exists": False}
    assert maintainer.ok("GET", "/rules?bank=ops")["rules"] == []


def test_a_stale_version_is_409_with_the_rule_as_it_is(world: World, maintainer: Api) -> None:
    first = {"bank": "ops", "content": "Close valve 2 first.", "if_version": ""}
    maintainer.ok("PUT", "/rules/valves", first)
    told = maintainer.refused(409, "stale_revision", "PUT", "/rules/valves", first)
    assert told["current"]["content"] == "Close valve 2 first."
    again = {"bank": "ops", "content": "Or last.", "if_version": told["current"]["version"]}
    maintainer.ok("PUT", "/rules/valves", again)


# field cases A22 and A47
@pytest.mark.parametrize(
    "name",
    [
        "%E5%B9%B3" * 200,
        "..",
        ".trash",
        "-rf",
        "aux.md",
        "notes.",
        "name%20",
        "Upper",
        "a" * 65,
        KEY,
    ],
)
def test_a_name_that_cannot_be_a_file_is_422_and_writes_nothing(
    world: World, maintainer: Api, name: str
) -> None:
    before = sorted(settings.DATA_DIR.parent.rglob("*"))
    body = {"bank": "ops", "content": "Close valve 2 first."}
    told = maintainer.refused(422, "invalid_name", "PUT", f"/rules/{name}", body)
    assert str(settings.DATA_DIR) not in str(told)
    assert sorted(settings.DATA_DIR.parent.rglob("*")) == before


@pytest.mark.parametrize("name", ["..%2Fescape", "a/../../x", "%2Fetc%2Fx"])
# field case A22
def test_a_name_with_a_slash_is_no_address(maintainer: Api, name: str) -> None:
    body = {"bank": "ops", "content": "Close valve 2 first."}
    maintainer.refused(404, "no_such_call", "PUT", f"/rules/{name}", body)


@pytest.mark.parametrize("content", ["x" * 50_001, "a bell \x07", 5, None])
def test_content_that_cannot_be_kept_is_422(maintainer: Api, content: object) -> None:
    answer = maintainer.send("PUT", "/rules/valves", {"bank": "ops", "content": content})
    assert (answer.status_code, answer.json()["errors"][0]["loc"]) == (422, "content")


def test_a_rule_for_a_missing_bank_makes_it_for_who_may(admin: Api, world: World) -> None:
    admin.ok("PUT", "/rules/valves", {"content": "Close valve 2 first."})
    assert admin.ok("GET", "/banks/main")["bank"]["rules"] == 1


def test_to_remove_a_rule_of_a_missing_bank_makes_none(admin: Api) -> None:
    admin.refused(404, "bank_not_found", "PUT", "/rules/style", {"bank": "typo", "content": " "})
    assert "typo" not in [each["name"] for each in admin.ok("GET", "/banks")["banks"]]
