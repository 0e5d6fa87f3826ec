"""Two servers of one database: what one is told is in force in the other with its next call."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from tests.crash.servers import Client, Server
from tests.crash.streaming import Stream

ROUNDS = 10


@pytest.fixture
def both(serve: Callable[..., Server]) -> Iterator[tuple[Client, Client]]:
    """One client of each; the bank `kilns` is there."""
    first = serve()
    second = serve(beside=first)
    secret = first.manage("token", "both", "--scopes", SCOPES).strip()
    with Client(first.port, secret) as one, Client(second.port, secret) as two:
        assert one.call("POST", "/banks", {"name": "kilns"})[0] == 200
        yield one, two


SCOPES = "memory:read,memory:write,rules:read,rules:write,banks:create,admin,hooks"


def answer(client: Client, method: str, path: str, body: object = None) -> dict[str, object]:
    status, told = client.call(method, path, body)
    assert status == 200, told
    return told


def stream_of(client: Client, after: str = "") -> Stream:
    headers = [f"Authorization: Bearer {client.token}"]
    headers += [f"Last-Event-ID: {after}"] if after else []
    stream = Stream(client.port, *headers, path="/api/v1/events?bank=kilns")
    assert stream.hears(b"retry: 3000")
    return stream


def save(client: Client, text: str) -> None:
    answer(client, "POST", "/memories", {"bank": "kilns", "text": text})


def test_the_other_server_goes_by_a_change_with_its_next_call(both: tuple[Client, Client]) -> None:
    for number in range(ROUNDS):
        here, there = both if number % 2 else both[::-1]
        answer(here, "PATCH", "/config", {"recall_limit": number + 1})
        assert answer(there, "GET", "/config")["recall_limit"] == number + 1
        rule = {"bank": "kilns", "content": f"Rule {number} holds."}
        answer(here, "PUT", "/rules/style", rule)
        shown = answer(there, "POST", "/preview", {"bank": "kilns", "query": "kiln"})
        assert f"Rule {number} holds." in str(shown["system_prompt_section"])
        save(here, f"Kiln {number} is cold.")
        asked = {"bank": "kilns", "query": f"kiln {number}", "limit": 50}
        assert f"Kiln {number} is cold." in str(answer(there, "POST", "/recall", asked))
        assert answer(there, "GET", "/memories?bank=kilns")["total"] == number + 1


def test_streams_of_both_tell_the_same_and_go_on_at_the_other_one(
    both: tuple[Client, Client],
) -> None:
    with ExitStack() as held:
        streams = []
        for client in both:
            streams.append(stream_of(client))
            held.callback(streams[-1].close)
        for number in range(ROUNDS):
            save(both[number % 2], f"Kiln {number} is cold.")
        told = [[stream.next_event() for _ in range(ROUNDS)] for stream in streams]
        seqs = [[seq for _, seq in each] for each in told]
        assert seqs == [list(range(seqs[0][0], seqs[0][0] + ROUNDS))] * 2
        for stream in streams:
            stream.close()
        for number in range(ROUNDS):
            save(both[number % 2], f"Valve {number} is open.")
        for (position, seq), client in zip((told[0][-1], told[1][2]), both[::-1], strict=True):
            again = stream_of(client, after=position)
            held.callback(again.close)
            last = seqs[0][-1] + ROUNDS
            assert [again.next_event()[1] for _ in range(last - seq)] == [*range(seq + 1, last + 1)]


def test_of_calls_at_once_with_one_key_one_is_done_and_all_get_its_answer(
    both: tuple[Client, Client],
) -> None:
    def call(number: int) -> tuple[int, dict[str, object]]:
        with Client(both[number % 2].port, both[0].token) as client:
            body = {"bank": "kilns", "text": "Kiln 1 is cold."}
            return client.call("POST", "/memories", body, key="the one")

    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(call, range(8)))
    assert told == [told[0]] * 8
    assert (told[0][0], told[0][1]["created"]) == (200, True)
    assert answer(both[0], "GET", "/memories?bank=kilns")["total"] == 1
