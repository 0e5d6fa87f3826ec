"""Embedders for tests: one that knows a few words, and the answers of a real server."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

import numpy as np

from banks import jobs
from recall.meaning import filling
from recall.meaning.bert import Floats, unit
from tests.receivers import status

TOPICS = (("kiln", "oven", "furnace"), ("valve", "tap"), ("crane", "hoist"), ("pump",))
"""Words of one topic mean the same; any other word means something of its own."""

_numbers = count()


@dataclass
class Topical:
    """Turns a text into how often it speaks of each topic; an error of `script` is raised."""

    name: str = "topical"
    # Another one in each test: what a process knows of an embedder is kept under it.
    identity: str = field(default_factory=lambda: f"topical {next(_numbers)}")
    script: list[Exception] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    order: int = 1

    def embed(self, texts: Sequence[str], *, timeout_s: float) -> Floats:
        if self.script:
            raise self.script.pop(0)
        self.asked += texts
        return unit(np.array([self._counts(text) for text in texts]))

    def trouble(self) -> str:
        return ""

    def _counts(self, text: str) -> list[float]:
        words = [word.strip(".,?").lower().removesuffix("s") for word in text.split()]
        counts = [float(sum(word in topic for word in words)) for topic in TOPICS]
        return [*counts, 0.1][:: self.order]


def fill() -> int:
    """What the worker does until every memory has a vector; how many jobs."""
    filling.follow()
    return jobs.work_off()


def embeddings(*vectors: object, **more: object) -> bytes:
    """The answer of a server that speaks the protocol."""
    data = [
        {"object": "embedding", "index": n, "embedding": each} for n, each in enumerate(vectors)
    ]
    told = {"object": "list", "data": data, "model": "m", **more}
    return status(200, "Content-Type: application/json", body=json.dumps(told))
