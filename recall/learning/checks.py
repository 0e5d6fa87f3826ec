"""Does learning come along? Runs and turns that do not go on by themselves."""

from collections.abc import Iterator

from banks.doctor import Check, Finding
from banks.jobs import queue
from banks.models import Bank
from banks.store.types import Severity
from recall.learning import runs, turns
from recall.models import Checkpoint, ConsolidationRun

NAMED_MOST = 20


def learning() -> Check:
    """Advice: what is kept is kept, but nothing new comes of it."""
    findings = [*_stuck(), *_failing(), *_unread()][:NAMED_MOST]
    detail = "Runs and turns come along."
    if findings:
        detail = "Something waits for a person: its reason is below."
    return Check("learning", ok=not findings, required=False, detail=detail, findings=findings)


def _stuck() -> Iterator[Finding]:
    """Runs that have not ended and that no job goes on with."""
    live = queue.live_keys(runs.KIND)
    rows = ConsolidationRun.objects.filter(bank__state=Bank.State.ACTIVE, finished_at=None)
    for row in rows.select_related("bank").order_by("-pk"):
        if runs.key_of(row.bank) not in live:
            message = f"Run {row.uid} was given up: begin another one, or run its job again."
            yield _finding("run_given_up", message, row.bank.name)


def _failing() -> Iterator[Finding]:
    """Banks whose last runs failed."""
    points = Checkpoint.objects.filter(bank__state=Bank.State.ACTIVE, faults__gt=0)
    for point in points.select_related("bank").order_by("bank__name"):
        failed = point.bank.runs.filter(state=ConsolidationRun.State.FAILED).order_by("-pk")
        why = failed.values_list("error", flat=True).first() or ""
        last = f"the last {point.faults} runs" if point.faults > 1 else "the last run"
        yield _finding("runs_fail", f"It could not read on in {last}: {why}", point.bank.name)


def _unread() -> Iterator[Finding]:
    """Turns whose job was given up: they are kept, and teach nothing."""
    dead = queue.dead().filter(kind=turns.KIND)
    last = dead.first()
    if last is not None:
        count = dead.count()
        turns_were = "turn was" if count == 1 else "turns were"
        message = f"{count} {turns_were} given up, and can be run again: {last.error}"
        yield _finding("turns_given_up", message, "")


def _finding(code: str, message: str, bank: str) -> Finding:
    return Finding("", 0, code, message, Severity.WARNING, bank)
