"""Is the search well? Checks with findings, never repairs beyond what any recall does."""

import shutil
import uuid
from datetime import UTC, datetime
from pathlib import Path

from banks import config, seams
from banks.doctor import Check, Finding, made
from banks.models import Bank, Entry
from banks.store import parse, render
from banks.store.errors import StoreError
from banks.store.types import Category, Severity
from banks.store.types import Entry as StoredEntry
from recall import indexer, meaning
from recall.engine.packing import Fit
from recall.engine.query import document_terms, query_terms
from recall.index import Doc, Index, IndexFault, Stamp, analyzer, version
from recall.learning import checks as learning_checks
from recall.learning import llm
from recall.services import rules_budget

BYTES_A_MEMORY = 16_384
"""An index of more bytes a memory than this, and of more than `SMALL_BYTES`, has left-overs."""

SMALL_BYTES = 64 * 1024 * 1024

_WORD = "thermocouple"
_DAY = datetime(2000, 1, 1, tzinfo=UTC)
_STATES = {
    "behind": "The index has not seen the last changes yet.",
    "rebuilding": "The index is being built anew.",
    "unavailable": "There is no index: run manage.py reindex.",
}


def checks() -> list[Check]:
    """Every check of the search, each made whatever becomes of the others."""
    banks = _banks()
    return [
        made("search", _scratch),
        made("index", lambda: _standing(banks)),
        made("index content", lambda: _equals_rows(banks)),
        made("index arrays", lambda: _arrays(banks)),
        made("index size", lambda: _sizes(banks)),
        made("rules", lambda: _rules(banks)),
        made("model", _model),
        made("learning", learning_checks.learning),
        made("embedder", _embedder),
    ]


def glance() -> list[Check]:
    """The checks that cost little at every size: no more than a recall in each bank."""
    banks = _banks()
    return [made("index", lambda: _standing(banks)), made("rules", lambda: _rules(banks))]


def _banks() -> list[Bank]:
    return list(Bank.objects.filter(state=Bank.State.ACTIVE).order_by("name"))


def _scratch() -> Check:
    """A scratch memory goes the way of any other, beside the banks and their indexes."""
    name = f"doctor-{uuid.uuid4().hex}"
    try:
        text = _kept(name, f"The {_WORD} of the doctor")
    except StoreError as fault:
        # What the disk refuses is told by the check of the data folder.
        detail = f"No scratch memory could be written. {fault.message}"
        return Check("search", ok=False, required=True, detail=detail, checked=False)
    folder = indexer.root() / name
    index = Index(folder)
    words = analyzer("en")
    terms = document_terms(text, analyzer=words, day=_DAY.date())
    doc = Doc(
        id="scratch", terms=terms, category="facts", kind="semantic", origin="agent", created_ms=0
    )
    try:
        folder.mkdir(mode=0o700, parents=True)
        index.rebuild([doc], Stamp(version=version("en")))
        found = [each.id for each in index.search(query_terms(_WORD, analyzer=words), limit=1)]
    except (IndexFault, OSError) as fault:
        detail = f"It refused: {type(fault).__name__}."
        return Check("search", ok=False, required=True, detail=detail)
    finally:
        index.close()
        shutil.rmtree(folder, ignore_errors=True)
    ok = found == ["scratch"]
    detail = "It found something else."
    if ok:
        detail = "Wrote, read, indexed, found and removed a scratch memory."
    return Check("search", ok=ok, required=True, detail=detail)


def _kept(name: str, text: str) -> str:
    """The text of a memory after it was written to a file beside the banks and read again."""
    data = seams.data_folder()
    wanted = StoredEntry(id="scratch", created=_DAY, category=Category.FACTS, text=text)
    try:
        with data.stage(name).lock(0) as locked:
            locked.replace("scratch.md", render.entry(wanted) + b"\n", expect=None)
            block = parse.block(locked.read("scratch.md")[0])
    finally:
        data.discard_stage(name)
    return block.entry.text if block.entry else ""


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
    detail = "Up to date."
    if findings:
        detail = _banks_with(findings, "is", "are", "behind or without an index")
    return Check("index", ok=ok, required=True, detail=detail, findings=findings)


def _equals_rows(banks: list[Bank]) -> Check:
    """Whether each index that is up to date holds the bank's memories and no others."""
    findings = []
    for bank in banks:
        # A save in between makes them differ for a moment: only what stays counts.
        if not _has_the_rows(bank) and not _has_the_rows(bank):
            message = "The index does not hold the bank's memories: run manage.py reindex."
            findings.append(Finding("", 0, "index_differs", message, bank=bank.name))
    detail = "Every memory is in it."
    if findings:
        detail = _banks_with(findings, "differs", "differ", "from the rows")
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


def _arrays(banks: list[Bank]) -> Check:
    """Whether the fast search of each index finds what Whoosh finds; else Whoosh is asked."""
    findings = []
    for bank in banks:
        try:
            agree = indexer.index_of(bank).paths_agree()
        except IndexFault:
            # What the index lacks is told by the check of the index.
            continue
        if not agree:
            message = "The fast search finds something else: searches go the slow way."
            found = Finding("", 0, "index_arrays_differ", message, Severity.WARNING, bank.name)
            findings.append(found)
    detail = "Both searches agree."
    if findings:
        detail = _banks_with(findings, "is", "are", "searched the slow way")
    return Check("index arrays", ok=not findings, required=False, detail=detail, findings=findings)


def _sizes(banks: list[Bank]) -> Check:
    """Indexes that take far more room than their memories need."""
    findings = []
    for bank in banks:
        memories = Entry.objects.filter(bank=bank).count()
        size = _bytes_in(indexer.folder_of(bank))
        if size > max(SMALL_BYTES, BYTES_A_MEMORY * memories):
            message = f"The index takes {size // 1_000_000} MB: manage.py reindex makes it small."
            findings.append(Finding("", 0, "index_large", message, Severity.WARNING, bank.name))
    detail = "None is too large."
    if findings:
        detail = _banks_with(findings, "has", "have", "an index that is too large")
    return Check("index size", ok=not findings, required=False, detail=detail, findings=findings)


def _rules(banks: list[Bank]) -> Check:
    """Banks with more rules than a prompt takes: what is over the budget reaches no agent."""
    findings = []
    for bank in banks:
        packed = rules_budget(bank)
        if packed.truncated:
            cut = ", ".join(rule.name for rule in packed.rules if rule.fit is not Fit.WHOLE)
            message = (
                f"The rules are over the budget of {packed.budget_chars} characters by "
                f"{packed.over_chars}. Cut or left out: {cut}."
            )
            findings.append(Finding("rules", 0, "rules_cut", message, Severity.WARNING, bank.name))
    detail = "Every rule fits."
    if findings:
        detail = _banks_with(findings, "has", "have", "more rules than agents are given")
    return Check("rules", ok=not findings, required=False, detail=detail, findings=findings)


def _banks_with(findings: list[Finding], one: str, many: str, what: str) -> str:
    """How many banks it is about (one finding each), with the verb for one and for many."""
    count = len(findings)
    return f"{count} bank{f' {one}' if count == 1 else f's {many}'} {what}."


def _model() -> Check:
    """Advice: without a model everything works but learning."""
    if not config.current().extraction_enabled:
        return Check("model", ok=True, required=False, detail="Learning is switched off.")
    model = llm.current()
    trouble = model.trouble()
    detail = trouble or f"The model {model.name} can be reached."
    return Check("model", ok=not trouble, required=False, detail=detail)


def _embedder() -> Check:
    """Advice: without it recall goes by words."""
    if not config.current().embeddings_enabled:
        return Check("embedder", ok=True, required=False, detail="Meaning is switched off.")
    embedder = meaning.current()
    if embedder is None:
        detail = "Not configured: recall goes by words, not by meaning."
        return Check("embedder", ok=False, required=False, detail=detail)
    trouble = embedder.trouble()
    detail = trouble or f"The model {embedder.name} can be used."
    return Check("embedder", ok=not trouble, required=False, detail=detail)


def _bytes_in(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            # A merge or a rebuild took it away.
            continue
    return total
