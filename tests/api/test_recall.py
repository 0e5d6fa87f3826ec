"""POST /recall."""

import pytest

from recall import meaning
from tests.api.conftest import Api
from tests.builders import World, save
from tests.embeddings import Topical, fill


# field case A46
def test_a_save_is_recalled_as_soon_as_it_is_answered(world: World, editor: Api) -> None:
    text = "The purge of kiln 4 takes 20 minutes."
    memory = editor.ok("POST", "/memories", {"bank": "ops", "text": text})["memory"]
    told = editor.ok("POST", "/recall", {"bank": "ops", "query": "kiln purge"})
    assert told["bank"] == "ops"
    [hit] = told["memories"]
    assert hit["memory"] == memory
    assert sum(hit["signals"].values()) == pytest.approx(hit["score"])
    assert (told["index"]["state"], told["index"]["lag"]) == ("ok", 0)
    assert told["retrieval"]


def test_filters_apply_before_the_limit(world: World, editor: Api) -> None:
    for n in range(3):
        save(world, f"Kiln {n} needs a purge.")
    wanted = save(world, "A kiln needs a purge, says kind.", tags=("kind",)).memory
    body = {"bank": "ops", "query": "kiln purge", "limit": 1}
    for more in ({"tag": "kind"}, {"tags": ["kind"]}, {"tag": "KIND", "tags": ["kind"]}):
        hits = editor.ok("POST", "/recall", {**body, **more})["memories"]
        assert [hit["memory"]["id"] for hit in hits] == [wanted.id]
    assert editor.ok("POST", "/recall", {**body, "kind": "episodic"})["memories"] == []
    assert editor.ok("POST", "/recall", {**body, "limit": 0})["memories"] == []


def test_an_explanation_says_why_a_memory_is_a_hit_or_not(world: World, editor: Api) -> None:
    one = save(world, "Kiln 4 needs a purge.").memory.id
    other = save(world, "Fans are new.").memory.id
    body = {"bank": "ops", "query": "purge of the kiln"}
    told = editor.ok("POST", "/recall/explain", {**body, "id": one})
    [hit] = editor.ok("POST", "/recall", body)["memories"]
    assert (told["id"], told["is_hit"], told["rank"], told["reasons"]) == (one, True, 1, [])
    # Recency falls while the two calls are made.
    assert told["score"] == pytest.approx(hit["score"])
    assert told["signals"] == pytest.approx(hit["signals"])
    assert told["terms"]["purg"] == ["text", "summary"]
    told = editor.ok("POST", "/recall/explain", {**body, "id": other})
    assert (told["is_hit"], told["reasons"]) == (False, ["no_match"])
    assert "rank" not in told
    narrowed = {**body, "id": one, "kind": "episodic"}
    assert editor.ok("POST", "/recall/explain", narrowed)["reasons"] == ["kind"]


def test_there_is_nothing_to_explain_in_a_bank_without_the_memory(editor: Api) -> None:
    body = {"query": "kiln", "id": "mem_20260101_000000"}
    editor.refused(404, "memory_not_found", "POST", "/recall/explain", body)
    editor.refused(404, "memory_not_found", "POST", "/recall/explain", {**body, "bank": "ops"})
    editor.refused(404, "bank_not_found", "POST", "/recall/explain", {**body, "bank": "none"})


def test_a_missing_default_bank_recalls_nothing(world: World, editor: Api) -> None:
    told = editor.ok("POST", "/recall", {"query": "kiln purge"})
    assert (told["bank"], told["memories"]) == ("main", [])
    editor.refused(404, "bank_not_found", "POST", "/recall", {"bank": "none", "query": "kiln"})


@pytest.mark.parametrize("query", ["", "?!", 'a AND (b OR "c', "tag:x*~2", "焼成炉", "🙂", "\x00"])
def test_any_words_are_safe(world: World, editor: Api, query: str) -> None:
    editor.ok("POST", "/recall", {"bank": "ops", "query": query})


@pytest.mark.parametrize(
    "more",
    [
        {"limit": 101},
        {"limit": -1},
        {"limit": "5"},
        {"limit": 5.0},
        {"query": "x" * 4001},
        {"mode": "odd"},
        {"match": "any"},
        {"kind": "odd"},
        {"since": 10**30},
        {"tags": ["t" * 65]},
        {"tags": ["kiln", " "]},
        {"tag": ""},
    ],
)
def test_a_body_that_means_nothing_is_422(editor: Api, more: dict[str, object]) -> None:
    answer = editor.send("POST", "/recall", {"bank": "ops", "query": "kiln", **more})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["loc"].partition(".")[0] == next(iter(more))


def test_an_answer_says_how_far_meanings_were_compared(world: World, editor: Api) -> None:
    key = save(world, "The furnace is hot.").memory.id
    asked = {"bank": "ops", "query": "kiln"}
    assert "meaning" not in editor.ok("POST", "/recall", asked)
    with meaning.replaced(Topical()):
        fill()
        told = editor.ok("POST", "/recall", asked)
        assert (told["retrieval"], told["meaning"]) == (
            "bm25-entity-semantic", {"state": "ok", "lag": 0},
        )  # fmt: skip
        assert [hit["memory"]["id"] for hit in told["memories"]] == [key]
        why = editor.ok("POST", "/recall/explain", {**asked, "id": key})
        assert (why["is_hit"], why["meaning"]) == (True, told["meaning"])
        told = editor.ok("POST", "/recall", {**asked, "mode": "semantic"})
        assert told["memories"][0]["score"] == told["memories"][0]["signals"]["meaning"]
