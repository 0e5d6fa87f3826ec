"""The calls of a harness, and the bank of a session."""

import json
from typing import Any

import pytest

from banks.services import rules
from recall.services import hooks
from tests.api.conftest import Api
from tests.builders import World, save

HOOK = "/hooks/pre-generate"


def body(**more: Any) -> dict[str, Any]:
    asked = [{"role": "user", "content": "how long is the kiln purge?"}]
    return {
        "session_id": "chat",
        "turn_id": "t1",
        "step": 0,
        "metadata": {"memory_bank": "ops"},
        "generate": {"messages": asked, "system_prompt": "You mend kilns."},
        **more,
    }


def test_a_step_is_answered_in_the_shape_that_harnesses_know(world: World, editor: Api) -> None:
    rules.set_rule(world.maintainer, world.bank, "style", "Answer in metric units.")
    memory = save(world, "The purge of kiln 4 takes 20 minutes.").memory
    shown = editor.ok("POST", "/preview", {"bank": "ops", "query": "how long is the kiln purge?"})
    told = editor.ok("POST", HOOK, body())
    assert told == {
        "decision": "continue",
        "mutations": {
            "append_messages": [{"role": "user", "content": shown["message"]}],
            "system_prompt": f"You mend kilns.\n\n{shown['system_prompt_section']}",
        },
        "annotations": {
            "bank": "ops",
            "memories": [memory.id],
            "rules": 1,
            "rules_truncated": False,
            "retrieval": "bm25-entity",
        },
    }


def test_nothing_to_add_is_null(world: World, editor: Api) -> None:
    assert editor.ok("POST", HOOK, body())["mutations"] is None
    assert editor.ok("POST", HOOK, {"generate": None, "unknown": 1})["mutations"] is None


@pytest.mark.parametrize(
    ("sent", "fault"),
    [
        (b"", "invalid"),
        (b"{", "invalid"),
        (b"[1]", "invalid"),
        (b"\xff", "invalid"),
        (b'{"a":' * 9_000, "invalid"),
        (json.dumps(body(step="first")).encode(), "invalid"),
        (json.dumps(body(metadata={"memory_bank": "none"})).encode(), "bank_not_found"),
        (json.dumps(body(session_id="\ud800")).encode(), "invalid"),
        (json.dumps(body(session_id="\x00" * 9_000)).encode(), None),
        (b" " * (16 * 1024 * 1024 + 1), "too_large"),
    ],
    ids=lambda each: str(each)[:20],
)
def test_whatever_is_sent_the_turn_goes_on(
    world: World, editor: Api, sent: bytes, fault: str | None
) -> None:
    told = editor.ok("POST", HOOK, sent)
    assert (told["decision"], told["mutations"]) == ("continue", None)
    assert told["annotations"].get("fault") == fault
    assert {"bank", "memories", "rules", "rules_truncated", "retrieval"} <= set(told["annotations"])


def test_a_long_conversation_is_taken(world: World, editor: Api) -> None:
    save(world, "The purge of kiln 4 takes 20 minutes.")
    asked = [{"role": "user", "content": "x" * 1_100_000}, {"role": "user", "content": "kiln"}]
    told = editor.ok("POST", HOOK, body(generate={"messages": asked}))
    assert len(told["annotations"]["memories"]) == 1


def test_a_fault_of_the_program_is_no_fault_of_the_turn(
    world: World, editor: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a secret of the program")

    monkeypatch.setattr(hooks.injecting, "section_of", broken)
    told = editor.ok("POST", HOOK, body())
    assert (told["mutations"], told["annotations"]["fault"]) == (None, "internal_error")
    assert "secret" not in str(told)


def test_only_a_token_that_may_not_is_refused(world: World, editor: Api) -> None:
    assert Api("mc_wrong").send("POST", HOOK, b"{").status_code == 401


def test_calls_that_name_a_session_use_its_bank(world: World, editor: Api) -> None:
    told = editor.ok("PUT", "/sessions/chat", {"bank": "ops"})
    assert told == {"session_id": "chat", "bank": "ops"}
    here = {"X-Session-Id": "chat"}
    text = "The purge of kiln 4 takes 20 minutes."
    saved = editor.ok("POST", "/memories", {"text": text, "session_id": "chat"})["memory"]
    assert saved["bank"] == "ops"
    at = f"/memories/{saved['id']}"
    assert editor.ok("GET", at, headers=here)["memory"] == saved
    editor.refused(404, "bank_not_found", "GET", at)
    assert editor.ok("GET", "/memories", headers=here)["total"] == 1
    for path in ("/tags", "/rules"):
        assert editor.ok("GET", path, headers=here)["bank"] == "ops"
    for path in ("/recall", "/preview"):
        assert editor.ok("POST", path, {"query": "kiln"}, headers=here)["bank"] == "ops"
        assert editor.ok("POST", path, {"query": "kiln"})["bank"] == "main"
    assert editor.ok("POST", "/hooks/session-deleted", {"session_id": "chat"}) == {"ok": True}
    assert editor.ok("POST", "/hooks/session-deleted", {"session_id": "chat"}) == {"ok": True}
    assert editor.ok("GET", "/tags", headers=here)["bank"] == "main"


def test_a_session_cannot_choose_a_bank_that_its_owner_does_not_see(
    world: World, editor: Api
) -> None:
    for bank in ("none", "lab"):
        editor.refused(404, "bank_not_found", "PUT", "/sessions/chat", {"bank": bank})
    editor.refused(422, "invalid", "POST", "/hooks/session-deleted", {"session_id": ""})
