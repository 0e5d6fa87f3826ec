"""The vector of a query, in so much time and no more."""

import logging
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import TYPE_CHECKING

from banks import errors
from recall.meaning.embedders import LONGEST_TEXT, Embedder

if TYPE_CHECKING:
    from recall.meaning.bert import Floats

logger = logging.getLogger(__name__)

QUERY_S = 0.5
"""How long a recall waits for the vector of its query, seconds."""

REST_S = 20.0
"""For so long nobody asks an embedder that failed: each recall would wait for it in vain."""

_ASKED_AT_ONCE = 4
_KEPT = 256
_KEPT_S = 600.0

# In threads, since neither the model in this process nor its loading can be cut short; what comes
# too late serves the next one who asks the same.
_threads = ThreadPoolExecutor(_ASKED_AT_ONCE, thread_name_prefix="meaning")
_guard = Lock()
_vectors: OrderedDict[tuple[str, str], tuple[float, "Floats"]] = OrderedDict()
_resting: dict[str, float] = {}


def vector_of(embedder: Embedder, query: str) -> "Floats | None":
    """The vector of a query; None when it does not come in time."""
    asked = (embedder.identity, query[:LONGEST_TEXT])
    with _guard:
        until, vector = _vectors.get(asked, (0.0, None))
        if time.monotonic() < until:
            return vector
        if time.monotonic() < _resting.get(embedder.identity, 0.0):
            return None
    try:
        return _threads.submit(_ask, embedder, asked).result(QUERY_S)
    except TimeoutError:
        return None


def _ask(embedder: Embedder, asked: tuple[str, str]) -> "Floats | None":
    try:
        vector: Floats = embedder.embed([asked[1]], timeout_s=QUERY_S)[0]
    except errors.DomainError as error:
        logger.warning("recall goes by words alone reason=%s", error.message)
        with _guard:
            _resting[embedder.identity] = time.monotonic() + REST_S
        return None
    with _guard:
        _vectors.pop(asked, None)
        _vectors[asked] = (time.monotonic() + _KEPT_S, vector)
        while len(_vectors) > _KEPT:
            _vectors.popitem(last=False)
    return vector
