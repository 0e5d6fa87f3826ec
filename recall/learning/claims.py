"""Who decides about proposals: nobody else does until that is done, or its process is gone."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta

from django.db import transaction
from django.db.models import Q

from banks import errors, seams
from recall.models import Proposal

CLAIM = timedelta(minutes=1)
"""How long a decision may take. One whose process was killed is free again after that."""


def free() -> Q:
    """Waiting proposals that nobody is about to decide about."""
    return Q(decided_at=None) | Q(decided_at__lt=seams.now() - CLAIM)


@contextmanager
def held(rows: Sequence[Proposal]) -> Iterator[None]:
    """Nobody else decides about these meanwhile. Raises ProposalDecided when somebody does."""
    keys = [row.pk for row in rows]
    waiting = Proposal.objects.filter(pk__in=keys, state=Proposal.State.WAITING)
    with transaction.atomic():
        if waiting.filter(free()).update(decided_at=seams.now()) < len(keys):
            transaction.set_rollback(True)
            raise errors.ProposalDecided
    try:
        yield
    finally:
        waiting.update(decided_at=None)
