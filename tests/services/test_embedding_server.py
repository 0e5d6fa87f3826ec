"""An embedder over real HTTP: slow, wrong, cut off, of another size, endless, refusing."""

import json

import numpy as np
import pytest
from pytest_django import Settings

from banks import errors
from memoryconsole import checks
from recall import doctor
from recall.meaning import MeaningState
from recall.meaning.bert import Floats
from recall.meaning.http import HttpEmbedder
from recall.services import recall
from tests.builders import World, save
from tests.embeddings import embeddings, fill
from tests.receivers import Receiver, status

KEY = "a-key"


def asked(server: Receiver, *script: bytes, timeout_s: float = 5.0) -> Floats:
    server.script = list(script)
    embedder = HttpEmbedder(f"http://{server.host}/v1", KEY, "kiln-1")
    return embedder.embed(["one", "two"], timeout_s=timeout_s)


def test_the_protocol_is_that_of_embeddings(server: Receiver) -> None:
    backwards = {"data": [{"index": 1, "embedding": [0, 2]}, {"index": 0, "embedding": [3, 4]}]}
    rows = asked(server, status(200, "Content-Type: application/json", body=json.dumps(backwards)))
    assert rows == pytest.approx(np.array([[0.6, 0.8], [0, 1]]))
    [got] = server.got
    assert (got.path, got.headers["authorization"]) == ("/v1/embeddings", f"Bearer {KEY}")
    assert json.loads(got.body) == {
        "model": "kiln-1", "input": ["one", "two"], "encoding_format": "float",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("answer", "error", "says"),
    [
        (status(401), errors.ModelRefused, "MEMORYCONSOLE_EMBEDDER_API_KEY"),
        (status(302, "Location: http://127.0.0.1:1/"), errors.ModelRefused, "status 302"),
        (status(500, body="trace"), errors.ModelUnavailable, "status 500"),
        (status(429, "Retry-After: 2"), errors.ModelUnavailable, "status 429"),
        (status(200, "Content-Length: 900"), errors.ModelUnavailable, "cannot be reached"),
        (b"SSH-2.0\r\n", errors.ModelUnavailable, "cannot be reached"),
        (status(200, body="hello"), errors.ReplyUnusable, "not a list"),
        (status(200, body="[" * 9_000), errors.ReplyUnusable, "not a list"),
        (status(200, body='{"data": 1}'), errors.ReplyUnusable, "not a list"),
        (embeddings([1, 2]), errors.ReplyUnusable, "not a list"),
        (embeddings([1, 2], [1, 2, 3]), errors.ReplyUnusable, "not a list"),
        (embeddings([], []), errors.ReplyUnusable, "not a list"),
        (embeddings([1, 2], [0, 0]), errors.ReplyUnusable, "not a list"),
        (embeddings([1, 2], [1, float("nan")]), errors.ReplyUnusable, "not a list"),
        (embeddings([1, 2], ["a", "b"]), errors.ReplyUnusable, "not a list"),
        (embeddings([[1], [2]], [[1], [2]]), errors.ReplyUnusable, "not a list"),
        (embeddings([1] * 9_000, [1] * 9_000), errors.ReplyUnusable, "not a list"),
        (Receiver.ENDLESS, errors.ReplyUnusable, "no end"),
    ],
    ids=lambda each: str(each)[:60],
)
def test_whatever_a_server_answers_is_named(
    server: Receiver, answer: bytes, error: type[errors.DomainError], says: str
) -> None:
    with pytest.raises(error) as caught:
        asked(server, answer)
    assert says in caught.value.message
    assert not {server.host, KEY} & set(caught.value.message.split())


@pytest.mark.parametrize("answer", [Receiver.HANG, Receiver.DRIP, Receiver.TRICKLE])
def test_a_slow_server_is_waited_for_so_long(server: Receiver, answer: bytes) -> None:
    with pytest.raises(errors.ModelUnavailable, match="in time"):
        asked(server, answer, timeout_s=0.1)


def test_a_bank_is_filled_and_asked_by_a_server(
    world: World, settings: Settings, server: Receiver
) -> None:
    settings.EMBEDDER, settings.EMBEDDER_BASE_URL = "http", f"http://{server.host}/v1"
    save(world, "The furnace is hot.")
    server.script = [embeddings([3, 4]), embeddings([4, 3]), embeddings([1, 0, 0])]
    fill()
    told = recall(world.viewer, world.bank, "kiln")
    assert (told.retrieval, told.meaning) == ("bm25-entity-semantic", MeaningState("ok", 0))
    assert [hit.memory.text for hit in told.memories] == ["The furnace is hot."]
    # A vector of another size cannot be compared with those that are kept.
    told = recall(world.viewer, world.bank, "oven")
    assert (told.memories, told.retrieval) == ([], "bm25-entity")
    assert told.meaning is not None
    assert told.meaning.state == "unavailable"


def test_the_doctor_tells_whether_the_embedder_can_be_reached(
    world: World, settings: Settings, server: Receiver
) -> None:
    settings.EMBEDDER, settings.EMBEDDER_BASE_URL = "http", f"http://{server.host}/v1"

    def told(answer: bytes) -> tuple[bool, str]:
        server.script = [answer]
        check = next(each for each in doctor.checks() if each.name == "embedder")
        assert not check.required
        return check.ok, check.detail

    assert told(status(200, body='{"data": []}')) == (True, "The model default can be used.")
    ok, detail = told(status(401))
    assert not ok
    assert "MEMORYCONSOLE_EMBEDDER_API_KEY" in detail


@pytest.mark.parametrize(
    ("embedder", "address", "is_refused"),
    [("", "", False), ("local", "", False), ("http", "https://models.example/v1", False),
     ("http", "", True), ("http", "models", True), ("http", "http://[", True)],
)  # fmt: skip
def test_a_server_without_an_address_stops_the_start(
    settings: Settings, embedder: str, address: str, is_refused: bool
) -> None:
    settings.EMBEDDER, settings.EMBEDDER_BASE_URL = embedder, address
    assert bool(checks.embedder(None)) is is_refused
