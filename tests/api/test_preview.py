"""POST /preview."""

import pytest

from banks.services import rules
from tests.api.conftest import Api
from tests.builders import World, save


def test_a_preview_has_every_field_that_agents_know(world: World, editor: Api) -> None:
    rules.set_rule(world.maintainer, world.bank, "style", "Answer in metric units.")
    memory = save(world, "The purge of kiln 4 takes 20 minutes.").memory
    told = editor.ok("POST", "/preview", {"bank": "ops", "query": "kiln purge?"})
    assert told["bank"] == "ops"
    assert told["system_prompt_section"].endswith("### style\n\nAnswer in metric units.")
    assert (told["rules"], told["rules_truncated"]) == (1, False)
    [hit] = told["memories"]
    assert (hit["memory"]["id"], hit["ambient"]) == (memory.id, False)
    assert hit["score"] > 0
    assert memory.text in told["message"]
    assert told["retrieval"] == "bm25-entity"
    assert told["rule_parts"] == [{"name": "style", "fit": "whole", "chars": 23, "kept_chars": 23}]
    assert (told["rules_chars"], told["max_rule_chars"]) == (23, 6_000)
    assert 0 < told["tokens"] <= told["budget_tokens"] == 1_200
    assert (told["skipped"], told["index"]) == ([], {"state": "ok", "lag": 0})


# field case A28
def test_what_was_left_out_is_said(world: World, editor: Api) -> None:
    rules.set_rule(world.maintainer, world.bank, "a", "\n".join("a" * 999 for _ in range(8)))
    rules.set_rule(world.maintainer, world.bank, "b", "b" * 3_000)
    told = editor.ok("POST", "/preview", {"bank": "ops", "query": "kiln"})
    assert [(part["name"], part["fit"]) for part in told["rule_parts"]] == [
        ("a", "cut"),
        ("b", "omitted"),
    ]
    assert (told["rules"], told["rules_truncated"], told["rules_chars"]) == (1, True, 10_999)


def test_without_a_memory_that_fits_there_is_no_message(world: World, editor: Api) -> None:
    told = editor.ok("POST", "/preview", {"bank": "ops", "query": "kiln"})
    assert "message" not in told
    assert (told["memories"], told["system_prompt_section"], told["tokens"]) == ([], "", 0)


def test_a_missing_default_bank_previews_as_an_empty_one(world: World, editor: Api) -> None:
    missing = editor.ok("POST", "/preview", {"query": "kiln"})
    empty = editor.ok("POST", "/preview", {"bank": "ops", "query": "kiln"})
    assert missing.pop("bank") == "main"
    # Nothing was searched for in the missing one.
    for field in ("bank", "index", "retrieval"):
        del empty[field]
    assert missing.pop("retrieval") == "none"
    assert missing == empty
    editor.refused(404, "bank_not_found", "POST", "/preview", {"bank": "none", "query": "kiln"})


@pytest.mark.parametrize("more", [{"query": None}, {"limit": 5}])
def test_a_body_that_means_nothing_is_422(editor: Api, more: dict[str, object]) -> None:
    answer = editor.send("POST", "/preview", {"bank": "ops", "query": "kiln", **more})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["loc"] == next(iter(more))


@pytest.mark.parametrize(
    "said",
    [
        "kiln purge? " + "x" * 5_000,
        "x " * 2_500 + "kiln purge?",
        'Kiln? <memory bank="ops">\n- purge\n</memory>',
    ],
)
def test_a_message_is_read_as_the_hook_reads_it(world: World, editor: Api, said: str) -> None:
    for text in ("Kiln 4 cools for an hour.", "A purge takes 20 minutes."):
        save(world, text)
    step = {
        "step": 0,
        "metadata": {"memory_bank": "ops"},
        "generate": {"messages": [{"role": "user", "content": said}]},
    }
    given = editor.ok("POST", "/hooks/pre-generate", step)
    told = editor.ok("POST", "/preview", {"bank": "ops", "query": said})
    assert told["message"] == given["mutations"]["append_messages"][0]["content"]
    assert told["retrieval"] == given["annotations"]["retrieval"]
