"""Who answers: a server that speaks the protocol of OpenAI's chat completions, or nobody.

Nothing that was asked or answered is logged or put into an error.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from django.conf import settings

from banks import config, errors
from recall.servers import Server

DEFAULT_NAME = "default"
"""The name that is sent when none is configured: servers of a single model take any."""

LONGEST_BYTES = 2 * 1024 * 1024
"""An answer of more than this is no answer."""

_SETTINGS = (
    "MEMORYCONSOLE_MODEL_BASE_URL, MEMORYCONSOLE_MODEL_API_KEY and the configured extraction_model"
)


Before = Callable[[float], bool]
"""Called before the model is asked, with the seconds that it may take; false = not now."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said, and what it says that this took; 0 tokens = it does not say."""

    text: str
    tokens: int = 0


class Model(Protocol):
    """A language model. `name` is "" when there is none: then nothing is asked."""

    @property
    def name(self) -> str:
        """What it is called in records and checks."""

    def complete(self, system: str, user: str, *, timeout_s: float) -> Answer:
        """Answer once. Raises ModelUnavailable, ModelRefused, ReplyUnusable."""

    def trouble(self) -> str:
        """Why it cannot be reached now, as a sentence; "" when it can."""


class NoModel:
    """Nobody answers."""

    name = ""

    def complete(self, system: str, user: str, *, timeout_s: float) -> Answer:
        """Raises ModelUnavailable."""
        raise errors.ModelUnavailable("There is no model: set MEMORYCONSOLE_MODEL_BASE_URL.")

    def trouble(self) -> str:
        """That there is none."""
        return "Not configured: nothing is learned from turns."


_replacement: Model | None = None


def current() -> Model:
    """The model that the settings and the configuration name now."""
    if _replacement is not None:
        return _replacement
    if not settings.MODEL_BASE_URL:
        return NoModel()
    name = config.current().extraction_model or DEFAULT_NAME
    return HttpModel(settings.MODEL_BASE_URL, settings.MODEL_API_KEY, name)


@contextmanager
def replaced(model: Model) -> Iterator[None]:
    """Ask this model within the block; for tests."""
    global _replacement  # noqa: PLW0603
    before, _replacement = _replacement, model
    try:
        yield
    finally:
        _replacement = before


class HttpModel:
    """Any server with OpenAI's `/chat/completions`. Tries once: the queue of jobs tries again."""

    def __init__(self, base_url: str, api_key: str, name: str) -> None:
        self.name = name
        self._server = Server(
            base_url=base_url, api_key=api_key, longest_bytes=LONGEST_BYTES, settings=_SETTINGS
        )

    def complete(self, system: str, user: str, *, timeout_s: float) -> Answer:
        """One call, bounded in time and bytes whatever the server does."""
        asked: list[Any] = [
            {"role": "system", "content": system},
            {"role": "user", "content": user},
        ]
        with self._server.client(timeout_s) as client:
            raw = client.chat.completions.with_raw_response.create(model=self.name, messages=asked)
            body = raw.http_response.content
        return said(body)

    def trouble(self) -> str:
        """Why its server cannot be reached now."""
        return self._server.trouble()


def said(body: bytes) -> Answer:
    """The text in the body of an answer. Raises ReplyUnusable when it holds none, or half of it.

    A text that was cut off looks like one that ends there: what follows from it is not known.
    """
    try:
        told = json.loads(body)
        choice = told["choices"][0]
        text = choice["message"]["content"]
    except (ValueError, RecursionError, LookupError, TypeError) as error:
        raise errors.ReplyUnusable("The model's answer is not a chat completion.") from error
    if not isinstance(text, str) or not text.strip():
        raise errors.ReplyUnusable("The model's answer is empty.")
    if choice.get("finish_reason") == "length":
        raise errors.ReplyUnusable("The model's answer was cut off.")
    usage = told.get("usage")
    tokens = usage.get("total_tokens") if isinstance(usage, dict) else None
    return Answer(text, tokens if isinstance(tokens, int) and tokens > 0 else 0)
