"""PATCH, DELETE, pin, supersede and restore of one memory."""

import pytest

from banks.models import Change
from tests.api.conftest import Api, MakeApi
from tests.builders import World, save


def changes(world: World) -> int:
    return Change.objects.filter(bank=world.bank).count()


# --- update -----------------------------------------------------------------------------------


def test_update_changes_the_given_fields_alone(world: World, editor: Api) -> None:
    memory = save(world, "Kiln 1 is cold.", tags=("kiln",)).memory
    told = editor.ok(
        "PATCH",
        f"/memories/{memory.id}",
        {"bank": "ops", "text": "Kiln 1 is hot.", "entities": ["kiln 1"], "trust": "low"},
    )["memory"]
    assert (told["id"], told["revision"], told["tags"]) == (memory.id, 1, ["kiln"])
    assert (told["text"], told["summary"]) == ("Kiln 1 is hot.", "Kiln 1 is hot.")
    assert (told["entities"], told["trust"], told["confidence"]) == (["kiln 1"], "low", "inferred")
    cleared = editor.ok("PATCH", f"/memories/{memory.id}", {"bank": "ops", "tags": []})["memory"]
    assert (cleared["tags"], cleared["text"]) == ([], "Kiln 1 is hot.")


def test_update_with_nothing_new_changes_nothing(world: World, editor: Api) -> None:
    memory = save(world, "Kiln 1 is cold.", tags=("kiln",)).memory
    before = changes(world)
    for body in ({}, {"text": memory.text}, {"tags": [" KILN "]}):
        told = editor.ok("PATCH", f"/memories/{memory.id}", {"bank": "ops", **body})
        assert told["memory"]["version"] == memory.version
    assert changes(world) == before


@pytest.mark.parametrize("guard", [{"if_revision": 7}, {"if_version": "0" * 16}])
def test_a_stale_guard_is_409_with_what_is_there_now(
    world: World, editor: Api, guard: dict[str, object]
) -> None:
    memory = save(world, "Kiln 1 is cold.").memory
    path, body = f"/memories/{memory.id}", {"bank": "ops", **guard}
    query = "&".join(f"{name}={value}" for name, value in body.items())
    for method, where, sent in (
        ("PATCH", path, {**body, "text": "Kiln 1 is hot."}),
        ("POST", f"{path}/pin", {**body, "pinned": True}),
        ("DELETE", f"{path}?{query}", None),
        ("POST", f"{path}/supersede", {**body, "superseded_by": save(world, "Or not.").memory.id}),
    ):
        told = editor.refused(409, "stale_revision", method, where, sent)
        assert told["current"]["version"] == memory.version
        assert told["current"]["text"] == memory.text


def test_the_current_guard_lets_the_change_through(world: World, editor: Api) -> None:
    memory = save(world, "Kiln 1 is cold.").memory
    body = {"bank": "ops", "pinned": True, "if_revision": 0, "if_version": memory.version}
    assert editor.ok("PATCH", f"/memories/{memory.id}", body)["memory"]["pinned"] is True


def test_update_refuses_what_the_state_does_not_allow(world: World, editor: Api) -> None:
    fact, other = save(world, "Kiln 1 is cold.").memory, save(world, "Kiln 2 is cold.").memory
    event = save(world, "Kiln 1 was lit.", category="events").memory
    path = f"/memories/{fact.id}"
    told = editor.refused(409, "text_exists", "PATCH", path, {"bank": "ops", "text": other.text})
    assert other.id in told["message"]
    body = {"bank": "ops", "text": "Kiln 1 was out."}
    editor.refused(409, "episodic", "PATCH", f"/memories/{event.id}", body)
    editor.ok("DELETE", f"{path}?bank=ops")
    editor.refused(409, "memory_dead", "PATCH", path, body)


@pytest.mark.parametrize(
    "body", [{"text": "no"}, {"text": 5}, {"colour": "red"}, {"if_revision": -1}, {"bank": "../x"}]
)
def test_update_refuses_a_bad_body(world: World, editor: Api, body: dict[str, object]) -> None:
    memory = save(world, "Kiln 1 is cold.").memory
    answer = editor.send("PATCH", f"/memories/{memory.id}", {"bank": "ops", **body})
    assert answer.status_code == 422


# --- pinned memories --------------------------------------------------------------------------


def test_a_pinned_memory_changes_only_with_the_curate_scope(world: World, api_of: MakeApi) -> None:
    memory = save(world, "Kiln 1 is cold.", pinned=True).memory
    path = f"/memories/{memory.id}"
    plain = api_of(world.editor, "memory:read", "memory:write")
    plain.refused(403, "pinned", "PATCH", path, {"bank": "ops", "tags": ["x"]})
    plain.refused(403, "pinned", "POST", f"{path}/pin", {"bank": "ops", "pinned": False})
    plain.refused(403, "pinned", "DELETE", f"{path}?bank=ops")
    told = plain.ok("POST", "/memories", {"bank": "ops", "text": memory.text, "tags": ["x"]})
    assert (told["memory"]["corroboration"], told["memory"]["tags"]) == (1, [])
    curator = api_of(world.editor, "memory:write", "memory:curate")
    assert curator.ok("PATCH", path, {"bank": "ops", "tags": ["x"]})["memory"]["tags"] == ["x"]


def test_pin_and_unpin(world: World, editor: Api) -> None:
    memory = save(world, "Kiln 1 is cold.").memory
    path = f"/memories/{memory.id}/pin"
    for pinned, revision in ((True, 1), (True, 1), (False, 2)):
        told = editor.ok("POST", path, {"bank": "ops", "pinned": pinned})["memory"]
        assert (told["pinned"], told["revision"]) == (pinned, revision)
    assert editor.send("POST", path, {"bank": "ops"}).status_code == 422
    editor.ok("DELETE", f"/memories/{memory.id}?bank=ops")
    editor.refused(409, "memory_dead", "POST", path, {"bank": "ops", "pinned": True})


# --- delete and restore -----------------------------------------------------------------------


# field case A46
def test_delete_twice_answers_the_same_and_journals_once(world: World, editor: Api) -> None:
    memory = save(world, "Kiln 1 is cold.").memory
    first = editor.ok("DELETE", f"/memories/{memory.id}?bank=ops")
    assert first["memory"]["invalid_at"] >= memory.created_at
    before = changes(world)
    assert editor.ok("DELETE", f"/memories/{memory.id}?bank=ops") == first
    assert changes(world) == before


def test_delete_takes_no_unknown_parameter(world: World, editor: Api) -> None:
    memory = save(world, "Kiln 1 is cold.").memory
    editor.refused(422, "invalid", "DELETE", f"/memories/{memory.id}?bank=ops&if_match=3")
    assert editor.ok("GET", "/memories?bank=ops")["total"] == 1


def test_restore_brings_a_deleted_memory_back(world: World, editor: Api) -> None:
    memory = save(world, "Kiln 1 is cold.").memory
    path = f"/memories/{memory.id}/restore"
    editor.refused(409, "memory_alive", "POST", path, {"bank": "ops"})
    editor.ok("DELETE", f"/memories/{memory.id}?bank=ops")
    told = editor.ok("POST", path, {"bank": "ops"})["memory"]
    assert (told["revision"], "invalid_at" in told) == (2, False)
    body = {"bank": "ops"}
    editor.refused(404, "memory_not_found", "POST", "/memories/mem_none/restore", body)


def test_restore_of_a_stale_state_is_409_with_what_is_there_now(world: World, editor: Api) -> None:
    memory = save(world, "Kiln 1 is cold.").memory
    dead = editor.ok("DELETE", f"/memories/{memory.id}?bank=ops")["memory"]
    path = f"/memories/{memory.id}/restore"
    body = {"bank": "ops", "if_version": memory.version}
    told = editor.refused(409, "stale_revision", "POST", path, body)
    assert told["current"]["version"] == dead["version"]
    editor.ok("POST", path, {"bank": "ops", "if_version": dead["version"]})


def test_restore_without_a_body_means_the_default_bank(world: World, admin: Api) -> None:
    memory = admin.ok("POST", "/memories", {"text": "Kiln 1 is cold."})["memory"]
    admin.ok("DELETE", f"/memories/{memory['id']}")
    assert admin.ok("POST", f"/memories/{memory['id']}/restore")["memory"]["revision"] == 2


def test_restore_is_409_when_a_live_memory_has_the_text(world: World, editor: Api) -> None:
    old, new = save(world, "Kiln 1 is cold.").memory, save(world, "Kiln 1 is hot.").memory
    body = {"bank": "ops", "superseded_by": new.id}
    editor.ok("POST", f"/memories/{old.id}/supersede", body)
    twin = save(world, "Kiln 1 is cold.").memory
    told = editor.refused(
        409, "text_exists", "POST", f"/memories/{old.id}/restore", {"bank": "ops"}
    )
    assert twin.id in told["message"]


# --- supersede --------------------------------------------------------------------------------


def test_supersede_links_both_and_reinforces_when_asked(world: World, editor: Api) -> None:
    old = save(world, "Kiln 1 is cold.", tags=("cold",)).memory
    new = save(world, "Kiln 1 is hot.").memory
    told = editor.ok(
        "POST",
        f"/memories/{old.id}/supersede",
        {"bank": "ops", "superseded_by": new.id, "reason": "lit", "reinforce": True},
    )
    assert told["reinforced"] is True
    assert told["memory"]["superseded_by"] == new.id
    survivor = editor.ok("GET", f"/memories/{new.id}?bank=ops")["memory"]
    assert (survivor["supersedes"], survivor["replaces"]) == (old.id, [old.id])
    assert (survivor["corroboration"], survivor["tags"]) == (1, ["cold"])
    assert Change.objects.get(bank=world.bank, key=old.id, action="superseded").reason == "lit"


def test_supersede_alone_adds_nothing_to_the_survivor(world: World, editor: Api) -> None:
    old = save(world, "Kiln 1 is cold.", tags=("cold",)).memory
    new = save(world, "Kiln 1 is hot.").memory
    body = {"bank": "ops", "superseded_by": new.id}
    assert editor.ok("POST", f"/memories/{old.id}/supersede", body)["reinforced"] is False
    survivor = editor.ok("GET", f"/memories/{new.id}?bank=ops")["memory"]
    assert (survivor["corroboration"], survivor["tags"]) == (0, [])


def test_each_guard_of_supersede_has_its_own_code(world: World, editor: Api) -> None:
    live, other = save(world, "Kiln 1 is cold.").memory, save(world, "Kiln 2 is cold.").memory
    pinned = save(world, "Kiln 3 is cold.", pinned=True).memory
    event = save(world, "Kiln 1 was lit.", category="events").memory
    dead = save(world, "Kiln 4 is cold.").memory
    editor.ok("DELETE", f"/memories/{dead.id}?bank=ops")
    gone = save(world, "Kiln 5 is cold.").memory
    body = {"bank": "ops", "superseded_by": live.id}
    editor.ok("POST", f"/memories/{gone.id}/supersede", body)
    before = changes(world)
    for loser, survivor, status, code in (
        (live.id, live.id, 409, "supersede_self"),
        (live.id, "mem_none", 404, "survivor_not_found"),
        ("mem_none", live.id, 404, "memory_not_found"),
        (live.id, dead.id, 409, "survivor_dead"),
        (dead.id, live.id, 409, "loser_dead"),
        (pinned.id, live.id, 409, "loser_pinned"),
        (event.id, live.id, 409, "loser_episodic"),
        (gone.id, other.id, 409, "supersede_fork"),
    ):
        sent = {"bank": "ops", "superseded_by": survivor}
        editor.refused(status, code, "POST", f"/memories/{loser}/supersede", sent)
    assert changes(world) == before


def test_what_the_address_says_may_be_said_again_but_not_differently(
    world: World, editor: Api
) -> None:
    pump = save(world, "Pump 3 hums.").memory.id
    for path, change in (
        (f"/memories/{pump}", {"tags": ["a"]}),
        (f"/memories/{pump}/pin", {"pinned": True}),
    ):
        method = "POST" if path.endswith("pin") else "PATCH"
        told = editor.refused(422, "invalid", method, path, {"bank": "ops", "id": "other"} | change)
        assert told["errors"][0]["loc"] == "id"
        editor.ok(method, path, {"bank": "ops", "id": pump} | change)


def test_null_is_the_same_as_leaving_out(world: World, editor: Api) -> None:
    pump = save(world, "Pump 3 hums.").memory.id
    body = {"bank": "ops", "text": "Pump 4 drips.", "tags": None, "pinned": None, "category": None}
    told = editor.ok("POST", "/memories", body)["memory"]
    assert (told["tags"], told["pinned"], told["category"]) == ([], False, "facts")
    retired = {"bank": "ops", "superseded_by": told["id"], "reinforce": None}
    assert editor.ok("POST", f"/memories/{pump}/supersede", retired)["reinforced"] is False
    editor.refused(422, "invalid", "POST", "/memories", {"bank": "ops", "text": None})
