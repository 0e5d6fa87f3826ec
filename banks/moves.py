"""Operations whose one step is the rename of a bank's folder: create, trash, restore, rename.

They are made under the lock of the data folder. What such an operation does to the bank's row is in
its step, so that whoever heals it needs nothing else.
"""

import logging
import uuid
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from django.db import DatabaseError, transaction
from django.db.models import QuerySet

from banks import errors, journal, operations, projection, seams, surveys
from banks.journal import Effect
from banks.models import Bank, Operation, SourceFile
from banks.store import tree
from banks.store.errors import LockTimeout, StoreError
from banks.store.files import STAGE_PREFIX, BankFolder, DataFolder

PORTION_BYTES = 1_000_000

logger = logging.getLogger(__name__)


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
            steps=[
                {
                    "step": "move",
                    "source": source,
                    "target": target,
                    "becomes": becomes,
                }
            ],
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
        for field, value in {**becomes, "hold": ""}.items():
            setattr(bank, field, value)
        bank.save(update_fields=[*becomes, "hold"])

    operations.close(bank, operation, [], write_rows, now=now)


def project_all(bank: Bank, folder: BankFolder, *, actor: str) -> None:
    """Rows and journal of all files of a folder, a megabyte of them a transaction, so that a large
    bank does not keep every other writer waiting."""
    sizes = dict.fromkeys(SourceFile.objects.filter(bank=bank).values_list("path", flat=True), 0)
    sizes |= {path: seen.size for path, seen in folder.look().items() if not tree.is_router(path)}
    for paths in _portions(sizes):
        result = surveys.take(bank, folder, paths)
        with transaction.atomic():
            deltas = projection.write(bank, result, missing={}, look_again={})
            effects = projection.found_on_disk(d for d in deltas if d.target != "bank")
            if effects:
                journal.record(bank, effects, actor=actor, at=seams.now())


def _portions(sizes: dict[str, int]) -> Iterator[list[str]]:
    """The paths in their order, in lists of files that are about a megabyte together."""
    portion: list[str] = []
    total = 0
    for path in sorted(sizes):
        if portion and total + sizes[path] > PORTION_BYTES:
            yield portion
            portion, total = [], 0
        portion.append(path)
        total += sizes[path]
    if portion:
        yield portion


def is_moving(bank: Bank) -> bool:
    """Whether somebody renames the bank's folder right now, or was killed while at it."""
    return _pending().filter(bank=bank).exists()


def _pending() -> QuerySet[Operation]:
    return Operation.objects.filter(state=Operation.State.PENDING, act__in=operations.MOVES)


def heal() -> int:
    """End the moves that somebody left behind; how many. Busy data folder: the next look does."""
    if not _pending().exists():
        return 0
    data = seams.data_folder()
    try:
        with data.lock(0):
            return heal_locked(data)
    except LockTimeout:
        return 0


def heal_locked(data: DataFolder) -> int:
    """The same for one who holds the data folder's lock. One that fails stops no other."""
    ended = 0
    for operation in _pending().select_related("bank").order_by("pk"):
        try:
            _end(operation, data)
            ended += 1
        except (StoreError, DatabaseError, errors.DomainError):
            logger.exception("move not ended uid=%s", operation.uid)
    return ended


def _end(operation: Operation, data: DataFolder) -> None:
    step = operation.steps[0]
    is_moved = data.has(step["target"]) and not data.has(step["source"])
    if is_moved and not _is_anothers(operation):
        data.sync()
        close_move(operation, data)
    else:
        drop(operation, data)


def _is_anothers(operation: Operation) -> bool:
    """Whether the folder at the target belongs to another bank, which got that name meanwhile."""
    becomes = operation.steps[0]["becomes"]
    others = Bank.objects.exclude(pk=operation.bank_id)
    if becomes["state"] == Bank.State.TRASHED:
        return others.filter(trashed_to=becomes["trashed_to"]).exists()
    return others.filter(name=becomes["name"]).exclude(state=Bank.State.TRASHED).exists()


def drop(operation: Operation, data: DataFolder) -> None:
    """End a move of which nothing happened; a bank that was to be made goes with it."""
    source = operation.steps[0]["source"]
    if source.startswith(STAGE_PREFIX):
        data.discard_stage(source.removeprefix(STAGE_PREFIX))
        operation.bank.delete()
    else:
        operations.drop(operation)
