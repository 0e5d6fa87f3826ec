"""The vectors of a bank follow its journal, in jobs: no save waits for them."""

import logging
from collections.abc import Mapping
from datetime import datetime
from time import monotonic
from typing import TYPE_CHECKING

from banks import errors, jobs, links, seams
from banks.jobs import Running
from banks.models import Bank, Change, Entry
from recall.meaning import embedders
from recall.meaning.embedders import LONGEST_TEXT, Embedder

if TYPE_CHECKING:
    from recall.meaning.bert import Floats
    from recall.meaning.vectors import Vectors

logger = logging.getLogger(__name__)

KIND = "meaning"
"""The kind of the jobs that fill in the vectors of one bank."""

TRIES = 5
STEP_S = 20.0
"""After so long other jobs have their turn."""

EMBED_S = 30.0
"""How long one batch may take an embedder."""

BATCH = 32
MOST_TEXTS = 250_000
"""Of a larger bank the newest so many are compared."""

SPARE = 1_000
"""Vectors of texts that are gone: the file is written anew when they are more than the others and
than this."""

_NOT_THIS_TEXT = frozenset({400, 413, 422})


def register() -> None:
    """Let the worker run these jobs."""
    jobs.handler(KIND, limit_s=EMBED_S + STEP_S, tries=TRIES, is_outside=True)(_work)


def follow() -> int:
    """Have the vectors of every bank that changed filled in; how many. The worker calls it."""
    embedder = embedders.current()
    if embedder is None:
        return 0
    from recall.meaning import kept  # noqa: PLC0415  numpy is needed where there is an embedder

    count = 0
    for bank in Bank.objects.filter(state=Bank.State.ACTIVE).order_by("pk"):
        filled = kept.vectors_of(bank, embedder).stamped()
        if filled is None or filled.seq != bank.head:
            count += jobs.enqueue(KIND, {"bank": bank.pk}, dedup=str(bank.pk))
    return count


def _work(running: Running) -> datetime | str:
    """Fill in what is missing, batch by batch; goes on later when it takes long."""
    bank = Bank.objects.filter(pk=running.payload["bank"], state=Bank.State.ACTIVE).first()
    embedder = embedders.current()
    if bank is None or embedder is None:
        return "nothing to do"
    # numpy is needed by none of the installations without meaning.
    import numpy as np  # noqa: PLC0415

    from recall.meaning import kept  # noqa: PLC0415

    vectors = kept.vectors_of(bank, embedder)
    # Read before the rows: what changes meanwhile is looked at once more.
    (seq, uid), filled = kept.head(bank), vectors.filled()
    missing, end = _missing(bank, vectors), monotonic() + STEP_S
    for start in range(0, len(missing), BATCH):
        if running.stopping or monotonic() > end:
            return seams.now()
        running.extend()
        found = _embedded(embedder, _texts(bank, missing[start : start + BATCH]))
        if found:
            vectors.append(list(found), np.array(list(found.values())))
    if vectors.filled() != filled:
        # Vectors came in another size than those before, which are gone now.
        return seams.now()
    vectors.close_fill(seq, uid)
    vectors.drop_others()
    return f"{len(missing)} texts"


def _missing(bank: Bank, vectors: "Vectors") -> list[str]:
    """Fingerprints without a vector: of what changed since the last whole fill, where there is one
    to trust, else of all."""
    rows, filled = Entry.objects.filter(bank=bank), vectors.filled()
    spare = vectors.count() > 2 * rows.count() + SPARE
    changes = Change.objects.filter(bank=bank)
    if filled and not spare and changes.filter(seq=filled.seq, uid=filled.uid).exists():
        after = changes.filter(seq__gt=filled.seq, target=Change.Target.ENTRY)
        keys = set(after.values_list("key", flat=True))
        parts = [rows.filter(entry_id__in=part) for part in links.chunks(keys)]
        every = {each for part in parts for each in part.values_list("fingerprint", flat=True)}
        return sorted(vectors.missing(every))
    newest = rows.order_by("-created_at", "-entry_id").values_list("fingerprint", flat=True)
    ordered = list(dict.fromkeys(newest[:MOST_TEXTS]))
    if spare:
        vectors.keep_only(ordered)
    missing = vectors.missing(ordered)
    return [each for each in ordered if each in missing]


def _texts(bank: Bank, fingerprints: list[str]) -> dict[str, str]:
    rows = Entry.objects.filter(bank=bank, fingerprint__in=fingerprints)
    pairs = rows.values_list("fingerprint", "text")
    return {fingerprint: text[:LONGEST_TEXT] for fingerprint, text in pairs}


def _embedded(embedder: Embedder, texts: Mapping[str, str]) -> dict[str, "Floats"]:
    """The vectors of some texts; one that the embedder does not take is left out."""
    if not texts:
        return {}
    try:
        rows = embedder.embed(list(texts.values()), timeout_s=EMBED_S)
    except errors.ModelRefused as error:
        if error.status not in _NOT_THIS_TEXT:
            raise jobs.RetryableFault(error.message) from error
        if len(texts) == 1:
            logger.warning("a text has no vector reason=%s", error.message)
            return {}
        singles = [_embedded(embedder, {key: text}) for key, text in texts.items()]
        return {key: row for each in singles for key, row in each.items()}
    except errors.ModelFault as error:
        raise jobs.RetryableFault(error.message) from error
    return dict(zip(texts, rows, strict=True))
