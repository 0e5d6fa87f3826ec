"""A query and the vectors of a bank."""

import logging
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from banks.models import Bank
from recall.meaning import embedders

if TYPE_CHECKING:
    from recall.meaning.bert import Floats
    from recall.meaning.vectors import Vectors

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MeaningState:
    """How far meanings can be compared: `lag` counts the changes whose memories may have no vector
    yet. Unavailable: there is no vector of the query."""

    state: Literal["ok", "behind", "unavailable"]
    lag: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """A query beside the texts of a bank, which are named by their fingerprints."""

    state: MeaningState
    vectors: "Vectors"
    query: "Floats | None"

    @property
    def is_there(self) -> bool:
        """Whether anything can be compared: an empty answer then means that nothing is near."""
        return self.query is not None and (self.state.state == "ok" or self.vectors.count() > 0)

    def nearest(self, count: int) -> list[tuple[str, float]]:
        """The nearest texts and their cosines, nearest first."""
        if self.query is None:
            return []
        try:
            return self.vectors.nearest(self.query, count)
        except OSError as fault:
            logger.warning("vectors cannot be read reason=%s", fault.strerror)
            return []

    def cosines(self, fingerprints: Collection[str]) -> dict[str, float]:
        """How near these texts are; those without a vector are left out."""
        if self.query is None:
            return {}
        try:
            return self.vectors.cosines(self.query, fingerprints)
        except OSError as fault:
            logger.warning("vectors cannot be read reason=%s", fault.strerror)
            return {}


def compared(bank: Bank, query: str) -> Comparison | None:
    """A query beside a bank; None when meaning is off."""
    embedder = embedders.current()
    if embedder is None:
        return None
    # numpy is needed by none of the installations without meaning.
    from recall.meaning import asking, kept  # noqa: PLC0415

    vectors, (seq, _) = kept.vectors_of(bank, embedder), kept.head(bank)
    vector = asking.vector_of(embedder, query)
    size = vectors.dimension()
    if vector is not None and size not in (0, len(vector)):
        # A server gave its model another one's name: nothing that is kept fits any more.
        logger.warning("vectors are made anew numbers=%d before=%d", len(vector), size)
        vectors.discard()
        vector = None
    filled = vectors.filled()
    lag = max(0, seq - (filled.seq if filled else 0))
    if vector is None:
        return Comparison(MeaningState("unavailable", lag), vectors, None)
    return Comparison(MeaningState("behind" if lag else "ok", lag), vectors, vector)
