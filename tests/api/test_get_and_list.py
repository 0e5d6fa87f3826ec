"""GET /memories, /memories/{id}, /memories/{id}/history, /procedures/template, /tags."""

import pytest

from banks.store import procedure
from tests.api.conftest import Api, MakeApi
from tests.builders import World, save, save_all


def texts(api: Api, query: str) -> list[str]:
    return [each["text"] for each in api.ok("GET", f"/memories?bank=ops&{query}")["memories"]]


def test_get_takes_an_id_and_a_fingerprint_and_shows_dead_ones(world: World, editor: Api) -> None:
    memory = save(world, "Kiln 1 is cold.").memory
    for key in (memory.id, memory.fingerprint):
        assert editor.ok("GET", f"/memories/{key}?bank=ops")["memory"]["id"] == memory.id
    editor.ok("DELETE", f"/memories/{memory.id}?bank=ops")
    assert "invalid_at" in editor.ok("GET", f"/memories/{memory.id}?bank=ops")["memory"]


@pytest.mark.parametrize(
    "key", ["mem_2026-01-01_000000", "fp0000000000000000", "..", "%00", "-rf", "a%20b", "%F0%9F"]
)
# field case A22
def test_an_unknown_or_impossible_id_is_404(editor: Api, key: str) -> None:
    for method in ("GET", "DELETE"):
        editor.refused(404, "memory_not_found", method, f"/memories/{key}?bank=ops")
    editor.refused(404, "memory_not_found", "PATCH", f"/memories/{key}", {"bank": "ops"})


def test_a_memory_of_another_bank_is_unknown(world: World, editor: Api, admin: Api) -> None:
    memory = save(world, "Kiln 1 is cold.").memory
    admin.ok("POST", "/banks", {"name": "other"})
    admin.refused(404, "memory_not_found", "GET", f"/memories/{memory.id}?bank=other")
    editor.refused(404, "bank_not_found", "GET", f"/memories/{memory.id}?bank=other")


def test_list_is_newest_first_and_pages_by_offset_and_by_cursor(world: World, editor: Api) -> None:
    saved = [save(world, f"Kiln {n} is cold.").memory for n in range(5)]
    newest_first = [
        each.text for each in sorted(saved, key=lambda m: (m.created_at, m.id), reverse=True)
    ]
    told = editor.ok("GET", "/memories?bank=ops&limit=2")
    assert told["total"] == 5
    second = editor.ok("GET", f"/memories?bank=ops&limit=2&cursor={told['next_cursor']}")
    third = editor.ok("GET", f"/memories?bank=ops&limit=2&cursor={second['next_cursor']}")
    assert "next_cursor" not in third
    pages = [*told["memories"], *second["memories"], *third["memories"]]
    assert [each["text"] for each in pages] == newest_first
    assert texts(editor, "limit=2&offset=3") == newest_first[3:]


def test_limit_0_gives_the_total_alone(world: World, editor: Api) -> None:
    save(world, "Kiln 1 is cold.")
    assert editor.ok("GET", "/memories?bank=ops&limit=0") == {"memories": [], "total": 1}


# field case A36
def test_filters_apply_before_the_page_is_cut(world: World, editor: Api) -> None:
    save_all(world, (f"Valve {n} is open." for n in range(5)), pinned=True)
    save_all(world, (f"Valve {n} was open once." for n in range(25)))
    told = editor.ok("GET", "/memories?bank=ops&pinned=true&limit=10")
    assert (len(told["memories"]), told["total"]) == (5, 5)
    assert "next_cursor" not in told


# field case A35
def test_all_tags_by_default_and_any_when_asked(world: World, editor: Api) -> None:
    save(world, "One has both.", tags=("open", "private"))
    save(world, "Two is open.", tags=("open",))
    save(world, "Three is private.", tags=("private",))
    assert texts(editor, "tag=open&tag=private") == ["One has both."]
    assert texts(editor, "tag=open&tag=private&match=all") == ["One has both."]
    assert len(texts(editor, "tag=open&tag=private&match=any")) == 3
    assert texts(editor, "tag=open&tag=none") == []
    assert len(texts(editor, "tag=open&tag=none&match=any")) == 2
    assert len(texts(editor, "tag=%20OPEN%20")) == 2


def test_list_narrows_by_kind_category_origin_time_and_text(world: World, editor: Api) -> None:
    fact = save(world, "Kiln 1 is cold.").memory
    event = save(world, "Kiln 1 was lit.", category="events").memory
    assert texts(editor, "kind=episodic") == [event.text]
    assert texts(editor, "category=facts") == [fact.text]
    assert len(texts(editor, "origin=user_message")) == 2
    assert texts(editor, "origin=agent") == []
    assert texts(editor, "q=WAS%20LIT") == [event.text]
    assert texts(editor, f"until={fact.created_at}") == []
    assert len(texts(editor, f"since={fact.created_at}")) == 2


def test_dead_ones_come_only_when_asked_for(world: World, editor: Api) -> None:
    memory = save(world, "Kiln 1 is cold.").memory
    editor.ok("DELETE", f"/memories/{memory.id}?bank=ops")
    assert texts(editor, "") == []
    assert texts(editor, "include_superseded=true") == [memory.text]


@pytest.mark.parametrize(
    "query",
    [
        "limit=501",
        "limit=-1",
        "limit=many",
        "offset=-1",
        "offset=99999999999999999999",
        "kind=odd",
        "category=odd",
        "pinned=perhaps",
        "match=some",
        "since=-1",
        "until=99999999999999999",
        "cursor=odd",
        "cursor=MDAwMS0wMS0wMVQwMDowMDowMCsyMzo1OSBtZW1fMQ",
        "q=%00",
        "tag=%00",
        "tag=" + "t" * 65,
        "tag=",
        "tag=%20&tag=pump",
        "tags=pump",
        "colour=red",
    ],
)
def test_a_parameter_that_means_nothing_is_422(editor: Api, query: str) -> None:
    told = editor.send("GET", f"/memories?bank=ops&{query}")
    assert told.status_code == 422, told.content
    assert told.json()["errors"][0]["loc"] == query.partition("=")[0]


@pytest.mark.parametrize("path", ["/memories", "/tags", "/rules"])
def test_a_missing_default_bank_reads_as_empty_and_another_one_is_404(
    world: World, editor: Api, path: str
) -> None:
    told = editor.ok("GET", path)
    assert [value for value in told.values() if value not in ("main", 0)] == [[]]
    editor.refused(404, "bank_not_found", "GET", f"{path}?bank=none")


def test_history_is_newest_first_with_how_each_state_came_about(world: World, editor: Api) -> None:
    memory = save(world, "Kiln 1 is cold.").memory
    editor.ok("PATCH", f"/memories/{memory.id}", {"bank": "ops", "text": "Kiln 1 is hot."})
    editor.ok("DELETE", f"/memories/{memory.id}?bank=ops")
    told = editor.ok("GET", f"/memories/{memory.id}/history?bank=ops")["revisions"]
    assert [(each["revision"], each["act"]) for each in told] == [
        (2, "deleted"),
        (1, "updated"),
        (0, "created"),
    ]
    assert [each["memory"]["text"] for each in told[1:]] == ["Kiln 1 is hot.", "Kiln 1 is cold."]
    assert "reason" not in told[0]
    editor.refused(404, "memory_not_found", "GET", "/memories/mem_none/history?bank=ops")


def test_the_template_names_the_five_sections(editor: Api) -> None:
    text = editor.ok("GET", "/procedures/template")["text"]
    assert [line[3:] for line in text.split("\n") if line] == list(procedure.SECTIONS)


def test_tags_are_counted_over_live_memories_most_used_first(world: World, editor: Api) -> None:
    save(world, "Kiln 1 is cold.", tags=("kiln", "cold"))
    save(world, "Kiln 2 is hot.", tags=("kiln",))
    dead = save(world, "Kiln 3 is gone.", tags=("cold", "gone")).memory
    editor.ok("DELETE", f"/memories/{dead.id}?bank=ops")
    assert editor.ok("GET", "/tags?bank=ops") == {
        "bank": "ops",
        "tags": [{"tag": "kiln", "count": 2}, {"tag": "cold", "count": 1}],
    }


def test_reading_changes_nothing(world: World, editor: Api, api_of: MakeApi) -> None:
    memory = save(world, "Kiln 1 is cold.").memory
    reader = api_of(world.viewer, "memory:read")
    before = reader.ok("GET", f"/memories/{memory.id}?bank=ops")
    for path in ("/memories", "/tags", f"/memories/{memory.id}/history"):
        reader.ok("GET", f"{path}?bank=ops")
    assert reader.ok("GET", f"/memories/{memory.id}?bank=ops") == before
