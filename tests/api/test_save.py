"""POST /memories and POST /memories/bulk."""

import pytest
from django.conf import settings

from tests.api.conftest import Api, MakeApi
from tests.builders import World


def test_save_answers_created_and_the_whole_memory(editor: Api) -> None:
    told = editor.ok(
        "POST",
        "/memories",
        {"bank": "ops", "text": "Pump 3 hums at 50 Hz.", "tags": ["Pump"], "session_id": "s-1"},
    )
    memory = told["memory"]
    assert told["created"] is True
    assert memory["text"] == "Pump 3 hums at 50 Hz."
    assert (memory["bank"], memory["category"], memory["kind"]) == ("ops", "facts", "semantic")
    assert (memory["origin"], memory["trust"], memory["confidence"]) == ("agent", "high", "stated")
    assert memory["source"] == {"session_id": "s-1"}
    assert memory["tags"] == ["pump"]
    assert memory["created_at"] == memory["updated_at"] == memory["stated_at"]
    assert editor.ok("GET", f"/memories/{memory['id']}?bank=ops") == {"memory": memory}


def test_fields_without_value_are_left_out_and_source_is_null(editor: Api) -> None:
    told = editor.ok("POST", "/memories", {"bank": "ops", "text": "Pump 3 hums at 50 Hz."})
    assert told["memory"]["source"] is None
    absent = {"invalid_at", "superseded_by", "supersedes", "title", "former_id"}
    assert absent.isdisjoint(told["memory"])
    assert [told["memory"][name] for name in ("entities", "replaces", "corroboration")] == [
        [],
        [],
        0,
    ]


def test_a_misspelt_field_is_named_before_the_one_that_is_missing(editor: Api) -> None:
    told = editor.refused(
        422, "invalid", "POST", "/memories", {"bank": "ops", "txt": "Pump 3 hums."}
    )
    assert told["message"].startswith("txt: This name is not known here: correct its spelling")
    assert {each["loc"]: each["message"] for each in told["errors"]} == {
        "txt": "This name is not known here: correct its spelling, or leave it out.",
        "text": "This is missing: send it.",
    }


def test_a_known_text_reinforces(editor: Api) -> None:
    body = {"bank": "ops", "text": "Pump 3 hums at 50 Hz."}
    first = editor.ok("POST", "/memories", body)
    again = editor.ok("POST", "/memories", body)
    assert again["created"] is False
    assert again["memory"]["id"] == first["memory"]["id"]
    assert again["memory"]["corroboration"] == 1


def test_save_goes_to_the_default_bank_and_makes_it_for_who_may(world: World, admin: Api) -> None:
    told = admin.ok("POST", "/memories", {"text": "Pump 3 hums at 50 Hz."})
    assert told["memory"]["bank"] == "main"
    assert (settings.DATA_DIR / "main" / "semantic_memory" / "facts.md").is_file()


def test_a_missing_bank_is_404_for_who_may_not_create_banks(world: World, api_of: MakeApi) -> None:
    client = api_of(world.editor, "memory:read", "memory:write")
    client.refused(404, "bank_not_found", "POST", "/memories", {"text": "Pump 3 hums."})
    assert not (settings.DATA_DIR / "main").exists()


def test_a_foreign_bank_is_name_taken_for_who_may_create_banks(
    world: World, api_of: MakeApi
) -> None:
    body = {"bank": "ops", "text": "Pump 3 hums."}
    api_of(world.stranger).refused(409, "name_taken", "POST", "/memories", body)
    plain = api_of(world.stranger, "memory:write")
    plain.refused(404, "bank_not_found", "POST", "/memories", body)


@pytest.mark.parametrize(
    ("fields", "loc"),
    [
        ({"text": "no"}, "text"),
        ({"text": "x" * 2001}, "text"),
        ({"text": "first\n---\nlast"}, "text"),
        ({"text": "a bell \x07 rings"}, "text"),
        ({}, "text"),
        ({"text": 7}, "text"),
        ({"text": "Pump 3 hums.", "colour": "red"}, "colour"),
        ({"text": "Pump 3 hums.", "tags": "pump"}, "tags"),
        ({"text": "Pump 3 hums.", "tags": [f"t{n}" for n in range(17)]}, "tags"),
        ({"text": "Pump 3 hums.", "category": "gossip"}, "category"),
        ({"text": "Pump 3 hums.", "origin": "rumour"}, "origin"),
        ({"text": "Pump 3 hums.", "pinned": "yes"}, "pinned"),
        ({"text": "Pump 3 hums.", "created_at": -1}, "created_at"),
        ({"text": "Pump 3 hums.", "created_at": 10**40}, "created_at"),
        ({"text": "Pump 3 hums.", "summary": "two\nlines"}, "summary"),
        ({"text": "Pump 3 hums.", "session_id": "s" * 256}, "session_id"),
        # field case A47
        ({"text": "Turn it.", "category": "procedure", "title": "long " * 1000}, "title"),
    ],
)
def test_content_that_cannot_be_kept_is_422_and_says_where(
    editor: Api, fields: dict[str, object], loc: str
) -> None:
    code = editor.send("POST", "/memories", {"bank": "ops", **fields})
    told = code.json()
    assert code.status_code == 422, told
    assert told["errors"][0]["loc"] == loc
    assert editor.ok("GET", "/memories?bank=ops")["total"] == 0


def test_created_at_needs_the_role_and_the_scope(world: World, api_of: MakeApi) -> None:
    body = {"bank": "ops", "text": "Pump 3 was built.", "created_at": 1_000_000_000_000}
    api_of(world.editor).refused(403, "forbidden", "POST", "/memories", body)
    plain = api_of(world.maintainer, "memory:write")
    plain.refused(403, "scope_missing", "POST", "/memories", body)
    told = api_of(world.maintainer, "memory:write", "memory:curate").ok("POST", "/memories", body)
    assert told["memory"]["created_at"] == 1_000_000_000_000
    assert told["memory"]["id"].startswith("mem_2001-09-09_")


def test_a_procedure_keeps_its_title_and_a_second_one_of_it_is_409(editor: Api) -> None:
    body = {"bank": "ops", "text": "Open valve 2.", "category": "procedure", "title": "Bleed it"}
    memory = editor.ok("POST", "/memories", body)["memory"]
    assert memory["title"] == "Bleed it"
    assert memory["path"] == "procedural_memory/bleed-it.md"
    told = editor.refused(
        409, "title_exists", "POST", "/memories", {**body, "text": "Close valve 2."}
    )
    assert memory["id"] in told["message"]


def test_save_with_supersedes_retires_the_old_one(editor: Api) -> None:
    old = editor.ok("POST", "/memories", {"bank": "ops", "text": "Pump 3 hums at 50 Hz."})
    new = editor.ok(
        "POST",
        "/memories",
        {"bank": "ops", "text": "Pump 3 hums at 60 Hz.", "supersedes": old["memory"]["id"]},
    )
    assert new["memory"]["supersedes"] == old["memory"]["id"]
    assert new["memory"]["replaces"] == [old["memory"]["id"]]
    body = {"bank": "ops", "text": "Pump 3 hums at 70 Hz.", "supersedes": "mem_none"}
    editor.refused(404, "memory_not_found", "POST", "/memories", body)


def test_a_secret_never_comes_back(editor: Api) -> None:
    secret = "AKIA" + "Q7ZL2M4NXKRT5VWB"
    told = editor.ok("POST", "/memories", {"bank": "ops", "text": f"The key is {secret} now."})
    assert secret not in told["memory"]["text"]
    assert "[redacted:" in told["memory"]["text"]


# field case A42
@pytest.mark.parametrize(
    "text", ["<img src=x onerror=alert(1)>", "[go](javascript:alert(1))", "</script><b>bold</b>"]
)
def test_markup_is_answered_as_json_text_and_never_as_a_page(editor: Api, text: str) -> None:
    answer = editor.send("POST", "/memories", {"bank": "ops", "text": text})
    assert answer.json()["memory"]["text"] == text
    assert answer.headers["Content-Type"].startswith("application/json")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


# --- bulk -------------------------------------------------------------------------------------


def bulk(api: Api, memories: list[object]) -> list[dict[str, object]]:
    results: list[dict[str, object]] = api.ok(
        "POST", "/memories/bulk", {"bank": "ops", "memories": memories}
    )["results"]
    return results


# field case A46
def test_bulk_refuses_a_bad_one_alone_and_answers_in_order(editor: Api) -> None:
    results = bulk(
        editor,
        [
            {"text": "Kiln 1 is cold."},
            {"text": "no"},
            {"text": "Kiln 1 is cold."},
            {"text": "Kiln 2 is cold.", "colour": "red"},
            "not an object",
            {"text": "Kiln 3 is cold.", "bank": "other"},
            {"text": "Kiln 4 is cold.", "bank": "ops"},
        ],
    )
    told = [each.get("created", each.get("error", {}).get("code")) for each in results]  # type: ignore[attr-defined]
    assert told == [True, "invalid_content", False, "invalid", "invalid", "invalid", True]
    assert editor.ok("GET", "/memories?bank=ops")["total"] == 2


def test_bulk_of_one_bad_date_saves_the_rest(editor: Api) -> None:
    results = bulk(editor, [{"text": "Kiln 1 is cold.", "created_at": 5}, {"text": "Kiln 2 too."}])
    assert results[0]["error"]["code"] == "forbidden"  # type: ignore[index]
    assert results[1]["created"] is True


def test_bulk_takes_nothing_and_at_most_500(editor: Api) -> None:
    assert bulk(editor, []) == []
    body = {"bank": "ops", "memories": [{"text": f"Kiln {n} is cold."} for n in range(501)]}
    editor.refused(422, "invalid", "POST", "/memories/bulk", body)
