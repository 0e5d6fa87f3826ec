"""A process dies in the middle of an operation; whoever comes next ends it or drops it."""

import base64
import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from django.conf import settings

from banks import errors, queries, revisions, seams, sync
from banks.models import Change, Entry, Operation
from banks.operations import Idempotency
from banks.services import banks, entries, rules
from banks.services.drafts import Draft, Patch
from banks.store import parse
from banks.store.disk import Disk
from tests.builders import World, save


class Killed(BaseException):
    """The process is gone. No handler of the product may see it."""


CALLS = ("open", "write", "fsync", "fdatasync", "ftruncate", "rename", "unlink", "mkdir", "fstat")


class DyingDisk(Disk):
    """Dies before its n-th call of those that matter; `seen` counts them."""

    def __init__(self, at: int) -> None:
        self.at, self.seen = at, 0

    def __getattribute__(self, name: str) -> object:
        method = super().__getattribute__(name)
        if name not in CALLS:
            return method

        def call(*args: object, **kwargs: object) -> object:
            self.seen += 1
            if self.seen == self.at:
                raise Killed
            return method(*args, **kwargs)  # type: ignore[operator]

        return call


def facts(world: World) -> Path:
    return Path(settings.DATA_DIR) / world.bank.name / "semantic_memory" / "facts.md"


@contextmanager
def dying(at: int) -> Iterator[DyingDisk]:
    disk = DyingDisk(at)
    with seams.replaced(disk=disk):
        yield disk


def _update(world: World) -> None:
    key = Entry.objects.get(text="Pump 1 is blue").entry_id
    entries.update(world.editor, world.bank, key, Patch(text="Pump 1 is teal"))


def _supersede(world: World) -> None:
    keys = dict(Entry.objects.values_list("text", "entry_id"))
    entries.supersede(world.editor, world.bank, keys["Pump 1 is blue"], keys["Name the pump"])


def _save(world: World) -> None:
    entries.save(world.editor, world.bank, Draft(text="Pump 2 is red"))


def _set_rule(world: World) -> None:
    rules.set_rule(world.maintainer, world.bank, "style", "Be brief.\n")


def _many(world: World) -> None:
    drafts = [Draft(text=f"Valve {n} is open") for n in range(5)]
    entries.save_many(world.editor, world.bank, drafts)


ACTS: dict[str, tuple[Callable[[World], None], int]] = {
    "save": (_save, 1),
    "save many": (_many, 5),
    "update": (_update, 1),
    "supersede": (_supersede, 2),
    "set rule": (_set_rule, 1),
}


def _assert_whole(world: World) -> None:
    assert not Operation.objects.filter(state="pending").exists()
    rows = Entry.objects.filter(bank=world.bank)
    on_disk = {
        parse.version(data[span.start : span.end])
        for path in (Path(settings.DATA_DIR) / world.bank.name).rglob("*.md")
        for data in [path.read_bytes()]
        for span in parse.spans(data)
    }
    assert on_disk == set(rows.values_list("version", flat=True))
    assert not list(Path(settings.DATA_DIR).rglob(".mc-tmp-*"))


@pytest.mark.wide
@pytest.mark.parametrize("name", ACTS)
def test_death_at_any_call_leaves_all_or_nothing(world: World, name: str) -> None:
    act, count = ACTS[name]
    save(world, "Pump 1 is blue")
    save(world, "Name the pump", category="rules")
    at, outcomes = 0, set()
    while True:
        at += 1
        head = Change.objects.filter(bank=world.bank).count()
        with dying(at) as disk, suppress(Killed):
            act(world)
        if disk.seen < at:
            break
        sync.reload(world.bank)
        _assert_whole(world)
        done = Change.objects.filter(bank=world.bank).count() - head
        assert done in (0, count)
        outcomes.add(done)
        if done:
            break
    assert 0 in outcomes


def test_a_retry_after_the_kill_gets_the_first_answer(world: World) -> None:
    key = Idempotency("owner", "key-1", "body")
    draft = Draft(text="Pump 2 is red")
    at = 0
    while not Entry.objects.filter(text="Pump 2 is red").exists():
        at += 1
        with dying(at), suppress(Killed):
            entries.save(world.editor, world.bank, draft, idempotency=key)
        if Operation.objects.filter(state="pending").exists():
            first = Operation.objects.get(state="pending")
            told = entries.save(world.editor, world.bank, draft, idempotency=key)
            assert told.created
            assert facts(world).read_bytes().count(b"Pump 2 is red") == 2  # summary and text
            was_kept = Operation.objects.get(pk=first.pk).state == "done"
            assert not was_kept or told.memory.id == first.answer["memory"]["id"]
    again = entries.save(world.editor, world.bank, draft, idempotency=key)
    assert again.created
    assert again.memory.corroboration == 0


def _pending_append(world: World, on_disk: Callable[[bytes, bytes], bytes]) -> str:
    """Leave a save behind whose bytes are on disk as `on_disk(before, added)` says; its id."""
    before = facts(world).read_bytes()
    save(world, "Pump 2 is red")
    after = facts(world).read_bytes()
    facts(world).write_bytes(before)
    Entry.objects.filter(text="Pump 2 is red").delete()
    change = Change.objects.filter(bank=world.bank).order_by("-seq")[0]
    operation = Operation.objects.get(pk=change.operation_id)
    key = change.key
    change.delete()
    world.bank.head -= 1
    world.bank.save(update_fields=["head"])
    block = after[len(before) :]
    operation.state = "pending"
    operation.steps = [
        {
            "step": "append",
            "path": "semantic_memory/facts.md",
            "offset": len(before),
            "crlf": False,
            "blocks": [[key, _pack(block.strip(b"\n"))]],
        }
    ]
    operation.effects = [
        {"action": "created", "target": "entry", "key": key, "before": "", "after": "x",
         "reason": "", "observation": ""}
    ]  # fmt: skip
    operation.save()
    facts(world).write_bytes(on_disk(before, block))
    return key


def _pack(data: bytes) -> str:
    return base64.b64encode(data).decode()


def test_a_torn_end_is_cut_out_and_the_save_dropped(world: World) -> None:
    before = facts(world).read_bytes()
    for length in (1, 3, 12, 60):
        _pending_append(world, lambda old, new, n=length: old + new[:n])
        sync.reload(world.bank)
        assert facts(world).read_bytes() == before
        assert queries.list_memories(world.bank, queries.Filters()).total == 0


def test_zeros_of_a_torn_write_are_cut_out_too(world: World) -> None:
    before = facts(world).read_bytes()
    _pending_append(world, lambda old, new: old + new[:40] + bytes(80))
    sync.reload(world.bank)
    assert facts(world).read_bytes() == before


def test_a_whole_block_on_disk_is_kept_and_journalled_as_that_save(world: World) -> None:
    key = _pending_append(world, lambda old, new: old + new)
    sync.reload(world.bank)
    assert queries.memory(world.bank, key).text == "Pump 2 is red"
    change = Change.objects.get(bank=world.bank, key=key)
    assert (change.action, change.actor) == ("created", "user:editor")


def test_bytes_that_somebody_added_after_a_torn_part_stay(world: World) -> None:
    theirs = (
        b"\n---\nid: m1\ncreated: 2026-01-02\ncategory: facts\nsummary: Theirs\n---\n\nTheirs\n"
    )
    before = facts(world).read_bytes()
    _pending_append(world, lambda old, new: old + new[:60] + theirs)
    sync.reload(world.bank)
    assert facts(world).read_bytes() == before + theirs
    assert queries.memory(world.bank, "m1").text == "Theirs"


def test_a_torn_part_is_found_where_somebody_moved_it(world: World) -> None:
    before = facts(world).read_bytes()
    _pending_append(world, lambda old, new: b"# New head line\n" + old + new[:70])
    sync.reload(world.bank)
    assert facts(world).read_bytes().strip() == (b"# New head line\n" + before).strip()


def test_a_block_that_a_person_changed_meanwhile_is_theirs(world: World) -> None:
    key = _pending_append(world, lambda old, new: old + new.replace(b"is red", b"is pink"))
    sync.reload(world.bank)
    assert queries.memory(world.bank, key).text == "Pump 2 is pink"
    assert facts(world).read_bytes().count(key.encode()) == 1


@pytest.mark.parametrize("errno_name", ["ENOSPC", "EIO", "EDQUOT", "EROFS"])
@pytest.mark.parametrize("name", ["save", "update", "supersede", "set rule"])
# field case A03
@pytest.mark.wide
def test_a_disk_that_refuses_leaves_every_file_as_it_was(
    world: World, name: str, errno_name: str
) -> None:
    save(world, "Pump 1 is blue")
    save(world, "Name the pump", category="rules")
    act, count = ACTS[name]
    head = Change.objects.filter(bank=world.bank).count()
    before = _files()

    class FullDisk(Disk):
        def write(self, fd: int, data: bytes) -> int:
            raise OSError(getattr(errno, errno_name), "refused")

    with seams.replaced(disk=FullDisk()), pytest.raises(errors.StoreFault) as caught:
        act(world)
    assert str(settings.DATA_DIR) not in caught.value.message
    assert _files() == before
    assert Change.objects.filter(bank=world.bank).count() == head
    assert queries.list_memories(world.bank, queries.Filters()).total == 2
    act(world)
    assert Change.objects.filter(bank=world.bank).count() == head + count
    _assert_whole(world)


def _files() -> dict[str, bytes]:
    root = Path(settings.DATA_DIR)
    return {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_a_left_over_history_record_is_no_state_of_the_memory(world: World) -> None:
    saved = save(world, "Pump 1 is blue").memory

    class NoReplace(Disk):
        def rename(self, old: str, new: str, *, old_dir_fd: int, new_dir_fd: int) -> None:
            raise Killed

    with seams.replaced(disk=NoReplace()), pytest.raises(Killed):
        entries.pin(world.editor, world.bank, saved.id, pinned=True)
    log = Path(settings.DATA_DIR) / "ops" / ".history" / f"{saved.id}.log"
    Operation.objects.filter(state="pending").update(state="dropped", steps=[])
    assert log.read_bytes()
    assert [each.act for each in revisions.of_entry(world.bank, saved.id)] == ["created"]
    entries.pin(world.editor, world.bank, saved.id, pinned=True)
    assert [each.act for each in revisions.of_entry(world.bank, saved.id)] == ["pinned", "created"]


@pytest.mark.wide
@pytest.mark.parametrize("at", range(1, 40))
def test_a_bank_that_dies_while_it_is_made_is_there_or_not(world: World, at: int) -> None:
    with dying(at * 3), suppress(Killed):
        banks.create(world.admin, "new")
    sync.look_at_all()
    names = [each.name for each in queries.summaries(world.admin)]
    assert ("new" in names) == (Path(settings.DATA_DIR) / "new").exists()
    assert not list(Path(settings.DATA_DIR).glob(".import-*"))
    bank, _ = banks.create(world.admin, "new")
    assert entries.save(world.admin, bank, Draft(text="Pump 2 is red")).created


def _trash(world: World) -> None:
    banks.trash(world.owner, world.bank)


def _restore(world: World) -> None:
    banks.restore(world.owner, "ops")


def _rename(world: World) -> None:
    banks.rename(world.owner, world.bank, "other")


@pytest.mark.parametrize("name", ["trash", "restore", "rename"])
def test_a_move_that_dies_anywhere_is_done_or_not(world: World, name: str) -> None:
    act = {"trash": _trash, "restore": _restore, "rename": _rename}[name]
    saved = save(world, "Pump 1 is blue").memory
    if name == "restore":
        _trash(world)
    at, outcomes = 0, set[str]()
    while True:
        at += 1
        world.bank.refresh_from_db()
        before = (world.bank.name, world.bank.state)
        with dying(at) as disk, suppress(Killed):
            act(world)
        if disk.seen < at:
            break
        sync.look_at_all()
        world.bank.refresh_from_db()
        assert not Operation.objects.filter(state="pending").exists()
        assert not world.bank.hold
        folders = {path.name for path in Path(settings.DATA_DIR).iterdir()} - {".trash"}
        assert folders == ({world.bank.name} if world.bank.state == "active" else set())
        assert queries.memory(world.bank, saved.id).text == "Pump 1 is blue"
        if (world.bank.name, world.bank.state) != before:
            outcomes.add("done")
            break
        outcomes.add("not done")
    assert "not done" in outcomes
