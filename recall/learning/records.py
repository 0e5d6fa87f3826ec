"""How long is kept what learning leaves behind: records of runs, and proposals that went stale.

What a person decided stays for good: it is not asked again.
"""

from datetime import timedelta

from banks import seams
from banks.models import Bank
from recall.models import ConsolidationRun, Proposal

KEPT = timedelta(days=90)


def prune(bank: Bank) -> None:
    """Remove what is older from a bank, but no run that somebody is still asked about."""
    before = seams.now() - KEPT
    stale = Proposal.objects.filter(bank=bank, state=Proposal.State.STALE, decided_at__lt=before)
    stale.delete()
    runs = ConsolidationRun.objects.filter(bank=bank, finished_at__lt=before)
    runs.exclude(proposals__state=Proposal.State.WAITING).delete()
