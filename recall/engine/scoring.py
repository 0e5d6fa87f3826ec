"""Rank candidates: additive signals, each bounded by the top text score.

Absolute constants would depend on the size of a bank, and multiplying by recency costs 7 to 14
points of recall (spec: recall, Quality), so every signal but the text is a share of the top.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

K1 = 1.2
"""BM25 term saturation, no unit (recipe A, tuned on LoCoMo conversations 1-5)."""

B = 0.4
"""BM25 length normalisation, 0..1 (recipe A, tuned on LoCoMo conversations 1-5)."""

SUBJECT_SHARE = 0.2
"""Share of the top text score for a memory about the one entity that a query names."""

CORROBORATION_SHARE = 0.05
"""Largest share of the top text score for being re-observed, reached at 9 observations."""

CORROBORATION_FULL = 10.0
"""1 + the number of re-observations from which more of them add nothing."""

RECENCY_SHARE = 0.05
"""Largest share of the top text score for being stated just now."""

NEWEST_SHARE = 0.2
"""The same where the question asks for the newest ("latest", "now"). Ages then count from the
newest good match: what was said last a year ago is the newest all the same."""

ASKING_LOSS = 0.3
"""What the words of questions lose: who asks the same thing knows the answer no better."""

TIME_SHARE = 0.2
"""Share for a memory that tells a time where the question asks for one ("when did")."""

GOOD_MATCH = 0.5
"""Share of the top text score from which a memory counts when the newest is asked for."""

PIN_SHARE = 0.03
"""Share of the top text score for a pinned memory: breaks near ties, buries nothing."""

MEANING_SHARE = 0.4
"""Share for the candidate that is closest in meaning; the least close one has none. On LoCoMo 1-3
0.3 to 0.45 gave the same."""

MIN_POOL = 50
"""Candidates to rank at least. On LoCoMo 30, 50, 100 and 400 gave the same first ten."""


_SECONDS_A_DAY = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What ranking needs to know of one memory. `text_score` is its BM25 score, >= 0, `asking` the
    share of its text that is questions, 0..1. `closeness`: the cosine of its vector and that of the
    query; None for a memory without one.
    """

    id: str
    text_score: float
    stated_at: datetime
    subjects: frozenset[str] = frozenset()
    corroboration: int = 0
    pinned: bool = False
    tells_time: bool = False
    asking: float = 0.0
    closeness: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Signals:
    """What a score is made of; the six add up to it. Same unit as the text score.

    `text` is the BM25 score less what questions lose, with the share for telling a time.
    """

    text: float
    entity: float = 0.0
    corroboration: float = 0.0
    recency: float = 0.0
    pin: float = 0.0
    meaning: float = 0.0

    @property
    def total(self) -> float:
        """The score: the sum of all signals, in this order."""
        return self.text + self.entity + self.corroboration + self.recency + self.pin + self.meaning


@dataclass(frozen=True, slots=True)
class Ranked:
    """One hit: the id of a memory, its score and what the score is made of."""

    id: str
    score: float
    signals: Signals


def pool_size(limit: int) -> int:
    """How many candidates to ask the index for when `limit` hits are wanted.

    More than the hits, since signals other than the text move memories up.
    """
    return max(MIN_POOL, 4 * limit) if limit > 0 else 0


def recency(age_days: float, *, half_life_days: float) -> float:
    """Weight in (0, 1] that halves every `half_life_days`; ages below 0 count as 0.

    Raises ValueError when `half_life_days` <= 0.
    """
    if half_life_days <= 0:
        raise ValueError("half_life_days must be positive")
    return float(2.0 ** -(max(0.0, age_days) / half_life_days))


def corroboration(count: int) -> float:
    """Weight in [0, 1] that grows with the logarithm of re-observations; counts below 0 are 0."""
    return min(1.0, math.log1p(max(0, count)) / math.log(CORROBORATION_FULL))


def rank(
    candidates: Iterable[Candidate],
    *,
    named: tuple[str, ...],
    now: datetime,
    half_life_days: float,
    newest: bool = False,
    time: bool = False,
) -> tuple[Ranked, ...]:
    """All candidates, best first: score desc, `stated_at` desc, id. The order is total.

    `named` are the known entities of the query: a memory about one of them is lifted only when
    it is the only one. `newest` says that the question asks for the newest state, `time` that it
    asks for a time. Ids must be unique. Raises ValueError when `half_life_days` <= 0.
    """
    pool = list(candidates)
    shares = _closeness(pool)
    # Without any word in common there is no top, but there may be a likeness of meaning.
    top = max((each.text_score for each in pool), default=0.0) or (1.0 if any(shares) else 0.0)
    subject = named[0] if len(named) == 1 else None
    share, fresh = (NEWEST_SHARE, _newest_good(pool, top)) if newest else (RECENCY_SHARE, now)
    scored = []
    for candidate, close in zip(pool, shares, strict=True):
        age_days = (fresh - candidate.stated_at).total_seconds() / _SECONDS_A_DAY
        text = candidate.text_score * (1.0 - ASKING_LOSS * candidate.asking)
        signals = Signals(
            text=text + (TIME_SHARE * top if time and candidate.tells_time else 0.0),
            entity=SUBJECT_SHARE * top if subject in candidate.subjects else 0.0,
            corroboration=CORROBORATION_SHARE * top * corroboration(candidate.corroboration),
            recency=share * top * recency(age_days, half_life_days=half_life_days),
            pin=PIN_SHARE * top if candidate.pinned else 0.0,
            # The nearest to a question is whoever asks the same.
            meaning=MEANING_SHARE * top * close * (1.0 - candidate.asking),
        )
        stated = candidate.stated_at.timestamp()
        scored.append((-signals.total, -stated, candidate.id, signals))
    scored.sort(key=lambda row: row[:3])
    return tuple(Ranked(id_, -negative, signals) for negative, _, id_, signals in scored)


def _closeness(pool: Sequence[Candidate]) -> list[float]:
    """Of each candidate, 0..1: where its cosine lies between the lowest and the highest of all."""
    known = [each.closeness for each in pool if each.closeness is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    spread = high - low
    return [
        0.0 if each.closeness is None else (each.closeness - low) / spread if spread > 0 else 1.0
        for each in pool
    ]


def _newest_good(pool: Sequence[Candidate], top: float) -> datetime:
    """When the newest of the good matches was stated; for an empty pool any time does."""
    good = (each.stated_at for each in pool if each.text_score >= GOOD_MATCH * top)
    return max(good, default=datetime.min.replace(tzinfo=UTC))
