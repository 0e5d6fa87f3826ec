"""What a run asks a person about: each question once, and none that fits no longer."""

from collections.abc import Sequence

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from banks import links, seams
from banks.models import Bank
from banks.services import consolidating
from banks.services.consolidating import Wanted
from banks.store import redact
from recall.learning import changes, claims, episodes
from recall.learning.changes import Asked
from recall.models import ConsolidationRun, Proposal


def unasked(bank: Bank, asked: Sequence[Asked]) -> list[Asked]:
    """Those that no person is asked about, or has decided about.

    What was accepted counts only while it is about the same memories: then somebody took it back.
    """
    decided: set[str] = set()
    accepted: set[tuple[str, frozenset[str]]] = set()
    rows = Proposal.objects.filter(bank=bank).exclude(state=Proposal.State.STALE)
    for part in links.chunks([each.digest for each in asked]):
        for row in rows.filter(digest__in=part):
            if row.state == Proposal.State.ACCEPTED:
                accepted.add((row.digest, _about(changes.load(row.kind, row.payload))))
            else:
                decided.add(row.digest)
    return [
        each
        for each in asked
        if each.digest not in decided and (each.digest, _about(each.change)) not in accepted
    ]


def _about(change: Wanted) -> frozenset[str]:
    return frozenset(consolidating.ids_of(change))


def suggest(bank: Bank, asked: Sequence[Asked], *, run: ConsolidationRun) -> list[Asked]:
    """Ask a person about what a run found; what was not asked about in the meantime."""
    return [each for each in asked if put(_row(bank, each, run))]


def _row(bank: Bank, asked: Asked, run: ConsolidationRun) -> Proposal:
    return Proposal(
        bank=bank,
        kind=consolidating.kind_of(asked.change),
        run=run,
        payload=changes.dump(asked.change),
        text=redact.mask(asked.text).text,
        because=asked.because,
        digest=asked.digest,
        proposed_by=run.started_by,
        proposed_at=seams.now(),
    )


def settle(bank: Bank) -> int:
    """Mark what waits and fits no longer as stale, so that it is in nobody's way; how many.

    The episodes that it was made from are read again by the next run.
    """
    rows = Proposal.objects.filter(claims.free(), bank=bank, state=Proposal.State.WAITING)
    asked = list(rows.exclude(kind=Proposal.Kind.LEARNED_RULE))
    told = consolidating.stale(bank, [changes.load(row.kind, row.payload) for row in asked])
    stale = [row for row, is_stale in zip(asked, told, strict=True) if is_stale]
    for row in stale:
        mark_stale(row)
    return len(stale)


def settle_all(banks: QuerySet[Bank]) -> None:
    """The same for each of these banks in which something waits."""
    for bank in banks.filter(proposals__state=Proposal.State.WAITING).distinct():
        settle(bank)


def mark_stale(row: Proposal) -> None:
    """What a proposal was made from has changed; its episodes are read again by the next run."""
    waiting = Proposal.objects.filter(pk=row.pk, state=Proposal.State.WAITING)
    waiting.update(state=Proposal.State.STALE, decided_at=seams.now())
    episodes.read_again(row.bank, consolidating.ids_of(changes.load(row.kind, row.payload)))


def put(row: Proposal) -> bool:
    """Ask; false when a person is asked already, or has said no or something else."""
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        return False  # the same waits, or was rejected, or accepted in other words
    return True
