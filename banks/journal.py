"""The journal: one row a change, numbered per bank under the bank's lock."""

import uuid
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime

from banks.models import Bank, Change, Operation

request_id: ContextVar[str] = ContextVar("request_id", default="")
"""The id of the request, command or job at hand: in the log, the journal and the answer."""

DISK = "disk"
"""The actor of a change that was found on disk."""

FOUND = "found on disk"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What one change does to one entry, rule or bank; versions are `""` for "not there"."""

    action: str
    target: str
    key: str
    before: str = ""
    after: str = ""
    reason: str = ""
    observation: str = ""


def record(
    bank: Bank,
    effects: Sequence[Effect],
    *,
    actor: str,
    at: datetime,
    operation: Operation | None = None,
) -> int:
    """Write the effects as the bank's next changes and give its new head.

    Call it inside the transaction that writes the rows, with the bank's lock held: that is what
    keeps the numbers without a gap.
    """
    head = Bank.objects.values_list("head", flat=True).get(pk=bank.pk)
    Change.objects.bulk_create(
        [
            Change(
                bank=bank,
                seq=head + number,
                uid=uuid.uuid4().hex,
                operation=operation,
                action=effect.action,
                target=effect.target,
                key=effect.key,
                version_before=effect.before,
                version_after=effect.after,
                actor=actor,
                reason=effect.reason,
                observation=effect.observation,
                request_id=operation.request_id if operation else request_id.get(),
                at=at,
                together=len(effects) if number == 1 else None,
            )
            for number, effect in enumerate(effects, start=1)
        ],
        batch_size=500,
    )
    bank.head = head + len(effects)
    Bank.objects.filter(pk=bank.pk).update(head=bank.head)
    return bank.head
