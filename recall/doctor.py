"""Is the search well? Checks with findings, never repairs beyond what any recall does."""

import shutil
import uuid
from datetime import date
from pathlib import Path

from banks.doctor import Check, Finding
from banks.models import Bank, Entry
from banks.store.types import Severity
from recall import indexer
from recall.engine.query import document_terms, query_terms
from recall.index import Doc, Index, IndexFault, Stamp, analyzer, version

BYTES_A_MEMORY = 16_384
"""An index of more bytes a memory than this, and of more than `SMALL_BYTES`, has left-overs."""

SMALL_BYTES = 64 * 1024 * 1024

_WORD = "thermocouple"
_STATES = {
    "behind": "The index has not seen the last changes yet.",
    "rebuilding": "The index is being built anew.",
    "unavailable": "There is no index: run manage.py reindex.",
}


def checks() -> list[Check]:
    """Every check of the search, each run whatever the others say."""
    banks = list(Bank.objects.filter(state=Bank.State.ACTIVE).order_by("name"))
    return [_scratch(), _standing(banks), _equals_rows(banks), _sizes(banks)]


def _scratch() -> Check:
    """A scratch memory is indexed, found and removed, beside the indexes of the banks."""
    folder = indexer.root() / f"doctor-{uuid.uuid4().hex}"
    index = Index(folder)
    words = analyzer("en")
    terms = document_terms(f"The {_WORD} of the doctor", analyzer=words, day=date(2000, 1, 1))
    doc = Doc(
        id="scratch", terms=terms, category="facts", kind="semantic", origin="agent", created_ms=0
    )
    try:
        folder.mkdir(mode=0o700, parents=True)
        index.rebuild([doc], Stamp(version=version("en")))
        found = [each.id for each in index.search(query_terms(_WORD, analyzer=words), limit=1)]
    except (IndexFault, OSError) as fault:
        name = type(fault).__name__
        return Check("search", ok=False, required=True, detail=f"It refused: {name}.")
    finally:
        index.close()
        shutil.rmtree(folder, ignore_errors=True)
    ok = found == ["scratch"]
    detail = "Indexed, found and removed a scratch memory." if ok else "It found something else."
    return Check("search", ok=ok, required=True, detail=detail)


def _standing(banks: list[Bank]) -> Check:
    """How far the indexes are behind, after what a recall would do about it."""
    findings = []
    for bank in banks:
        state = indexer.catch_up(bank)
        if state.state == "ok":
            continue
        is_missing = state.state == "unavailable"
        message = f"{_STATES[state.state]} Changes to go: {state.lag}."
        severity = Severity.PROBLEM if is_missing else Severity.WARNING
        findings.append(Finding("", 0, f"index_{state.state}", message, severity, bank.name))
    ok = not any(each.severity is Severity.PROBLEM for each in findings)
    detail = f"{len(findings)} banks are behind or without an index." if findings else "Up to date."
    return Check("index", ok=ok, required=True, detail=detail, findings=findings)


def _equals_rows(banks: list[Bank]) -> Check:
    """Whether each index that is up to date holds the bank's memories and no others."""
    findings = []
    for bank in banks:
        # A save in between makes them differ for a moment: only what stays counts.
        if not _has_the_rows(bank) and not _has_the_rows(bank):
            message = "The index does not hold the bank's memories: run manage.py reindex."
            findings.append(Finding("", 0, "index_differs", message, bank=bank.name))
    detail = f"{len(findings)} differ from the rows." if findings else "Every memory is in it."
    return Check("index content", ok=not findings, required=True, detail=detail, findings=findings)


def _has_the_rows(bank: Bank) -> bool:
    """False only for an index that calls itself up to date and is not: other memories, or others
    of them dead."""
    if indexer.catch_up(bank).state != "ok":
        return True
    try:
        index = indexer.index_of(bank)
        found = index.ids(), index.retired_ids()
    except IndexFault:
        return True
    rows = dict(Entry.objects.filter(bank=bank).values_list("entry_id", "live"))
    return found == (set(rows), {key for key, live in rows.items() if not live})


def _sizes(banks: list[Bank]) -> Check:
    """Indexes that take far more room than their memories need."""
    findings = []
    for bank in banks:
        memories = Entry.objects.filter(bank=bank).count()
        size = _bytes_in(indexer.folder_of(bank))
        if size > max(SMALL_BYTES, BYTES_A_MEMORY * memories):
            message = f"The index takes {size // 1_000_000} MB: manage.py reindex makes it small."
            findings.append(Finding("", 0, "index_large", message, Severity.WARNING, bank.name))
    detail = f"{len(findings)} are too large." if findings else "None is too large."
    return Check("index size", ok=not findings, required=False, detail=detail, findings=findings)


def _bytes_in(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            # A merge or a rebuild took it away.
            continue
    return total
