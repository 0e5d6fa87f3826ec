"""The index follows the journal: position → changed keys → current rows → documents → position.

The index's writer is taken first, then its position and the rows are read: the other order would
let an older view overwrite a newer one and leave it there.
"""

import logging
import shutil
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from django.conf import settings
from django.db import connections
from django.db.models import Sum

from banks.models import Bank, Change, Entry, SourceFile
from recall import documents
from recall.engine.analysis import Analyzer
from recall.index import (
    MANY_SEGMENTS,
    Index,
    IndexBusy,
    IndexFault,
    IndexUnavailable,
    Stamp,
    Writing,
    analyzer,
    language_code,
    version,
)

logger = logging.getLogger(__name__)

WAIT_S = 1.0
"""How long a recall waits for another writer of the index, seconds."""

MOST_CHANGES = 1_000
"""How many changes one catch-up applies: about half a second."""

MOST_ROWS_AT_ONCE = 1_000
"""A bank of so many memories is indexed anew within a request; a larger one aside."""

MOST_BYTES_AT_ONCE = 2_000_000
"""The same in bytes of its files: a few entries can be very long."""

TOO_MANY_SEGMENTS = 4 * MANY_SEGMENTS
"""Above so many a web process merges segments too, in a thread: no worker seems to run."""

SETTLE_AFTER_S = 5.0
"""An index that nobody changes for so long is synced, so that it outlives a power loss."""

TRY_AGAIN_AFTER_S = 10.0
"""How long after a failed rebuild no request tries again."""

MOST_OPEN = 64
"""Indexes that a process keeps open."""

MOST_PACKED_BYTES = 192_000_000
"""Memory for unpacked postings of all of them; above it the longest unused ones are closed."""

_DEFAULT_LANGUAGE = "english"
_NAP_S = 0.02

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class IndexState:
    """How a bank's index stands. `lag` counts the changes that it has not seen yet."""

    state: Literal["ok", "behind", "rebuilding", "unavailable"]
    lag: int


_open: OrderedDict[Path, Index] = OrderedDict()
_guard = threading.Lock()
_failed: dict[Path, float] = {}
_quiet_since: dict[Path, tuple[Stamp, float]] = {}
_thread: threading.Thread | None = None


def root() -> Path:
    """The folder of all indexes."""
    return Path(settings.STATE_DIR) / "index"


def folder_of(bank: Bank) -> Path:
    """Where the index of a bank lies: by its number, never by its name."""
    return root() / str(bank.pk)


def index_of(bank: Bank) -> Index:
    """The index of a bank, kept open for this process; the longest unused ones are closed."""
    folder = folder_of(bank)
    with _guard:
        index = _open.setdefault(folder, Index(folder))
        _open.move_to_end(folder)
        spare = [_open.popitem(last=False)[1] for _ in range(len(_open) - MOST_OPEN)]
        packed = sum(each.packed_bytes() for each in _open.values())
        while packed > MOST_PACKED_BYTES:
            # The one that is asked for comes last, and begins anew when it is too large alone.
            _, large = _open.popitem(last=False)
            packed -= large.packed_bytes()
            spare.append(large)
        _open.setdefault(folder, index)
    for each in spare:
        each.close()
    return index


def language_of(bank: Bank) -> str:
    """The language of a bank by `bank.yaml`, as a code."""
    return language_code(str(bank.settings.get("language") or _DEFAULT_LANGUAGE))


def analyzer_of(bank: Bank) -> Analyzer:
    """How texts of this bank become terms, on both sides."""
    return analyzer(language_of(bank))


def _head(bank: Bank) -> tuple[int, str]:
    """Number and uid of the bank's last change."""
    last = Change.objects.filter(bank=bank).order_by("-seq").values_list("seq", "uid").first()
    return last or (0, "")


def _trusted_stamp(bank: Bank, index: Index) -> Stamp:
    stamp = index.stamp()
    if stamp.version != version(language_of(bank)):
        raise IndexUnavailable("the index is of another format or language")
    return stamp


def standing(bank: Bank) -> IndexState:
    """How the index stands, without changing it."""
    index, (seq, _) = index_of(bank), _head(bank)
    try:
        stamp = _trusted_stamp(bank, index)
    except IndexUnavailable:
        return _unavailable(index, seq)
    lag = max(0, seq - stamp.seq)
    return IndexState("behind" if lag else "ok", lag)


def lag(bank: Bank) -> int:
    """How many changes of the bank its index has not seen yet."""
    return standing(bank).lag


def _unavailable(index: Index, lag: int) -> IndexState:
    return IndexState("rebuilding" if index.is_rebuilding() else "unavailable", lag)


def catch_up(bank: Bank, *, wait_s: float = WAIT_S) -> IndexState:
    """Bring the index up to the journal, or as near as one call may; says how it stands then.

    An index that cannot be trusted is built anew at once when the bank is small. Waits `wait_s`
    seconds at most for others; raises nothing of the index.
    """
    index, deadline, built = index_of(bank), time.monotonic() + wait_s, False
    while True:
        try:
            return _apply_next(bank, index, wait_s)
        except IndexUnavailable as fault:
            reason = str(fault)
        if built or not _may_build_now(bank, index):
            return _unavailable(index, _head(bank)[0])
        if not index.is_rebuilding():
            logger.info("index is built anew bank=%s reason=%s", bank.name, reason)
            built = _build_now(bank)
        elif time.monotonic() > deadline:
            return IndexState("rebuilding", _head(bank)[0])
        else:
            time.sleep(_NAP_S)


def _may_build_now(bank: Bank, index: Index) -> bool:
    if time.monotonic() < _failed.get(folder_of(bank), 0.0):
        return False
    if Entry.objects.filter(bank=bank).count() > MOST_ROWS_AT_ONCE:
        return False
    size = SourceFile.objects.filter(bank=bank).aggregate(size=Sum("size"))["size"]
    return (size or 0) <= MOST_BYTES_AT_ONCE


def _build_now(bank: Bank) -> bool:
    """Whether a rebuild was tried to its end; not when another process was faster."""
    try:
        _build(bank, index_of(bank), timeout_s=0)
    except IndexBusy:
        return False
    except IndexUnavailable as fault:
        _failed[folder_of(bank)] = time.monotonic() + TRY_AGAIN_AFTER_S
        logger.warning("index cannot be built bank=%s reason=%s", bank.name, fault)
    return True


def _apply_next(bank: Bank, index: Index, wait_s: float) -> IndexState:
    """Apply the next part of the journal. Raises IndexUnavailable."""
    stamp, head = _trusted_stamp(bank, index), _head(bank)
    if (stamp.seq, stamp.uid) == head:
        return IndexState("ok", 0)
    try:
        with index.writing(wait_s) as writing:
            _apply(bank, index, writing)
            stamp = writing.stamp
        if index.segment_count() > TOO_MANY_SEGMENTS:
            _aside(_merge, bank)
    except IndexBusy:
        stamp = index.stamp()
    behind = max(0, head[0] - stamp.seq)
    return IndexState("behind" if behind else "ok", behind)


def _apply(bank: Bank, index: Index, writing: Writing) -> None:
    stamp, terms_of = writing.stamp, language_of(bank)
    if stamp.version != version(terms_of):
        raise IndexUnavailable("the index is of another format or language")
    changes = Change.objects.filter(bank=bank)
    if stamp.seq and not changes.filter(seq=stamp.seq, uid=stamp.uid).exists():
        raise IndexUnavailable("the journal does not know the position of the index")
    fields = ("seq", "uid", "target", "key")
    after = changes.filter(seq__gt=stamp.seq).order_by("seq").values_list(*fields)
    part = list(after[:MOST_CHANGES])
    if not part:
        return
    keys = {key for _, _, target, key in part if target == Change.Target.ENTRY}
    docs = []
    if keys:
        keys = documents.touched(bank, keys, index.beside)
        docs = list(documents.documents(bank, keys, analyzer(terms_of)))
    seq, uid = part[-1][:2]
    writing.apply(docs, keys - {doc.id for doc in docs}, replace(stamp, seq=seq, uid=uid))


def rebuild(bank: Bank, progress: Progress | None = None) -> None:
    """Build the index of a bank anew; the old one answers until the new one is there.

    `progress` is told how many memories are done, and of how many. Raises IndexBusy when another
    rebuild of the bank runs, IndexUnavailable when the disk refuses.
    """
    _build(bank, index_of(bank), progress=progress)


def _build(
    bank: Bank, index: Index, *, timeout_s: float = WAIT_S, progress: Progress | None = None
) -> None:
    started = time.perf_counter()
    _make_root()
    language = language_of(bank)
    # Read before the rows: what changes meanwhile is applied once more afterwards.
    seq, uid = _head(bank)
    stamp = Stamp(version=version(language), seq=seq, uid=uid)
    docs = documents.every_document(bank, analyzer(language), progress)
    index.rebuild(docs, stamp, timeout_s=timeout_s)
    _failed.pop(folder_of(bank), None)
    took_ms = 1_000 * (time.perf_counter() - started)
    logger.info("index built bank=%s seq=%d ms=%.0f", bank.name, seq, took_ms)


def _make_root() -> None:
    try:
        root().mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as fault:
        raise IndexUnavailable("the folder of all indexes refuses") from fault


def distrust(bank: Bank) -> None:
    """Have the index of a bank built anew: it turned out to be damaged."""
    logger.warning("index is damaged bank=%s", bank.name)
    try:
        index_of(bank).distrust()
    except IndexUnavailable as fault:
        logger.warning("index cannot be dropped bank=%s reason=%s", bank.name, fault)


def follow() -> int:
    """Bring the indexes of all banks up to date and in order; how many there was work for.

    The worker calls it. A large bank's index is built anew in a thread of its own, so that the
    worker goes on looking at files meanwhile.
    """
    worked = 0
    for bank in Bank.objects.filter(state=Bank.State.ACTIVE).order_by("pk"):
        try:
            worked += _keep(bank)
        except IndexFault as fault:
            logger.warning("index not kept bank=%s reason=%s", bank.name, fault)
    return worked + _sweep()


def _keep(bank: Bank) -> bool:
    index, before = index_of(bank), standing(bank)
    after = catch_up(bank)
    if after.state in ("unavailable", "rebuilding"):
        return _build_aside(bank)
    worked = before != after
    stamp = index.stamp()
    seen, since = _quiet_since.get(folder_of(bank), (None, 0.0))
    if seen != stamp:
        _quiet_since[folder_of(bank)] = (stamp, time.monotonic())
        if index.segment_count() > MANY_SEGMENTS:
            _merge(bank)
            worked = True
    elif not stamp.clean and time.monotonic() - since > SETTLE_AFTER_S:
        _settle(index)
    return worked


def _merge(bank: Bank) -> None:
    with index_of(bank).writing() as writing:
        writing.compact()


def _settle(index: Index) -> None:
    with index.writing() as writing:
        writing.settle()


def settle_all() -> int:
    """Sync every index, at a clean stop: then they are trusted after a restart of the machine.

    How many needed it.
    """
    settled = 0
    for bank in Bank.objects.filter(state=Bank.State.ACTIVE).order_by("pk"):
        index = index_of(bank)
        try:
            if not index.stamp().clean:
                _settle(index)
                settled += 1
        except IndexFault as fault:
            logger.info("index not settled bank=%s reason=%s", bank.name, fault)
    return settled


def _build_aside(bank: Bank) -> bool:
    if time.monotonic() < _failed.get(folder_of(bank), 0.0):
        return False
    return _aside(_build_now, bank)


def _aside(work: Callable[[Bank], object], bank: Bank) -> bool:
    """Do long work on an index in a thread; not while another one runs in this process."""
    global _thread  # noqa: PLW0603  one at a time
    if _thread is not None and _thread.is_alive():
        return False
    _thread = threading.Thread(target=_in_thread, args=(work, bank), name="index", daemon=True)
    _thread.start()
    return True


def _in_thread(work: Callable[[Bank], object], bank: Bank) -> None:
    try:
        work(bank)
    except IndexFault as fault:
        logger.warning("index not kept bank=%s reason=%s", bank.name, fault)
    finally:
        connections.close_all()


def _sweep() -> int:
    """Remove the indexes of banks that are gone for good; how many."""
    try:
        folders = [each for each in root().iterdir() if each.name.isdigit()]
    except FileNotFoundError:
        return 0
    # The folders were listed first: a bank that is made meanwhile is not taken for a gone one.
    known = {str(pk) for pk in Bank.objects.values_list("pk", flat=True)}
    gone = [folder for folder in folders if folder.name not in known]
    for folder in gone:
        with _guard:
            index = _open.pop(folder, None)
        if index is not None:
            index.close()
        shutil.rmtree(folder, ignore_errors=True)
    return len(gone)
