"""A model over real HTTP: slow, wrong, cut off, empty, endless, refusing, not there."""

import json
from datetime import UTC, datetime

import pytest
from pytest_django import Settings

from banks import errors, jobs, queries, seams
from banks.outbox import Job
from banks.queries import Filters
from banks.services import configuration, sessions
from memoryconsole import checks
from recall import doctor
from recall.learning import llm, turns
from recall.learning.llm.client import HttpModel
from recall.learning.turns import Ended
from tests.builders import World
from tests.chat import array, completion, element
from tests.receivers import Receiver, status

TEXTS = ["Kiln 4 purges for 20 minutes.", "Valve 2 sticks.", "Pump 1 is new."]
THREE = completion(array(*map(element, TEXTS)))
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def asked(server: Receiver, *script: bytes, timeout_s: float = 5.0) -> llm.Answer:
    server.script = list(script)
    model = HttpModel(f"http://{server.host}/v1", "a-key", "kiln-1")
    return model.complete("Read.", "[]", timeout_s=timeout_s)


def test_the_protocol_is_that_of_chat_completions(server: Receiver) -> None:
    assert asked(server, completion("ü [] [1]")) == llm.Answer("ü [] [1]", 7)
    [got] = server.got
    body = json.loads(got.body)
    assert (got.path, got.headers["authorization"]) == ("/v1/chat/completions", "Bearer a-key")
    assert body == {
        "model": "kiln-1",
        "messages": [{"role": "system", "content": "Read."}, {"role": "user", "content": "[]"}],
    }


@pytest.mark.parametrize(
    ("answer", "error", "says"),
    [
        (status(401), errors.ModelRefused, "(status 401): look at MEMORYCONSOLE_MODEL_BASE_URL, "),
        (status(404), errors.ModelRefused, "status 404"),
        (status(302, "Location: http://127.0.0.1:1/"), errors.ModelRefused, "status 302"),
        (status(500, body="trace"), errors.ModelUnavailable, "status 500"),
        (status(503, body="x" * 3_000_000), errors.ReplyUnusable, "no end"),
        (status(200, body="hello"), errors.ReplyUnusable, "not a chat completion"),
        (status(200, body="[" * 9_000), errors.ReplyUnusable, "not a chat completion"),
        (status(200, body='{"choices": []}'), errors.ReplyUnusable, "not a chat completion"),
        (status(200, "Content-Length: 900"), errors.ModelUnavailable, "cannot be reached"),
        (b"SSH-2.0\r\n", errors.ModelUnavailable, "cannot be reached"),
        (completion(""), errors.ReplyUnusable, "empty"),
        (completion(None), errors.ReplyUnusable, "empty"),
        (completion(" \n"), errors.ReplyUnusable, "empty"),
        (completion("[]", finish="length"), errors.ReplyUnusable, "cut off"),
        (Receiver.ENDLESS, errors.ReplyUnusable, "no end"),
    ],
    ids=lambda each: str(each)[:40],
)
def test_whatever_a_server_answers_is_named(
    server: Receiver, answer: bytes, error: type[errors.DomainError], says: str
) -> None:
    with pytest.raises(error) as caught:
        asked(server, answer)
    assert says in caught.value.message
    assert server.host not in caught.value.message


@pytest.mark.parametrize("answer", [Receiver.HANG, Receiver.DRIP, Receiver.TRICKLE])
def test_a_slow_server_is_waited_for_so_long(server: Receiver, answer: bytes) -> None:
    with pytest.raises(errors.ModelUnavailable, match="in time"):
        asked(server, answer, timeout_s=0.1)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("2", 2),
        ("Mon, 30 Nov 2026 12:01:00 GMT", 60),
        ("999999999", 3_600),
        ("soon", 5),
        ("", 5),
    ],
)
def test_a_wish_to_wait_is_obeyed(server: Receiver, value: str, seconds: int) -> None:
    with seams.replaced(now=lambda: NOON), pytest.raises(errors.ModelUnavailable) as caught:
        asked(server, status(429, f"Retry-After: {value}"))
    assert caught.value.retry_after_s == seconds


# field case A32
def test_a_rate_limit_and_a_time_out_end_with_all_that_was_said(
    world: World, settings: Settings, server: Receiver
) -> None:
    settings.MODEL_BASE_URL = f"http://{server.host}/v1"
    configuration.change(
        world.admin, {"extraction_timeout_ms": 1_000, "extraction_model": "kiln-1"}
    )
    sessions.select(world.editor, "chat", world.bank)
    server.script = [status(429, "Retry-After: 2"), Receiver.DRIP, THREE]
    message = {"id": "e1", "role": "user", "text": " ".join(TEXTS)}
    turns.completed(world.editor, Ended(session_id="chat", turn_id="t1", messages=[message]))
    for error in ("status 429", "in time"):
        jobs.work_off()
        job = Job.objects.get()
        assert job.state == Job.State.READY
        assert error in job.error
        Job.objects.update(run_at=seams.now())
    jobs.work_off()
    found = queries.list_memories(world.bank, Filters(), limit=9).memories
    assert sorted(each.text for each in found) == sorted(TEXTS)
    assert Job.objects.get().outcome == "done"


def test_the_doctor_tells_whether_the_model_can_be_reached(
    world: World, settings: Settings, server: Receiver
) -> None:
    settings.MODEL_BASE_URL = f"http://{server.host}/v1"

    def told(answer: bytes) -> tuple[bool, str]:
        server.script = [answer]
        check = next(each for each in doctor.checks() if each.name == "model")
        assert not check.required
        return check.ok, check.detail

    assert told(status(200, body='{"data": []}')) == (True, "The model default can be reached.")
    assert told(status(404))[0]
    assert not told(status(401))[0]
    assert not told(status(500))[0]


@pytest.mark.parametrize(
    ("address", "is_refused"),
    [("", False), ("https://models.example/v1", False), ("models", True), ("ftp://x", True),
     ("http://[", True), ("http:///v1", True)],
)  # fmt: skip
def test_an_address_that_is_none_stops_the_start(
    settings: Settings, address: str, is_refused: bool
) -> None:
    settings.MODEL_BASE_URL = address
    assert bool(checks.model(None)) is is_refused
