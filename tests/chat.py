"""Language models for tests: one that answers as scripted, and the answers of a real server."""

import json
from dataclasses import dataclass, field
from typing import Any

from recall.learning.llm import Answer
from tests.receivers import status


def element(text: str, category: str = "facts", **more: object) -> dict[str, object]:
    """One element of an answer."""
    return {"text": text, "category": category, **more}


def array(*elements: object) -> str:
    """An answer that holds these."""
    return json.dumps(elements, ensure_ascii=False)


@dataclass
class Scripted:
    """Answers with the next of `script`, then always with an empty list; an error is raised. Each
    answer takes so many `tokens`."""

    script: list[str | Exception] = field(default_factory=list)
    asked: list[list[dict[str, str]]] = field(default_factory=list)
    name: str = "scripted"
    tokens: int = 0

    def complete(self, system: str, user: str, *, timeout_s: float) -> Answer:
        self.asked.append(json.loads(user))
        answer = self.script.pop(0) if self.script else "[]"
        if isinstance(answer, Exception):
            raise answer
        return Answer(answer, self.tokens)

    def trouble(self) -> str:
        return ""

    @property
    def texts(self) -> list[str]:
        """All that it was shown, in order."""
        return [each["text"] for window in self.asked for each in window]


def completion(text: object, *, finish: str = "stop", **more: Any) -> bytes:
    """The answer of a server that speaks the protocol."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}}
    told = {"choices": [{**choice, "finish_reason": finish}], "usage": {"total_tokens": 7}, **more}
    return status(200, "Content-Type: application/json", body=json.dumps(told))
