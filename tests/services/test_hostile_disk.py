"""Somebody else's hands are everywhere: links for files, vanished files, refused syncs, races."""

import errno
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.conf import settings

from banks import doctor, errors, queries, revisions, seams, sync
from banks.access import Role, Scope
from banks.models import Bank, Entry, Operation
from banks.services import banks, entries, open_bank, rules
from banks.services.drafts import Draft, Patch
from banks.steps import Log
from banks.store.disk import Disk
from banks.store.errors import FileChanged
from banks.store.types import Category
from recall import services as recall_services
from tests.builders import World, save
from tests.disks import UnsyncedDisk

FACTS = "semantic_memory/facts.md"


def place(world: World, path: str = FACTS) -> Path:
    return Path(settings.DATA_DIR) / world.bank.name / path


def later(world: World, seconds: float) -> None:
    moment = datetime.now(UTC) + timedelta(seconds=seconds)
    with seams.replaced(now=lambda: moment):
        sync.look(world.bank, force=True)


class RefusingDisk(Disk):
    """Refuses every write, as a full disk does."""

    def write(self, fd: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "full")


class ChangingDisk(Disk):
    """Somebody renames another file over ours between our look and our write."""

    def write(self, fd: int, data: bytes) -> int:
        raise FileChanged("changed", stage="before")


@pytest.mark.parametrize("disk", [RefusingDisk(), ChangingDisk()])
def test_a_block_that_cannot_be_put_back_now_is_put_back_later(world: World, disk: Disk) -> None:
    older = place(world).read_bytes()
    saved = save(world, "Pump 1 is blue").memory
    place(world).write_bytes(older)
    later(world, 3)
    with seams.replaced(disk=disk):
        later(world, 5)
    assert Entry.objects.filter(entry_id=saved.id).exists()
    later(world, 7)
    assert saved.id.encode() in place(world).read_bytes()
    assert queries.memory(world.bank, saved.id).text == saved.text


def test_a_restore_that_finds_no_folder_leaves_nothing_behind(world: World) -> None:
    gone, _ = banks.create(world.admin, "gone")
    banks.trash(world.admin, gone)
    shutil.rmtree(Path(settings.DATA_DIR) / ".trash")
    with pytest.raises(errors.TrashNotFound):
        banks.restore(world.admin, "gone")
    banks.rename(world.admin, world.bank, "gone")
    sync.look_at_all()
    assert [each.name for each in queries.summaries(world.admin)] == ["gone"]
    assert not Operation.objects.filter(state="pending").exists()


def test_a_move_left_behind_never_takes_another_banks_folder(world: World) -> None:
    gone, _ = banks.create(world.admin, "gone")
    banks.trash(world.admin, gone)
    gone.refresh_from_db()
    step = {
        "step": "move",
        "source": banks.trash_path(gone),
        "target": "ops",
        "becomes": {"name": "ops", "state": "active", "trashed_to": ""},
    }
    Operation.objects.create(
        uid="x", bank=gone, act="bank restored", actor="t", steps=[step], created_at=seams.now()
    )
    shutil.rmtree(Path(settings.DATA_DIR) / ".trash")
    sync.look_at_all()
    assert [each.name for each in queries.summaries(world.admin)] == ["ops"]
    assert Operation.objects.get(uid="x").state == "dropped"


def _link(path: Path) -> None:
    elsewhere = path.parent.parent.parent / "elsewhere"
    if path.exists():
        path.rename(elsewhere)
    else:
        elsewhere.write_text("x")
    path.symlink_to(elsewhere)


def _folder(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
        path.write_text("x")
        return
    path.unlink(missing_ok=True)
    path.mkdir()


def _pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


FOLDERS = ("semantic_memory", ".history", "rules")
FILES = (FACTS, "rules/style.md")


@pytest.mark.parametrize(
    ("path", "put"),
    [
        *((path, put) for path in FILES for put in (_link, _folder, _pipe)),
        *((path, put) for path in FOLDERS for put in (_link, _folder)),
    ],
)
# field case A23
@pytest.mark.wide
def test_what_stands_in_the_place_of_a_file_stops_one_write_and_no_other_bank(
    world: World, path: str, put: Callable[[Path], None]
) -> None:
    saved = save(world, "Pump 1 is blue").memory
    other, _ = banks.create(world.admin, "other")
    put(place(world, path))
    for act in (
        lambda: save(world, "Pump 2 is red"),
        lambda: entries.pin(world.editor, world.bank, saved.id, pinned=True),
        lambda: rules.set_rule(world.maintainer, world.bank, "style", "Be brief."),
    ):
        with suppress(errors.Unavailable, errors.MemoryNotFound):
            act()
    sync.look_at_all()
    open_bank(world.viewer, "ops", Role.VIEWER, Scope.MEMORY_READ)
    assert not Operation.objects.filter(state__in=("pending", "refused")).exists()
    assert entries.save(world.admin, other, Draft(text="Kiln 4 is hot")).created
    assert len(queries.summaries(world.admin)) == 2
    assert doctor.checks()


def test_a_refused_edit_is_taken_back_however_full_the_disk_is(world: World) -> None:
    saved = save(world, "Pump 1 is blue").memory
    entries.pin(world.editor, world.bank, saved.id, pinned=True)

    class LogsOnly(UnsyncedDisk):
        """Room for a line in the log, none for a new file; and the log cannot be cut now."""

        def rename(self, old: str, new: str, *, old_dir_fd: int, new_dir_fd: int) -> None:
            raise OSError(errno.ENOSPC, "full")

        def ftruncate(self, fd: int, size: int) -> None:
            raise OSError(errno.EIO, "no")

    log = place(world, f".history/{saved.id}.log")
    before = (place(world).read_bytes(), log.read_bytes())
    with seams.replaced(disk=LogsOnly()), pytest.raises(errors.StoreFault):
        entries.update(world.editor, world.bank, saved.id, Patch(text="Pump 1 is teal"))
    assert Operation.objects.filter(state="refused").count() == 1
    save(world, "Pump 2 is red")
    assert queries.memory(world.bank, saved.id).text == "Pump 1 is blue"
    assert place(world).read_bytes().startswith(before[0])
    assert log.read_bytes() == before[1]
    assert not Operation.objects.filter(state__in=("pending", "refused")).exists()


def test_the_first_record_of_a_history_is_taken_back_with_its_file(world: World) -> None:
    saved = save(world, "Pump 1 is blue").memory

    class NoRename(UnsyncedDisk):
        def rename(self, old: str, new: str, *, old_dir_fd: int, new_dir_fd: int) -> None:
            raise OSError(errno.ENOSPC, "full")

    with seams.replaced(disk=NoRename()), pytest.raises(errors.StoreFault):
        entries.pin(world.editor, world.bank, saved.id, pinned=True)
    assert not place(world, f".history/{saved.id}.log").exists()


@pytest.mark.wide
def test_a_write_is_the_one_that_sees_that_the_files_are_lost(world: World) -> None:
    drafts = [Draft(text=f"Valve {n} is open") for n in range(120)]
    entries.save_many(world.editor, world.bank, drafts)
    place(world).unlink()
    with pytest.raises(errors.BankOnHold):
        save(world, "Pump 1 is blue")
    assert not place(world).exists()
    assert queries.list_memories(world.bank, queries.Filters()).total == 120


def test_a_description_is_not_written_over_lost_settings(world: World) -> None:
    place(world, "bank.yaml").unlink()
    with pytest.raises(errors.BankOnHold):
        banks.describe(world.owner, world.bank, "The kiln hall")
    assert not place(world, "bank.yaml").exists()


def test_a_caller_that_waited_while_names_moved_writes_into_no_other_bank(world: World) -> None:
    banks.rename(world.owner, world.bank, "moved")
    fresh, _ = banks.create(world.admin, "ops")
    untouched = (Path(settings.DATA_DIR) / "ops" / FACTS).read_bytes()
    draft = Draft(text="Pump 1 is blue")
    for act in (
        lambda bank: entries.save(world.editor, bank, draft),
        lambda bank: banks.trash(world.owner, bank),
        lambda bank: banks.rename(world.owner, bank, "x"),
    ):
        stale = Bank.objects.get(pk=world.bank.pk)
        stale.name = "ops"
        with pytest.raises(errors.BankNotFound):
            act(stale)
    assert (Path(settings.DATA_DIR) / "ops" / FACTS).read_bytes() == untouched
    assert Bank.objects.get(pk=fresh.pk).state == "active"


def test_one_bank_that_cannot_be_read_hides_no_other(world: World) -> None:
    folder = Path(settings.DATA_DIR) / "aaa"
    shutil.copytree(place(world, "."), folder)
    os.utime(folder / FACTS, (2**33, 2**34))
    os.utime(folder / "bank.yaml", ns=(2**62, 2**63 - 1))
    sync.look_at_all()
    assert [each.name for each in queries.summaries(world.admin)] == ["aaa", "ops"]


def test_a_file_from_the_future_delays_no_write(world: World) -> None:
    save(world, "Pump 1 is blue")
    ahead = datetime.now(UTC).timestamp() + 86_400
    os.utime(place(world), (ahead, ahead))
    started = datetime.now(UTC)
    assert save(world, "Pump 2 is red").created
    assert datetime.now(UTC) - started < timedelta(seconds=1.5)


def _written_long_ago(path: Path, data: bytes) -> None:
    """A file that has settled: no write waits for it."""
    path.write_bytes(data)
    os.utime(path, (1_700_000_000, 1_700_000_000))


def test_a_rule_that_is_not_utf8_can_be_replaced_and_its_bytes_are_kept(world: World) -> None:
    _written_long_ago(place(world, "rules/style.md"), b"\xff\xfe broken")
    sync.reload(world.bank)
    assert rules.set_rule(world.maintainer, world.bank, "style", "Be brief.\n")
    assert queries.rule(world.bank, "style").content == "Be brief.\n"
    assert b"\xff\xfe broken" in place(world, ".history/rules/style.log").read_bytes()
    _written_long_ago(place(world, "rules/style.md"), b"\xff\xfe broken")
    sync.reload(world.bank)
    assert not rules.set_rule(world.maintainer, world.bank, "style", "")
    assert not place(world, "rules/style.md").exists()


def test_a_rule_keeps_its_byte_order_mark(world: World) -> None:
    path = place(world, "rules/style.md")
    path.write_bytes(b"\xef\xbb\xbfBe brief.\n")
    sync.reload(world.bank)
    assert queries.rule(world.bank, "style").content == "Be brief.\n"
    rules.set_rule(world.maintainer, world.bank, "style", "Be kind.\n")
    assert path.read_bytes() == b"\xef\xbb\xbfBe kind.\n"
    assert b"\xef\xbb\xbfBe brief.\n" in place(world, ".history/rules/style.log").read_bytes()


def test_a_file_that_a_person_numbered_is_no_shard(world: World) -> None:
    place(world, "semantic_memory/facts-2024.md").write_text("# Facts of 2024\n")
    sync.reload(world.bank)
    assert save(world, "Pump 1 is blue").memory.path == FACTS


def test_recall_knows_an_index_that_was_deleted_and_made_anew(world: World) -> None:
    def recalled() -> list[str]:
        found = recall_services.recall(world.viewer, world.bank, "kiln purge")
        return [hit.memory.text for hit in found.memories]

    save(world, "Kiln 4 needs a purge")
    assert recalled() == ["Kiln 4 needs a purge"]
    shutil.rmtree(settings.STATE_DIR / "index")
    save(world, "Kiln 5 needs a purge")
    assert sorted(recalled()) == ["Kiln 4 needs a purge", "Kiln 5 needs a purge"]


def test_history_of_a_memory_under_a_blocked_log_is_an_error_that_says_where(world: World) -> None:
    saved = save(world, "Pump 1 is blue").memory
    place(world, f".history/{saved.id}.log").mkdir(parents=True)
    with pytest.raises(errors.PathBlocked) as caught:
        entries.pin(world.editor, world.bank, saved.id, pinned=True)
    assert ".history" in caught.value.message
    with pytest.raises(errors.PathBlocked):
        revisions.of_entry(world.bank, saved.id)


class FullAfter(UnsyncedDisk):
    """Takes so many writes, then refuses them: also those that would take others back."""

    def __init__(self, writes: int) -> None:
        self.left = writes

    def write(self, fd: int, data: bytes) -> int:
        if not self.left:
            raise OSError(errno.ENOSPC, "full")
        self.left -= 1
        return super().write(fd, data)


def _refused_pair(world: World) -> tuple[str, str]:
    """A supersession over two files that the disk refused in its second file; both ids."""
    old = save(world, "Pump 1 is blue").memory.id
    new = save(world, "Name the pump", category="preferences").memory.id
    # Both histories and the first file are written, the second file is refused.
    with seams.replaced(disk=FullAfter(3)), pytest.raises(errors.StoreFault):
        entries.supersede(world.editor, world.bank, old, new)
    assert Operation.objects.filter(state="refused").exists()
    return old, new


def _apart(world: World, old: str, new: str) -> bool:
    sync.reload(world.bank)
    one, two = queries.memory(world.bank, old), queries.memory(world.bank, new)
    return (one.invalid_at, one.superseded_by, two.supersedes) == (None, None, None)


def test_a_refused_bulk_over_two_files_leaves_nothing(world: World) -> None:
    before = place(world).read_bytes()
    drafts = [
        Draft(text="Pump 1 is blue"),
        Draft(text="Name the pump", category=Category.PREFERENCES),
    ]
    with seams.replaced(disk=FullAfter(1)), pytest.raises(errors.StoreFault):
        entries.save_many(world.editor, world.bank, drafts)
    sync.reload(world.bank)
    assert queries.list_memories(world.bank, queries.Filters()).total == 0
    assert place(world).read_bytes() == before
    assert not Operation.objects.filter(state__in=("pending", "refused")).exists()


def test_a_refused_supersession_is_taken_back_whatever_moved_meanwhile(world: World) -> None:
    old, new = _refused_pair(world)
    text = place(world).read_text()
    block = "---\nid: m1\ncreated: 2026-01-02\ncategory: facts\nsummary: First\n---\n\nFirst\n\n"
    at = text.index("---\nid:")
    place(world).write_text(text[:at] + block + text[at:])
    assert _apart(world, old, new)
    assert queries.memory(world.bank, "m1").text == "First"
    assert not Operation.objects.filter(state__in=("pending", "refused")).exists()


def test_a_refused_operation_without_its_history_stops_nobody(world: World) -> None:
    _refused_pair(world)
    shutil.rmtree(place(world, ".history"))
    sync.reload(world.bank)
    assert save(world, "Pump 3 is green").created
    assert not Operation.objects.filter(state__in=("pending", "refused")).exists()


def test_a_record_that_others_followed_is_not_cut(world: World) -> None:
    log = Log(".history/m1.log", None, b"one\n")
    with seams.data_folder().bank("ops").lock(0) as locked:
        locked.append(".history/m1.log", b"one\ntwo\n", offset=0)
        log.undo(locked)
        assert locked.history(".history/m1.log") == b"one\ntwo\n"


def test_a_look_with_an_old_name_sees_no_other_bank(world: World) -> None:
    save(world, "Pump 1 is blue")
    banks.rename(world.owner, world.bank, "moved")
    other, _ = banks.create(world.admin, "ops")
    entries.save(world.admin, other, Draft(text="Of the other bank"))
    before = (Path(settings.DATA_DIR) / "ops" / FACTS).read_bytes()
    for seconds in (3, 6, 9):
        stale = Bank.objects.get(pk=world.bank.pk)
        stale.name = "ops"
        with suppress(errors.BankNotFound):
            later_of(stale, seconds)
    stale.name = "ops"
    with pytest.raises(errors.BankNotFound):
        sync.reload(stale)
    moved = Bank.objects.get(pk=world.bank.pk)
    assert (moved.hold, [row.text for row in moved.entries.all()]) == ("", ["Pump 1 is blue"])
    assert (Path(settings.DATA_DIR) / "ops" / FACTS).read_bytes() == before


def later_of(bank: Bank, seconds: float) -> None:
    moment = datetime.now(UTC) + timedelta(seconds=seconds)
    with seams.replaced(now=lambda: moment):
        sync.look(bank, force=True)


def test_a_link_in_place_of_one_file_hides_no_other_hand_edit(world: World) -> None:
    saved = save(world, "Pump 1 is blue").memory
    _link(place(world))
    place(world, "rules/style.md").write_text("Be brief.\n")
    for seconds in (3, 5, 8):
        later(world, seconds)
    assert queries.rule(world.bank, "style").content == "Be brief.\n"
    assert Entry.objects.filter(entry_id=saved.id).exists()
    with seams.replaced(now=lambda: datetime.now(UTC) + timedelta(minutes=5)):
        assert [(each.path, each.code) for each in doctor.stale_rows(world.bank)] == [
            (FACTS, "unreachable")
        ]
    place(world).unlink()
    (Path(settings.DATA_DIR) / "elsewhere").rename(place(world))
    later(world, 11)
    assert queries.memory(world.bank, saved.id) == saved
