"""What a harness tells when a turn has ended, and what waits for a person."""

from collections.abc import Iterator
from typing import Any

import pytest

from banks import errors, jobs
from banks.services import banks, sessions
from recall.learning import llm
from tests.api.conftest import Api, MakeApi
from tests.builders import World
from tests.chat import Scripted, array, element

DONE, EXTRACT = "/hooks/turn-completed", "/hooks/extract-job"
KILN = "The purge of kiln 4 takes 20 minutes."
RULE = "Always answer in bar."


@pytest.fixture
def model() -> Iterator[Scripted]:
    """A model that answers as scripted."""
    scripted = Scripted()
    with llm.replaced(scripted):
        yield scripted


def said(*texts: str) -> list[dict[str, str]]:
    return [{"id": text[:6], "role": "user", "text": text} for text in texts]


def body(*texts: str, **more: Any) -> dict[str, Any]:
    return {"session_id": "chat", "turn_id": "t1", "messages": said(*texts), **more}


@pytest.fixture
def chat(world: World, admin: Api, model: Scripted) -> Api:
    """The instance admin, whose session `chat` uses the bank `ops`."""
    sessions.select(world.admin, "chat", world.bank)
    return admin


def texts(api: Api) -> list[str]:
    return [each["text"] for each in api.ok("GET", "/memories?bank=ops")["memories"]]


def test_a_turn_is_acknowledged_at_once_and_read_later(chat: Api, model: Scripted) -> None:
    model.script = [array(element(KILN))]
    assert chat.ok("POST", DONE, body(KILN)) == {"ok": True, "state": "queued"}
    assert chat.ok("POST", DONE, body(KILN)) == {"ok": True, "state": "nothing new"}
    assert model.asked == []
    jobs.work_off()
    assert texts(chat) == [KILN]
    assert len(model.asked) == 1


@pytest.mark.parametrize(
    "odd",
    [
        b"{}",
        b'{"session_id": null, "event": "x"}',
        b'{"session_id": "chat", "turn_id": [NaN], "parent": {"x": 1}, "messages": []}',
        b'{"session_id": "chat", "messages": ["\\ud83d", 1e999, {"role": "user", "text": 3}]}',
        b'{"session_id": "chat", "messages": ' + b"[" * 60 + b"]" * 60 + b"}",
    ],
)
def test_what_belongs_to_a_harness_is_passed_over(chat: Api, odd: bytes) -> None:
    assert chat.ok("POST", DONE, odd)["state"] == "nothing new"


def test_a_turn_may_be_large_but_has_to_be_one(chat: Api) -> None:
    assert chat.ok("POST", DONE, body("valve " * 300_000))["state"] == "queued"
    chat.refused(413, "too_large", "POST", DONE, b" " * (16 * 1024 * 1024 + 1))
    chat.refused(422, "invalid", "POST", DONE, b"{")
    chat.refused(422, "invalid", "POST", DONE, {"session_id": "chat", "messages": "x"})


def test_an_extraction_can_be_run_now_up_to_a_message(chat: Api, model: Scripted) -> None:
    model.script = [array(element(KILN), element(RULE, "rules"))]
    chat.ok("POST", DONE, body("one is here", f"two {KILN} {RULE}", "three is here"))
    nothing = {"created": 0, "reinforced": 0, "left": 0, "rules": 0, "proposed": 0}
    told = chat.ok("POST", EXTRACT, {"session_id": "chat", "until": "unknown"})
    assert told == {"ok": True, "state": "nothing new", **nothing}
    told = chat.ok("POST", EXTRACT, {"session_id": "chat", "until": "two Th"})
    assert told == {"ok": True, "state": "done", **nothing, "created": 1, "proposed": 1}
    assert len(model.asked[0]) == 2
    chat.ok("POST", EXTRACT, {"session_id": "chat"})
    assert model.texts[2:] == ["three is here"]
    assert chat.ok("POST", EXTRACT, {"session_id": "chat"})["state"] == "nothing new"
    jobs.work_off()
    assert len(model.asked) == 2


def test_an_extraction_can_use_another_bank_or_be_skipped(
    world: World, chat: Api, model: Scripted
) -> None:
    lab, _ = banks.create(world.admin, "lab")
    chat.ok("POST", DONE, body("one is here"))
    assert chat.ok("POST", EXTRACT, {"session_id": "chat", "skip": True})["state"] == "skipped"
    model.script = [array(element(KILN))]
    chat.ok("POST", DONE, body("one is here", KILN, turn_id="t2"))
    chat.ok("POST", EXTRACT, {"session_id": "chat", "bank": lab.name})
    assert model.texts == [KILN]
    assert texts(chat) == []
    assert chat.ok("GET", "/memories?bank=lab")["total"] == 1


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (errors.ModelUnavailable("Busy.", retry_after_s=7), 503, "model_unavailable"),
        (errors.ModelRefused(401), 502, "model_refused"),
        (errors.ReplyUnusable(), 502, "model_reply_unusable"),
    ],
)
def test_what_goes_wrong_in_an_extraction_is_told_and_costs_nothing(
    chat: Api, model: Scripted, error: Exception, status: int, code: str
) -> None:
    model.script = [error, array(element(KILN))]
    chat.ok("POST", DONE, body(KILN))
    told = chat.send("POST", EXTRACT, {"session_id": "chat"})
    assert told.headers.get("Retry-After") == ("7" if status == 503 else None)
    assert (told.status_code, told.json()["code"]) == (status, code)
    assert chat.ok("POST", EXTRACT, {"session_id": "chat"})["created"] == 1


def test_a_session_of_somebody_else_is_an_unknown_one(
    world: World, chat: Api, api_of: MakeApi
) -> None:
    chat.ok("POST", DONE, body(KILN))
    editor = api_of(world.editor)
    editor.refused(403, "forbidden", "POST", EXTRACT, {"session_id": "chat"})
    chat.refused(422, "invalid", "POST", EXTRACT, {"session_id": ""})
    chat.refused(404, "bank_not_found", "POST", EXTRACT, {"session_id": "chat", "bank": "none"})
    assert chat.ok("POST", EXTRACT, {"session_id": "chat-2"})["state"] == "nothing new"


def test_without_a_model_the_answers_say_so(world: World, admin: Api) -> None:
    assert admin.ok("POST", DONE, body(KILN)) == {"ok": True, "state": "skipped: no model"}
    told = admin.ok("POST", EXTRACT, {"session_id": "chat"})
    assert (told["ok"], told["state"]) == (True, "skipped: no model")


def test_proposals_are_listed_accepted_edited_and_rejected(
    world: World, chat: Api, model: Scripted, api_of: MakeApi
) -> None:
    rules = [RULE, "Never open valve 2.", "Be brief, please."]
    model.script = [array(*(element(each, "rules") for each in rules))]
    chat.ok("POST", DONE, body(" ".join(rules)))
    jobs.work_off()
    keeper = api_of(world.maintainer)
    asked = keeper.ok("GET", "/proposals?bank=ops")["proposals"]
    assert [each["text"] for each in asked] == rules
    assert {(each["rule"], each["state"], each["session_id"]) for each in asked} == {
        ("learned", "waiting", "chat")
    }
    first, second, third = (f"/proposals/{each['id']}" for each in asked)
    assert keeper.ok("POST", f"{first}/accept", {})["proposal"]["state"] == "accepted"
    told = keeper.ok("POST", f"{second}/accept", {"text": "Keep valve 2 closed."})["proposal"]
    assert (told["state"], told["text"]) == ("edited", "Keep valve 2 closed.")
    told = keeper.ok("POST", f"{third}/reject", {"reason": "Too vague."})["proposal"]
    assert (told["state"], told["reason"]) == ("rejected", "Too vague.")
    [rule] = keeper.ok("GET", "/rules?bank=ops")["rules"]
    assert (rule["name"], rule["content"]) == ("learned", f"- {RULE}\n- Keep valve 2 closed.\n")
    keeper.refused(409, "proposal_decided", "POST", f"{first}/reject", {})
    assert keeper.ok("GET", "/proposals")["proposals"] == []
    assert len(keeper.ok("GET", "/proposals?state=rejected")["proposals"]) == 1
    for key in ("0", "9" * 300, "%00", "%F0%9F%94%A5"):
        keeper.refused(404, "proposal_not_found", "POST", f"/proposals/{key}/accept", {})
