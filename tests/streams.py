"""Streams that a test drives by hand: no thread, no waiting, and all closed at the end."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest
from django.http import HttpResponse, StreamingHttpResponse

from banks import stream


class ByHand(stream.Hub):
    """Each pause is a look, and time goes on by as much as nothing happened."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.answers: list[StreamingHttpResponse] = []

    def clock(self) -> float:
        return self.now

    def pause(self, wanted: Callable[[], bool], timeout_s: float) -> None:
        self.look()
        self.now += 0.0 if wanted() else timeout_s

    def start(self) -> threading.Thread:
        return threading.Thread()  # never begun

    def opened(self, answer: HttpResponse) -> StreamingHttpResponse:
        """The answer as a stream that ends with the test."""
        assert answer.status_code == 200, answer
        assert isinstance(answer, StreamingHttpResponse)
        self.answers.append(answer)
        return answer


@contextmanager
def driven_by_hand(monkeypatch: pytest.MonkeyPatch) -> Iterator[ByHand]:
    """Use such a hub within the block."""
    hub = ByHand()
    monkeypatch.setattr(stream, "hub", hub)
    yield hub
    for answer in hub.answers:
        # The test client's wrapper would else be closed by the garbage collector, in another test.
        cast("Any", answer)._iterator.close()
        answer.close()
