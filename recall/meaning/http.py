"""Any server with OpenAI's `/embeddings`."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from banks import errors
from recall.meaning.bert import Floats, unit
from recall.meaning.vectors import LARGEST_DIMENSION
from recall.servers import Server

LONGEST_BYTES = 16 * 1024 * 1024
"""An answer of more than this is no answer: 32 vectors of 4,096 numbers in full take a sixth."""

_SETTINGS = (
    "MEMORYCONSOLE_EMBEDDER_BASE_URL, MEMORYCONSOLE_EMBEDDER_API_KEY and the configured "
    "embedding_model"
)
_UNUSABLE = "The model's answer is not a list of embeddings."


class HttpEmbedder:
    """Tries once: the queue of jobs tries again, a recall goes on without."""

    def __init__(self, base_url: str, api_key: str, name: str) -> None:
        self.name = name
        self.identity = f"http {base_url} {name}"
        self._server = Server(
            base_url=base_url, api_key=api_key, longest_bytes=LONGEST_BYTES, settings=_SETTINGS
        )

    def embed(self, texts: Sequence[str], *, timeout_s: float) -> Floats:
        """One call for all, bounded in time and bytes whatever the server does."""
        with self._server.client(timeout_s) as client:
            raw = client.embeddings.with_raw_response.create(
                model=self.name, input=list(texts), encoding_format="float"
            )
            body = raw.http_response.content
        return vectors(body, len(texts))

    def trouble(self) -> str:
        """Why its server cannot be reached now."""
        return self._server.trouble()


def vectors(body: bytes, count: int) -> Floats:
    """The vectors in the body of an answer, in the order of the texts, at length 1.

    Raises ReplyUnusable when it is anything else than `count` vectors of one size.
    """
    try:
        told: list[dict[str, Any]] = json.loads(body)["data"]
        by_text = {each["index"]: each["embedding"] for each in told}
        rows = np.array([by_text[number] for number in range(count)], np.float64)
    except (ValueError, RecursionError, LookupError, TypeError) as error:
        raise errors.ReplyUnusable(_UNUSABLE) from error
    if rows.ndim != 2 or not 0 < rows.shape[1] <= LARGEST_DIMENSION:
        raise errors.ReplyUnusable(_UNUSABLE)
    if not (np.isfinite(rows).all() and rows.any(axis=1).all()):
        raise errors.ReplyUnusable(_UNUSABLE)
    return unit(rows)
