"""What waits for a body, and what works on a request."""

import io
from typing import Any

import pytest

from memoryconsole.server import Gate


def call(gate: Gate, source: Any, size: str) -> tuple[str, bytes]:
    told: list[str] = []

    def start_response(status: str, headers: list[tuple[str, str]]) -> None:
        told.append(status)

    answer = gate({"CONTENT_LENGTH": size, "wsgi.input": source}, start_response)
    return told[0], b"".join(answer)


def echo(environ: Any, start_response: Any) -> list[bytes]:
    start_response("200 OK", [])
    return [environ["wsgi.input"].read()]


class Silent(io.BytesIO):
    """Half a body, then nothing: what the kernel says when its patience is over."""

    def read(self, size: int | None = -1) -> bytes:
        half = super().read(4)
        if not half:
            raise BlockingIOError("nothing came")
        return half


@pytest.mark.parametrize("length", [1, 400_000])
def test_a_body_reaches_the_application_whole(length: int) -> None:
    body = b"x" * length
    assert call(Gate(echo, at_once=1), io.BytesIO(body), str(length)) == ("200 OK", body)


def test_half_a_body_is_refused_and_takes_no_place() -> None:
    gate = Gate(echo, at_once=1)
    for _ in range(3):
        assert call(gate, Silent(b"half of it"), "1000") == ("408 Request Timeout", b"")
    assert call(gate, io.BytesIO(b"all"), "3") == ("200 OK", b"all")


@pytest.mark.parametrize("size", ["", "0", "x", "999999999999"])
def test_a_body_that_no_call_takes_is_left_where_it_is(size: str) -> None:
    assert call(Gate(echo, at_once=1), io.BytesIO(b"left"), size) == ("200 OK", b"left")
