"""Banks themselves: create, describe, trash, restore, rename, ensure the tree."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from django.db import transaction

from banks import access, errors, locking, moves, seams, signals, sync
from banks.access import Principal, Role, Scope
from banks.journal import Effect
from banks.models import Bank, Change, Membership
from banks.operations import Plan, store_errors
from banks.services import drafts, open_bank
from banks.services.commit import Desk, folder_told, run
from banks.steps import Put, Step
from banks.store import edit, names, parse, redact, render, tree
from banks.store.errors import (
    DiskFault,
    FileMissing,
    FolderExists,
    FolderMoved,
    LockTimeout,
    NotAFile,
)
from banks.store.files import STAGE_PREFIX, TRASH, BankFolder, DataFolder

DESCRIPTION_LENGTH = 500
FORMAT = 1
LOST = "The data folder holds none of the banks: mount it, or put their folders back."


def create(principal: Principal, name: str, description: str = "") -> tuple[Bank, bool]:
    """The bank of this name and whether it was made now; an existing one is not changed.

    Its tree is made ready aside and appears in one step. The creator becomes its owner.
    Raises Forbidden (may not create), NameTaken (a bank the caller cannot see), Invalid, StoreFault
    (the data folder is lost: only the start of the server makes one).
    """
    if not principal.may_create_banks:
        raise errors.Forbidden("Creating banks needs an instance admin or banks:create.")
    with store_errors():
        _check_name(name)
        told = names.clean_line(redact.mask(description).text, "description", DESCRIPTION_LENGTH)
    data = seams.data_folder()
    sync.discover()
    with store_errors(), data.lock(sync.LOCK_TIMEOUT_S):
        existing = Bank.objects.filter(name=name).exclude(state=Bank.State.TRASHED).first()
        if existing is not None:
            if access.role_in(principal, existing) is None:
                raise errors.NameTaken
            return existing, False
        bank = make(principal, data, name, lambda folder, now: write_tree(folder, told, now))
    signals.changes_committed.send(Bank, bank_id=bank.pk, seq=bank.head)
    return bank, True


def _check_name(name: str) -> None:
    with store_errors():
        names.bank_name(name)
    drafts.refuse_secret(name)


def folder_trouble(data: DataFolder) -> str:
    """Why no bank can be made here, as a sentence; "" when one can.

    A folder that holds none of the banks that there are is taken for the place where a disk is not
    mounted: a bank that is made there is out of sight once it is.
    """
    return data.trouble() or _lost(data)


def refuse_trouble(data: DataFolder) -> None:
    """Raise StoreFault when no bank can be made here."""
    if trouble := folder_trouble(data):
        raise errors.StoreFault(f"{trouble} Nothing was changed.")


def _lost(data: DataFolder, but: str = "") -> str:
    known = set(Bank.objects.filter(state=Bank.State.ACTIVE).values_list("name", flat=True))
    known.discard(but)
    with store_errors():
        is_lost = bool(known) and known.isdisjoint(data.bank_names())
    return LOST if is_lost else ""


def make(
    principal: Principal,
    data: DataFolder,
    name: str,
    fill: Callable[[BankFolder, datetime], None],
) -> Bank:
    """A new bank whose folder `fill` makes ready aside, synced; it appears in one step.

    Call it with the data folder's lock held. Raises NameTaken, StoreFault (the folder is not that
    of the banks), and what `fill` raises: then the half-made bank goes with the next `moves.heal`.
    """
    refuse_trouble(data)
    now, uid = seams.now(), uuid.uuid4().hex
    effect = Effect(action=Change.Action.CREATED, target=Change.Target.BANK, key=name)
    with transaction.atomic():
        bank = Bank.objects.create(name=name, state=Bank.State.HIDDEN, created_at=now)
        if principal.user_id is not None:
            Membership.objects.create(bank=bank, user_id=principal.user_id, role=Role.OWNER)
        operation = moves.open_move(
            bank,
            "bank created",
            source=STAGE_PREFIX + uid,
            target=name,
            becomes={"name": name, "state": Bank.State.ACTIVE.value},
            effects=[effect],
            actor=principal.handle,
        )
    fill(data.stage(uid), now)
    try:
        data.publish(uid, name)
    except FolderExists as error:
        raise errors.NameTaken from error
    moves.close_move(operation, data)
    return bank


def write_tree(folder: BankFolder, description: str, now: datetime) -> None:
    """The seed tree and `bank.yaml` in an empty folder, synced."""
    with folder.lock(0) as locked:
        locked.make_folders(tree.SEED_FOLDERS)
        for path, text in tree.SEED_FILES.items():
            locked.replace(path, text.encode(), expect=None)
        locked.replace(tree.BANK_FILE, bank_file(description, now), expect=None)


def bank_file(description: str, now: datetime) -> bytes:
    """The `bank.yaml` of a new bank."""
    lines = [f"format: {FORMAT}", f"created: {render.time(now)}"]
    if description:
        lines.insert(1, f"description: {render.scalar(description)}")
    return ("\n".join(lines) + "\n").encode()


def open_or_create(principal: Principal, name: str, role: Role, scope: Scope) -> Bank:
    """The bank for a write that may make it: an absent one is created when the caller may.

    Raises BankNotFound when it may not; NameTaken for a caller who may, but cannot see it.
    """
    try:
        return open_bank(principal, name, role, scope)
    except errors.BankNotFound:
        if not principal.may_create_banks:
            raise
        bank, _ = create(principal, name)
        return bank


def describe(
    principal: Principal, bank: Bank, description: str, *, seen: str | None = None
) -> None:
    """Set the bank's description: one line of `bank.yaml`.

    `seen`: the description that the caller saw. Raises Invalid, StaleRevision.
    """
    with store_errors():
        told = names.clean_line(redact.mask(description).text, "description", DESCRIPTION_LENGTH)

    def planner(desk: Desk) -> Plan:
        desk.fresh(tree.BANK_FILE)
        desk.bank.refresh_from_db(fields=["description"])
        if seen is not None and seen != desk.bank.description:
            raise errors.StaleRevision(current=desk.bank.description)
        try:
            old, _ = desk.locked.read(tree.BANK_FILE)
        except FileMissing:
            old = b""
        data = edit.set_yaml_key(old, "description", render.scalar(told) if told else None)
        plan = Plan("describe", {})
        if data != old:
            before = parse.version(old) if old else ""
            plan.steps.append(Put(tree.BANK_FILE, before, data))
            plan.effects.append(
                Effect(
                    action=Change.Action.UPDATED,
                    target=Change.Target.BANK,
                    key=bank.name,
                    before=before,
                    after=parse.version(data),
                )
            )
        return plan

    run(bank, principal, planner)


def ensure(principal: Principal, bank: Bank) -> list[str]:
    """Create what is missing of the tree; the paths created. Existing files are not touched."""

    def planner(desk: Desk) -> Plan:
        missing: list[Step] = []
        for path, text in tree.SEED_FILES.items():
            try:
                desk.locked.tail(path, 0)
            except FileMissing:
                missing.append(Put(path, "", text.encode()))
        return Plan("ensure", {"created": [step.path for step in missing]}, missing)

    created: list[str] = run(bank, principal, planner)["created"]
    return created


@contextmanager
def _moving(
    principal: Principal, bank: Bank, act: str, action: str, **becomes: str
) -> Iterator[DataFolder]:
    """An operation whose one step is the rename of the bank's folder, done within the block.

    `becomes`: the fields of the bank's row afterwards. Holds the data folder's lock; raises
    NameTaken when there is a bank of the new name.
    """
    data = seams.data_folder()
    is_trashed = becomes["state"] == Bank.State.TRASHED
    with store_errors(), data.lock(sync.LOCK_TIMEOUT_S):
        moves.heal_locked(data)
        now = Bank.objects.get(pk=bank.pk)
        if (now.name, now.state, now.trashed_to) != (bank.name, bank.state, bank.trashed_to):
            # Somebody else moved it while we waited for the lock.
            raise errors.BankNotFound
        if not is_trashed:
            check_free(becomes["name"])
        operation = moves.open_move(
            bank,
            act,
            source=trash_path(bank) if bank.trashed_to else bank.name,
            target=f"{TRASH}/{becomes['trashed_to']}" if is_trashed else becomes["name"],
            becomes=becomes,
            effects=[Effect(action=action, target=Change.Target.BANK, key=becomes["name"])],
            actor=principal.handle,
        )
        try:
            yield data
        except FolderExists as error:
            moves.drop(operation, data)
            raise errors.NameTaken from error
        except (FolderMoved, NotAFile, LockTimeout, errors.DomainError):
            moves.drop(operation, data)
            raise
        except DiskFault as fault:
            if fault.certain:
                moves.drop(operation, data)
            raise
        moves.close_move(operation, data)
    bank.refresh_from_db()
    signals.changes_committed.send(Bank, bank_id=bank.pk, seq=bank.head)


def check_free(name: str) -> None:
    """Raise NameTaken when there is a bank of this name, whoever may see it."""
    if Bank.objects.filter(name=name).exclude(state=Bank.State.TRASHED).exists():
        raise errors.NameTaken


def trash(principal: Principal, bank: Bank) -> str:
    """Move the bank to the trash, from where it can be restored; its folder there, relative.

    A bank whose own folder is gone is deleted too: put where it is told, that can be restored once
    it turns up. Raises StoreFault when the folders of all other banks are gone with it.
    """
    stamp = _free_stamp(bank.name, seams.now().strftime("%Y%m%dT%H%M%SZ"))
    becomes = {
        "name": bank.name,
        "state": Bank.State.TRASHED.value,
        "trashed_to": f"{bank.name}-{stamp}",
    }
    with _moving(principal, bank, "bank trashed", Change.Action.TRASHED, **becomes) as data:
        if data.has(bank.name):
            with locking.locked(bank, sync.LOCK_TIMEOUT_S):
                data.trash(bank.name, stamp)
        elif trouble := _lost(data, but=bank.name):
            raise errors.StoreFault(f"{trouble} Nothing was changed.")
    return trash_path(bank)


def _free_stamp(name: str, stamp: str) -> str:
    """Two deletes of a name within a second get folders of their own."""
    taken, wanted, number = set(seams.data_folder().trashed()), stamp, 1
    while f"{name}-{wanted}" in taken:
        number += 1
        wanted = f"{stamp}-{number}"
    return wanted


def trash_path(bank: Bank) -> str:
    """Where a trashed bank lies, relative to the data folder."""
    return f"{TRASH}/{bank.trashed_to}"


def trashed(principal: Principal) -> list[Bank]:
    """The trashed banks that the caller owned, newest first."""
    banks = Bank.objects.filter(state=Bank.State.TRASHED).order_by("-trashed_to")
    return [bank for bank in banks if (access.role_in(principal, bank) or 0) >= Role.OWNER]


def restore(principal: Principal, name: str, folder: str | None = None) -> Bank:
    """Bring a trashed bank back under its name, members with it; the newest when no folder is
    named. Raises TrashNotFound, NameTaken."""
    for bank in trashed(principal):
        if bank.name == name and folder in (None, bank.trashed_to, trash_path(bank)):
            break
    else:
        raise errors.TrashNotFound
    becomes = {"name": name, "state": Bank.State.ACTIVE.value, "trashed_to": ""}
    folder = bank.trashed_to
    with _moving(principal, bank, "bank restored", Change.Action.RESTORED, **becomes) as data:
        if not data.has(trash_path(bank)):
            raise errors.TrashNotFound
        data.restore(folder, name)
    return bank


def rename(principal: Principal, bank: Bank, name: str) -> Bank:
    """Give the bank another name; ids, members, tokens and index stay.

    Raises NameTaken, of a bank that the caller cannot see too: names are those of the whole
    installation. Raises BankOnHold while the bank's folder is not there.
    """
    _check_name(name)
    becomes = {"name": name, "state": Bank.State.ACTIVE.value, "trashed_to": ""}
    with (
        folder_told(bank),
        _moving(principal, bank, "bank renamed", Change.Action.RENAMED, **becomes) as data,
        locking.locked(bank, sync.LOCK_TIMEOUT_S),
    ):
        data.rename(bank.name, name)
    return bank


def accept(bank: Bank) -> None:
    """Take the bank's files as they are, which ends its hold: memories that vanished are gone from
    the rows too, their last words stay in the history.

    Raises StoreBusy, BankNotFound, BankOnHold (its folder is not there), StoreFault.
    """
    with folder_told(bank):
        sync.reload(bank, accept=True)
