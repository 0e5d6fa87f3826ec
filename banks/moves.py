"""Operations whose one step is the rename of a bank's folder: create, trash, restore, rename.

They are made under the lock of the data folder. What such an operation does to the bank's row is in
its step, so that whoever heals it needs nothing else.
"""

import uuid
from dataclasses import asdict
from typing import Any

from django.db import transaction

from banks import journal, operations, projection, seams, surveys
from banks.journal import Effect
from banks.models import Bank, Operation, SourceFile
from banks.store import tree
from banks.store.errors import LockTimeout
from banks.store.files import STAGE_PREFIX, TRASH, BankFolder, DataFolder

LOCK_TIMEOUT_S = 20.0


def open_move(
    bank: Bank,
    act: str,
    *,
    source: str,
    target: str,
    becomes: dict[str, Any],
    effects: list[Effect],
    actor: str,
) -> Operation:
    """First transaction of a move. `source` and `target` are folders within the data folder;
    `becomes` are the fields of the bank's row once the folder is at its target."""
    with transaction.atomic():
        return Operation.objects.create(
            uid=uuid.uuid4().hex,
            bank=bank,
            act=act,
            actor=actor,
            request_id=journal.request_id.get(),
            steps=[{"step": "move", "source": source, "target": target, "becomes": becomes}],
            effects=[asdict(effect) for effect in effects],
            created_at=seams.now(),
        )


def close_move(operation: Operation, data: DataFolder) -> None:
    """The journal, the projection of a bank that is active now, then the bank's row.

    Each part can be repeated: a process may die between them.
    """
    bank, now = operation.bank, seams.now()
    effects = [Effect(**effect) for effect in operation.effects]
    if effects:
        with transaction.atomic():
            journal.record(bank, effects, actor=operation.actor, at=now, operation=operation)
            operation.effects = []
            operation.save(update_fields=["effects"])
    becomes = operation.steps[0]["becomes"]
    if becomes["state"] == Bank.State.ACTIVE:
        project_all(bank, data.bank(becomes["name"]), actor=operation.actor)

    def write_rows() -> None:
        for field, value in becomes.items():
            setattr(bank, field, value)
        bank.save(update_fields=list(becomes))

    operations.close(bank, operation, [], write_rows, now=now)


def project_all(bank: Bank, folder: BankFolder, *, actor: str) -> None:
    """Rows and journal of all files of a folder, one file a transaction, so that a large bank
    does not keep every other writer waiting."""
    known = SourceFile.objects.filter(bank=bank).values_list("path", flat=True)
    seen = [path for path in folder.look() if not tree.is_router(path)]
    for path in sorted({*known, *seen}):
        result = surveys.take(bank, folder, [path])
        with transaction.atomic():
            deltas = projection.write(bank, result, missing={}, look_again={})
            effects = projection.found_on_disk(d for d in deltas if d.target != "bank")
            if effects:
                journal.record(bank, effects, actor=actor, at=seams.now())


def is_moving(bank: Bank) -> bool:
    """Whether somebody renames the bank's folder right now, or was killed while at it."""
    pending = Operation.objects.filter(bank=bank, state=Operation.State.PENDING)
    return pending.filter(act__in=operations.MOVES).exists()


def heal() -> int:
    """End the moves that somebody left behind; how many. Busy data folder: the next look does."""
    pending = Operation.objects.filter(
        state=Operation.State.PENDING, act__in=operations.MOVES
    ).select_related("bank")
    if not pending.exists():
        return 0
    data = seams.data_folder()
    try:
        with data.lock(0):
            return sum(_end(operation, data) for operation in pending.order_by("pk"))
    except LockTimeout:
        return 0


def _end(operation: Operation, data: DataFolder) -> int:
    step = operation.steps[0]
    if _is_there(data, step["target"]) and not _is_there(data, step["source"]):
        data.sync()
        close_move(operation, data)
        return 1
    operations.drop(operation)
    if step["source"].startswith(STAGE_PREFIX):
        data.discard_stage(step["source"].removeprefix(STAGE_PREFIX))
        operation.bank.delete()
    return 1


def _is_there(data: DataFolder, location: str) -> bool:
    """Whether a folder is there: a bank's, a staged one's or one in the trash."""
    if location.startswith(f"{TRASH}/"):
        return location.removeprefix(f"{TRASH}/") in data.trashed()
    if location.startswith(STAGE_PREFIX):
        return location.removeprefix(STAGE_PREFIX) in data.staged()
    return data.bank(location).exists()
