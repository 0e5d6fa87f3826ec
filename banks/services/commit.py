"""The choke point: every change of a bank's files goes through `run`.

Lock, heal, replay, plan on rows that agree with the files, execute, unlock, wake the followers.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import OperationalError, connection
from django.db.models import Q

from banks import errors, locking, operations, seams, signals, sync
from banks.access import Principal
from banks.models import Bank, Entry, SourceFile
from banks.operations import Idempotency, Plan
from banks.steps import Step
from banks.store import history, names, tree
from banks.store.errors import FileChanged
from banks.store.files import LockedBank

PLAN_TRIES = 5


@dataclass(slots=True)
class Desk:
    """What a planner works on: a locked bank whose touched files agree with their rows."""

    bank: Bank
    locked: LockedBank
    actor: str
    now: datetime
    minted: set[str] = field(default_factory=set)
    _seen: dict[str, SourceFile | None] = field(default_factory=dict)

    def fresh(self, path: str) -> SourceFile | None:
        """The up-to-date row of a file; None when there is no such file.

        Each is looked at once a plan: who changes it after that makes the step fail, and the plan
        is made again. Raises BankOnHold when this look shows that the bank's files are lost.
        """
        if path not in self._seen:
            self._seen[path] = sync.fresh(self.bank, self.locked, path)
        if self.bank.hold:
            raise errors.BankOnHold
        return self._seen[path]

    def mint(self, created: datetime) -> str:
        """An id that no entry of the bank has or points at, drawn again until it is free."""
        while True:
            key = names.mint(created, seams.suffix())
            # The bank stands in both halves: so SQLite takes an index for each.
            told = Q(bank=self.bank, entry_id=key) | Q(bank=self.bank, superseded_by=key)
            is_free = key not in self.minted and not Entry.objects.filter(told).exists()
            if is_free and not self._has_history(key):
                self.minted.add(key)
                return key

    def _has_history(self, key: str) -> bool:
        return bool(self.locked.history(tree.history_path(key)))

    def log(
        self, target: str, key: str, *, revision: int, act: str, data: bytes, reason: str | None
    ) -> list[Step]:
        """The step that keeps a block or rule as it is now, before an act replaces it."""
        record = history.Record(revision, self.now, self.actor, act, reason, data)
        step = operations.log_step(self.locked, target, key, record, current=data)
        return [step] if step else []


Planner = Callable[[Desk], Plan]


def run(
    bank: Bank,
    principal: Principal,
    planner: Planner,
    *,
    idempotency: Idempotency | None = None,
) -> dict[str, Any]:
    """Plan and carry out one change; its answer, once it is durable on disk and in the rows.

    The planner may run several times (a file changed meanwhile) and must not write. Raises what
    it raises, and StoreBusy, StoreFault, BankOnHold, BankNotFound, IdempotencyBusy/Mismatch.
    """
    answer = _replayed_before_lock(idempotency)
    if answer is not None:
        return answer
    try:
        with (
            folder_told(bank),
            operations.store_errors(),
            locking.locked(bank, sync.LOCK_TIMEOUT_S) as locked,
        ):
            answer = _run_locked(bank, locked, principal, planner, idempotency)
    except OperationalError as error:
        if connection.vendor == "sqlite" and "locked" in str(error):
            raise errors.StoreBusy from error
        raise
    signals.changes_committed.send(Bank, bank_id=bank.pk, seq=bank.head)
    return answer


@contextmanager
def folder_told(bank: Bank) -> Iterator[None]:
    """Within the block a bank whose folder is not there is BankOnHold: a volume that is not
    mounted. One that was trashed or renamed meanwhile stays BankNotFound."""
    try:
        yield
    except errors.BankNotFound as error:
        if locking.is_current(bank):
            sync.look(bank, force=True)
            if bank.hold:
                raise errors.BankOnHold from error
        raise


def _replayed_before_lock(idempotency: Idempotency | None) -> dict[str, Any] | None:
    """The first answer, without the lock. A pending first call is looked at under the lock: if
    it died, whoever gets the lock ends it."""
    try:
        return operations.replay(idempotency, now=seams.now())
    except errors.IdempotencyBusy:
        return None


def _run_locked(
    bank: Bank,
    locked: LockedBank,
    principal: Principal,
    planner: Planner,
    idempotency: Idempotency | None,
) -> dict[str, Any]:
    now = seams.now()
    if bank.state != Bank.State.ACTIVE:
        raise errors.BankNotFound
    operations.heal(bank, locked, now=now)
    answer = operations.replay(idempotency, now=now)
    if answer is not None:
        return answer
    if bank.hold:
        raise errors.BankOnHold
    for _ in range(PLAN_TRIES):
        desk = Desk(bank, locked, principal.handle, now)
        plan = planner(desk)
        try:
            return operations.execute(
                bank, locked, plan, actor=principal.handle, now=now, idempotency=idempotency
            )
        except FileChanged:
            continue
    raise errors.StoreBusy
