"""The enumerator finds what it should, and the store's own writes survive all of it.

Each scenario is also run with every single sync left out: one that is not missed by anybody
would mean that the enumerator, or the promise, is blind.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from banks.store.errors import DiskFault
from banks.store.files import DataFolder, LockedBank
from tests.crash.powerloss import (
    Event,
    Made,
    Mark,
    RecordingDisk,
    Removed,
    Renamed,
    State,
    Synced,
    Truncated,
    Written,
    states,
    syncs,
    without,
)

FACTS = "semantic_memory/facts.md"
OLD = b"# Facts\n"
NEW = b"The kiln needs two hours to cool.\n"
Promise = Callable[[State], bool]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "shop" / "semantic_memory"
    folder.mkdir(parents=True)
    (folder / "facts.md").write_bytes(OLD)
    return tmp_path / "data"


@pytest.fixture
def before(root: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(root, tmp_path / "before"))


@contextmanager
def _bank(root: Path, disk: RecordingDisk) -> Iterator[LockedBank]:
    with DataFolder(root, disk).bank("shop").lock(0) as bank:
        yield bank


def _assert_promise(trace: Sequence[Event], before: Path, promise: Promise) -> None:
    """It holds in every state, and with any one sync left out there is a state that breaks it."""
    assert all(map(promise, states(trace, before)))
    assert syncs(trace)
    for number in range(len(syncs(trace))):
        assert not all(map(promise, states(without(trace, number), before))), number


def _file(folder: str, name: str, node: str) -> Made:
    return Made(folder, name, node, is_folder=False)


def _folder(folder: str, name: str, node: str) -> Made:
    return Made(folder, name, node, is_folder=True)


def _contents(trace: Sequence[Event], before: Path, path: str) -> set[bytes | None]:
    return {state.files.get(path) for state in states(trace, before)}


def test_bytes_that_were_not_synced_are_there_absent_or_torn(before: Path) -> None:
    trace: list[Event] = [Written("shop/semantic_memory/facts.md", len(OLD), b"abcdef")]
    wanted = {OLD, OLD + b"a", OLD + b"abc", OLD + b"abcde", OLD + b"abcdef"}
    assert _contents(trace, before, f"shop/{FACTS}") == wanted


def test_bytes_that_were_synced_are_there(before: Path) -> None:
    node = "shop/semantic_memory/facts.md"
    trace: list[Event] = [Written(node, len(OLD), b"ab"), Synced(node, "fdatasync"), Mark("done")]
    after = [state for state in states(trace, before) if state.has("done")]
    assert [state.files[f"shop/{FACTS}"] for state in after] == [OLD + b"ab"]


def test_a_cut_that_was_not_synced_may_not_have_happened(before: Path) -> None:
    node = "shop/semantic_memory/facts.md"
    trace: list[Event] = [Written(node, len(OLD), b"a"), Truncated(node, len(OLD)), Mark("cut")]
    after = {s.files[f"shop/{FACTS}"] for s in states(trace, before) if s.has("cut")}
    assert after == {OLD, OLD + b"a"}


def test_names_survive_in_their_order_within_a_folder(before: Path) -> None:
    trace: list[Event] = [_file("shop", "a", "#1"), _file("shop", "b", "#2")]
    found = {frozenset(s.files) - {f"shop/{FACTS}"} for s in states(trace, before)}
    assert found == {frozenset(), frozenset({"shop/a"}), frozenset({"shop/a", "shop/b"})}


def test_names_in_two_folders_survive_independently(before: Path) -> None:
    trace: list[Event] = [_file("shop", "a", "#1"), _file("shop/semantic_memory", "b", "#2")]
    found = {frozenset(s.files) - {f"shop/{FACTS}"} for s in states(trace, before)}
    assert frozenset({"shop/semantic_memory/b"}) in found
    assert len(found) == 4


def test_a_file_is_lost_with_the_folder_that_holds_it(before: Path) -> None:
    trace: list[Event] = [_folder("shop", "a", "#1"), _file("#1", "b", "#2"), Synced("#1", "fsync")]
    assert any("shop/a" not in s.folders for s in states(trace, before))
    assert any("shop/a/b" in s.files for s in states(trace, before))


def test_a_file_can_be_there_without_its_bytes(before: Path) -> None:
    trace: list[Event] = [
        _file("shop", "a", "#1"),
        Written("#1", 0, b"xy"),
        Synced("shop", "fsync"),
    ]
    assert _contents(trace, before, "shop/a") == {None, b"", b"x", b"xy"}


def test_a_rename_is_whole_or_absent_and_waits_for_both_folders(before: Path) -> None:
    trace: list[Event] = [
        Renamed("shop/semantic_memory", "facts.md", "shop", "moved.md"),
        Synced("shop", "fsync"),
        Mark("one"),
        Synced("shop/semantic_memory", "fsync"),
        Mark("two"),
    ]
    for state in states(trace, before):
        assert len(state.files) == 1
    assert any(f"shop/{FACTS}" in s.files for s in states(trace, before) if s.has("one"))
    assert all("shop/moved.md" in s.files for s in states(trace, before) if s.has("two"))


def test_a_file_that_was_never_moved_in_cannot_be_moved_on(before: Path) -> None:
    trace: list[Event] = [
        Renamed("shop/semantic_memory", "facts.md", "shop", "a"),
        Synced("shop", "fsync"),
        Renamed("shop", "a", "shop", "b"),
        Synced("shop", "fsync"),
    ]
    assert {frozenset(s.files) for s in states(trace, before)} == {
        frozenset({f"shop/{FACTS}"}),
        frozenset({"shop/a"}),
        frozenset({"shop/b"}),
    }


def test_a_removed_name_comes_back_until_its_folder_is_synced(before: Path) -> None:
    trace: list[Event] = [Removed("shop/semantic_memory", "facts.md"), Mark("gone")]
    after = [s for s in states(trace, before) if s.has("gone")]
    assert {len(s.files) for s in after} == {0, 1}
    trace.insert(1, Synced("shop/semantic_memory", "fsync"))
    assert [len(s.files) for s in states(trace, before) if s.has("gone")] == [0]


def test_each_state_is_given_once_and_tells_its_marks(before: Path) -> None:
    trace: list[Event] = [Mark("commit", 1), Mark("commit", 2)]
    found = list(states(trace, before))
    assert [s.payloads("commit") for s in found] == [[], [1], [1, 2]]


def test_a_sync_is_left_out_by_number_and_kind() -> None:
    trace: list[Event] = [Synced("a", "fsync"), Synced("b", "fdatasync"), Synced("c", "fsync")]
    assert syncs(trace, "fsync") == [0, 2]
    assert without(trace, 1, "fsync") == trace[:2]
    assert without(trace, 0) == trace[1:]


def test_a_state_can_be_made_into_a_folder(before: Path, tmp_path: Path) -> None:
    trace: list[Event] = [_folder("shop", "a", "#1"), _file("#1", "b.md", "#2")]
    *_, last = states(trace, before)
    last.materialise(tmp_path / "disk")
    assert (tmp_path / "disk" / "shop" / FACTS).read_bytes() == OLD
    assert (tmp_path / "disk" / "shop" / "a" / "b.md").read_bytes() == b""


def test_the_whole_trace_without_power_loss_is_the_disk(root: Path, before: Path) -> None:
    disk = RecordingDisk(root)
    data = DataFolder(root, disk)
    with _bank(root, disk) as bank:
        bank.append(FACTS, NEW, offset=len(OLD))
        bank.append(".history/rules/tone.log", NEW, offset=None)
        bank.replace("rules/tone.md", NEW, expect=None)
        bank.remove("rules/tone.md", expect=bank.look()["rules/tone.md"])
    data.stage("op1")
    data.discard_stage("op1")
    data.restore(data.trash("shop", "day"), "shed")
    *_, last = states(disk.trace, before)
    there = {p.relative_to(root).as_posix(): p for p in root.rglob("*")}
    assert last.files == {path: p.read_bytes() for path, p in there.items() if p.is_file()}
    assert last.folders == {path for path, p in there.items() if p.is_dir()}


def test_an_acknowledged_append_is_there(root: Path, before: Path) -> None:
    disk = RecordingDisk(root)
    with _bank(root, disk) as bank:
        bank.append(FACTS, NEW, offset=len(OLD))
    disk.mark("acknowledged")

    def promise(state: State) -> bool:
        data = state.files[f"shop/{FACTS}"]
        return data.startswith(OLD) and (not state.has("acknowledged") or data == OLD + NEW)

    _assert_promise(disk.trace, before, promise)


def test_an_acknowledged_append_to_a_new_file_in_new_folders_is_there(
    root: Path, before: Path
) -> None:
    disk = RecordingDisk(root)
    path = "episodic_memory/events/2026-08.md"
    with _bank(root, disk) as bank:
        bank.append(path, NEW, offset=0)
    disk.mark("acknowledged")
    assert len(syncs(disk.trace)) == 4

    def promise(state: State) -> bool:
        return not state.has("acknowledged") or state.files.get(f"shop/{path}") == NEW

    _assert_promise(disk.trace, before, promise)


def test_an_acknowledged_replacement_is_there_and_no_file_is_ever_mixed(
    root: Path, before: Path
) -> None:
    disk = RecordingDisk(root)
    with _bank(root, disk) as bank:
        bank.replace(FACTS, NEW, expect=bank.look()[FACTS])
    disk.mark("acknowledged")

    def promise(state: State) -> bool:
        data = state.files.get(f"shop/{FACTS}")
        return data == NEW if state.has("acknowledged") else data in (OLD, NEW)

    _assert_promise(disk.trace, before, promise)


def test_an_acknowledged_removal_lasts(root: Path, before: Path) -> None:
    disk = RecordingDisk(root)
    with _bank(root, disk) as bank:
        bank.remove(FACTS, expect=bank.look()[FACTS])
    disk.mark("acknowledged")

    def promise(state: State) -> bool:
        return not (state.has("acknowledged") and f"shop/{FACTS}" in state.files)

    _assert_promise(disk.trace, before, promise)


@pytest.mark.parametrize("path", [FACTS, "semantic_memory/facts-2.md"])
def test_a_refused_append_of_which_the_fault_is_certain_leaves_nothing(
    root: Path, before: Path, path: str
) -> None:
    class Full(RecordingDisk):
        def write(self, fd: int, data: bytes) -> int:
            if len(data) < len(NEW):
                raise OSError(28, "full")
            return super().write(fd, data[:10])

    disk = Full(root)
    was = (before / "shop" / path).read_bytes() if path == FACTS else None
    with _bank(root, disk) as bank, pytest.raises(DiskFault) as caught:
        bank.append(path, NEW, offset=len(was or b""))
    assert caught.value.certain
    disk.mark("refused")

    def promise(state: State) -> bool:
        return not state.has("refused") or state.files.get(f"shop/{path}") == was

    _assert_promise(disk.trace, before, promise)


def test_a_bank_is_at_one_place_and_an_acknowledged_move_lasts(root: Path, before: Path) -> None:
    disk = RecordingDisk(root)
    data = DataFolder(root, disk)
    folder = data.trash("shop", "20261130T101500Z")
    disk.mark("trashed")
    data.restore(folder, "shed")
    disk.mark("restored")

    def promise(state: State) -> bool:
        place = "shop" if not state.has("trashed") else f".trash/{folder}"
        next_place = f".trash/{folder}" if not state.has("trashed") else "shed"
        places = {"shed"} if state.has("restored") else {place, next_place}
        found = [path.removesuffix(f"/{FACTS}") for path in state.files]
        return len(found) == 1 and found[0] in places

    _assert_promise(disk.trace, before, promise)


def test_a_published_bank_is_whole(root: Path, before: Path) -> None:
    disk = RecordingDisk(root)
    data = DataFolder(root, disk)
    with data.stage("op1").lock(0) as stage:
        stage.replace(FACTS, NEW, expect=None)
    data.publish("op1", "shed")
    disk.mark("acknowledged")
    whole = {f"shed/{FACTS}": NEW}

    def promise(state: State) -> bool:
        found = {path: data for path, data in state.files.items() if path.startswith("shed")}
        return found == whole or (not state.has("acknowledged") and not found)

    _assert_promise(disk.trace, before, promise)


@pytest.mark.parametrize("point", ["folder.made", "append.part", "append.created"])
def test_sync_makes_safe_what_a_killed_writer_left(root: Path, before: Path, point: str) -> None:
    class Killed(BaseException):
        pass

    class Dying(RecordingDisk):
        def failpoint(self, name: str) -> None:
            if name == point and not any(isinstance(e, Mark) for e in self.trace):
                raise Killed

    disk = Dying(root)
    path = "episodic_memory/events/2026-08.md"
    with suppress(Killed), _bank(root, disk) as bank:
        bank.append(path, NEW, offset=0)
    disk.mark("killed")
    with _bank(root, disk) as bank:
        if path not in bank.look():
            bank.append(path, NEW, offset=0)
        bank.sync(path)
    disk.mark("healed")
    for state in states(disk.trace, before):
        assert not state.has("healed") or state.files.get(f"shop/{path}") == NEW
