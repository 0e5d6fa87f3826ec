"""Who turns a text into a vector: a model in this process, a server, or nobody."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from django.conf import settings

from banks import config

if TYPE_CHECKING:
    from recall.meaning.bert import Floats

LONGEST_TEXT = 2_000
"""Characters of a text that are compared; a small model reads no more of it either."""

DEFAULT_NAME = "default"
"""The name that is sent when none is configured: servers of a single model take any."""


class Embedder(Protocol):
    """A model whose vectors of texts with like meaning are near each other."""

    @property
    def name(self) -> str:
        """What it is called in records and checks."""

    @property
    def identity(self) -> str:
        """Which vectors can be compared: those of embedders with the same identity."""

    def embed(self, texts: Sequence[str], *, timeout_s: float) -> "Floats":
        """A row of length 1 for each text. Raises ModelUnavailable, ModelRefused, ReplyUnusable."""

    def trouble(self) -> str:
        """Why it cannot be used now, as a sentence; "" when it can."""


_replacement: Embedder | None = None


def current() -> Embedder | None:
    """The embedder that the settings and the configuration name now; None when meaning is off."""
    if not config.current().embeddings_enabled:
        return None
    if _replacement is not None:
        return _replacement
    if settings.EMBEDDER == "local":
        return _local()
    if settings.EMBEDDER == "http":
        name = config.current().embedding_model or DEFAULT_NAME
        return _http(settings.EMBEDDER_BASE_URL, settings.EMBEDDER_API_KEY, name)
    return None


@contextmanager
def replaced(embedder: Embedder) -> Iterator[None]:
    """Use this embedder within the block; for tests."""
    global _replacement  # noqa: PLW0603
    before, _replacement = _replacement, embedder
    try:
        yield
    finally:
        _replacement = before


@lru_cache(maxsize=1)
def _local() -> Embedder:
    # numpy and the model's packages are needed by none of the installations without meaning.
    from recall.meaning.local import LocalEmbedder  # noqa: PLC0415

    return LocalEmbedder()


@lru_cache(maxsize=1)
def _http(base_url: str, api_key: str, name: str) -> Embedder:
    from recall.meaning.http import HttpEmbedder  # noqa: PLC0415

    return HttpEmbedder(base_url, api_key, name)
