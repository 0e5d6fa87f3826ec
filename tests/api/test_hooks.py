"""The calls of a harness, and the bank of a session."""

import io
import json
from typing import Any

import pytest
from django.db import OperationalError, connection

from banks.services import rules
from memoryconsole import bodies
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


@pytest.mark.parametrize(
    "odd",
    [
        rb'"\ud83d"',
        b"NaN",
        b"-Infinity",
        b"1e999",
        b"9" * 5_000,
        b"[" * 100 + b"]" * 100,
        b'{"a \\" ]": [' * 3_000 + b"]}" * 3_000,
        b'"\xff"',
    ],
    ids=lambda each: str(each)[:20],
)
def test_an_odd_value_in_an_old_message_costs_nothing(
    world: World, editor: Api, odd: bytes
) -> None:
    rules.set_rule(world.maintainer, world.bank, "style", "Answer in metric units.")
    memory = save(world, "The purge of kiln 4 takes 20 minutes.").memory
    old = {"role": "user", "content": "ODD", "more": "ODD"}
    asked = {"role": "user", "content": "how long is the kiln purge?", "at": "ODD"}
    sent = body(generate={"messages": [old, asked], "system_prompt": "Mend."}, turn_id="ODD")
    told = editor.ok("POST", HOOK, json.dumps(sent).encode().replace(b'"ODD"', odd))
    assert "fault" not in told["annotations"]
    assert told["annotations"]["memories"] == [memory.id]
    assert "metric" in told["mutations"]["system_prompt"]


def test_halves_of_characters_are_replaced_where_they_are_used(world: World, editor: Api) -> None:
    rules.set_rule(world.maintainer, world.bank, "style", "Answer in metric units.")
    save(world, "The purge of kiln 4 takes 20 minutes.")
    asked = [{"role": "user", "content": "kiln \ud83d purge"}]
    told = editor.ok(
        "POST", HOOK, body(generate={"messages": asked, "system_prompt": "Mend \ud83d."})
    )
    assert told["mutations"]["system_prompt"].startswith("Mend \ufffd.\n\n")
    assert len(told["annotations"]["memories"]) == 1
    told = editor.ok("POST", HOOK, body(metadata={"memory_bank": "o\ud83d"}))
    assert told["mutations"] is None
    assert told["annotations"]["fault"] in ("bank_not_found", "invalid_name")


@pytest.mark.parametrize("number", ["first", -1, 1.5, [0], 10**40])
def test_a_step_that_is_no_number_gets_the_rules_and_no_memories(
    world: World, editor: Api, number: object
) -> None:
    rules.set_rule(world.maintainer, world.bank, "style", "Answer in metric units.")
    save(world, "The purge of kiln 4 takes 20 minutes.")
    told = editor.ok("POST", HOOK, body(step=number))
    assert "metric" in told["mutations"]["system_prompt"]
    assert told["mutations"]["append_messages"] == []
    assert told["annotations"]["fault"] == "invalid"


def streamed(editor: Api, path: str, source: io.BytesIO, **more: Any) -> dict[str, Any]:
    """Send a body as a server gives it."""
    answer = editor.client.post(
        f"/api/v1{path}",
        content_type="application/json",
        **{"wsgi.input": source, "headers": editor.headers, **more},
    )
    told: dict[str, Any] = json.loads(answer.content)
    return told


def in_pieces(editor: Api, path: str, sent: bytes) -> dict[str, Any]:
    """Send a body without its length."""
    headers = editor.headers | {"Transfer-Encoding": "chunked"}
    return streamed(editor, path, io.BytesIO(sent), headers=headers, CONTENT_LENGTH="")


def test_a_body_without_a_length_is_read(world: World, editor: Api) -> None:
    rules.set_rule(world.maintainer, world.bank, "style", "Answer in metric units.")
    told = in_pieces(editor, HOOK, json.dumps(body()).encode())
    assert "metric" in told["mutations"]["system_prompt"]
    saved = in_pieces(editor, "/memories", b'{"bank": "ops", "text": "Kiln 4 is cold."}')
    assert saved["memory"]["bank"] == "ops"
    assert in_pieces(editor, "/memories", b" " * 1_100_000)["code"] == "too_large"
    told = in_pieces(editor, HOOK, b" " * (16 * 1024 * 1024 + 1))
    assert (told["decision"], told["annotations"]["fault"]) == ("continue", "too_large")


def test_too_much_of_deep_nesting_is_a_fault_and_soon(
    world: World, editor: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = b'{"other": ' + b"[" * 3_000 + b"]" * 3_000 + b"}"
    assert editor.ok("POST", HOOK, deep)["annotations"].get("fault") is None
    monkeypatch.setattr(bodies, "TOKENS_MOST", 4_000)
    assert editor.ok("POST", HOOK, deep)["annotations"]["fault"] == "invalid"


class Broken(io.BytesIO):
    """A connection that ends in the middle of a body."""

    def read(self, size: int | None = -1) -> bytes:
        if self.tell():
            raise OSError("gone")
        return super().read(size)


def test_a_body_that_ends_in_the_middle_is_no_fault_of_the_turn(world: World, editor: Api) -> None:
    headers = editor.headers | {"Transfer-Encoding": "chunked"}
    for more in ({"headers": headers, "CONTENT_LENGTH": ""}, {"CONTENT_LENGTH": "20000000"}):
        told = streamed(editor, HOOK, Broken(b" " * 100_000), **more)
        assert told["decision"] == "continue"


def test_a_body_that_is_too_large_is_read_to_its_end_within_bounds(
    world: World, editor: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Who is still sending would find the connection closed in place of the answer.
    size = 17 * 1024 * 1024
    for bound, read in ((bodies.DRAINED_BYTES, size), (1024 * 1024, 1024 * 1024)):
        monkeypatch.setattr(bodies, "DRAINED_BYTES", bound)
        source = io.BytesIO(bytes(size))
        told = streamed(editor, HOOK, source, CONTENT_LENGTH=str(size))
        assert told["annotations"]["fault"] == "too_large"
        assert source.tell() == read


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


@pytest.mark.parametrize("sent", [{}, {"session_id": None}, {"session_id": "x", "at": 7}])
def test_a_session_that_is_gone_is_told_in_any_words(
    world: World, editor: Api, sent: dict[str, Any]
) -> None:
    assert editor.ok("POST", "/hooks/session-deleted", sent) == {"ok": True}


def test_the_hook_knows_the_session_of_the_header(world: World, editor: Api) -> None:
    rules.set_rule(world.maintainer, world.bank, "style", "Answer in metric units.")
    told = editor.ok("PUT", "/sessions/team/chat%2F1", {"bank": "ops"})
    assert told == {"session_id": "team/chat/1", "bank": "ops"}
    here = {"X-Session-Id": "team/chat/1"}
    for sent in ({}, {"session_id": None}):
        assert editor.ok("POST", HOOK, sent, headers=here)["annotations"]["bank"] == "ops"
    other = editor.ok("POST", HOOK, {"session_id": "other"}, headers=here)
    assert other["annotations"]["bank"] == "main"


def test_many_memories_go_to_the_bank_of_their_session(world: World, editor: Api) -> None:
    editor.ok("PUT", "/sessions/chat", {"bank": "ops"})
    many = [
        {"text": "Kiln 1 is cold.", "session_id": "chat"},
        {"text": "Kiln 2 is cold.", "session_id": "other"},
        {"text": "Kiln 3 is cold.", "session_id": "other", "bank": "ops"},
        {"text": "Kiln 4 is cold."},
        {"text": "Kiln 5 is cold.", "session_id": "chat"},
    ]
    results = editor.ok("POST", "/memories/bulk", {"memories": many})["results"]
    assert ["error" in each for each in results] == [False, True, False, True, False]
    assert editor.ok("GET", "/memories?bank=ops")["total"] == 3
    # With the bank, or the session of the whole call, named, all go there.
    for named, headers in (({"bank": "ops"}, {}), ({}, {"X-Session-Id": "chat"})):
        sent = {"memories": many[3:], **named}
        results = editor.ok("POST", "/memories/bulk", sent, headers=headers)["results"]
        assert not any("error" in each for each in results)
    assert editor.ok("GET", "/memories?bank=ops")["total"] == 4


def test_a_session_cannot_choose_a_bank_that_its_owner_does_not_see(
    world: World, editor: Api
) -> None:
    for bank in ("none", "lab"):
        editor.refused(404, "bank_not_found", "PUT", "/sessions/chat", {"bank": bank})
    editor.refused(422, "invalid", "POST", "/hooks/session-deleted", {"session_id": ""})


def test_a_hook_waits_a_second_at_most_for_a_locked_database(
    world: World, editor: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL locks rows, not the whole database")

    def patience_ms() -> int:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA busy_timeout")
            return int(cursor.fetchone()[0])

    def locked(*_: object, **__: object) -> None:
        within.append(patience_ms())
        with connection.execute_wrapper(in_vain), connection.cursor() as cursor:
            cursor.execute("SELECT 1")

    def in_vain(*_: object) -> None:
        raise OperationalError("database is locked")

    rules.set_rule(world.maintainer, world.bank, "style", "Answer in metric units.")
    usual = patience_ms()
    within: list[int] = []
    for part in ("turns.seen", "sessions.opened"):
        monkeypatch.setattr(f"recall.services.hooks.{part}", locked)
    told = editor.ok("POST", HOOK, body())
    assert "metric" in told["mutations"]["system_prompt"]
    assert told["annotations"]["fault"] == "unavailable"
    # One second in all.
    assert (within, patience_ms()) == ([1_000, 0], usual)
    within.clear()
    monkeypatch.setattr("recall.learning.turns.completed", locked)
    editor.refused(503, "store_busy", "POST", "/hooks/turn-completed", {"session_id": "chat"})
    assert (within, patience_ms()) == ([1_000], usual)
    editor.ok("POST", HOOK, b"{")
    assert patience_ms() == usual
