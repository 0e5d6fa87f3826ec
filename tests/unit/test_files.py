"""Reading, writing, locking and moving the folders of banks, on a real disk."""

import errno
import fcntl
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from banks.store.disk import LONGEST_NAP_S, NAME_BYTES, check_component
from banks.store.errors import (
    DiskFault,
    FileChanged,
    FileMissing,
    FolderExists,
    FolderMoved,
    InvalidName,
    LockTimeout,
    NotAFile,
    StoreError,
)
from banks.store.files import BankFolder, DataFolder, Disk, Fingerprint, LockedBank
from tests.disks import UnsyncedDisk

FACTS = "semantic_memory/facts.md"
OLD = b"# Facts\n"
NEW = b"Valve 7 opens to the left.\n"


@pytest.fixture
def data(tmp_path: Path) -> DataFolder:
    folder = DataFolder(tmp_path / "memory", UnsyncedDisk())
    shop = folder.root / "shop"
    (shop / "semantic_memory").mkdir(parents=True)
    (shop / FACTS).write_bytes(OLD)
    (shop / "bank.yaml").write_bytes(b"format: 1\n")
    return folder


@pytest.fixture
def shop(data: DataFolder) -> Path:
    return data.root / "shop"


@pytest.fixture
def bank(data: DataFolder) -> Iterator[LockedBank]:
    with data.bank("shop").lock(0) as locked:
        yield locked


def _with(data: DataFolder, disk: Disk) -> BankFolder:
    return DataFolder(data.root, disk).bank("shop")


def _listing(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# Names and paths


@pytest.mark.parametrize(
    "name",
    # field case A22, A47
    ["../escape", "a/../../x", "/etc/x", "..", ".", ".trash", "-rf", "", "A", "a" * 300, "notes.",
     "aux.md", "a ", "a\n", "窯" * 200],
)  # fmt: skip
def test_a_bank_cannot_have_a_name_that_leads_elsewhere(data: DataFolder, name: str) -> None:
    for act in (
        data.bank,
        lambda n: data.trash(n, "day"),
        lambda n: data.restore("shop-day", n),
        lambda n: data.rename("shop", n),
        lambda n: data.rename(n, "shed"),
        lambda n: data.publish("op1", n),
    ):
        with pytest.raises(InvalidName):
            act(name)
    assert _listing(data.root) == ["shop"]


@pytest.mark.parametrize("part", ["../x", "..", "", "a/b", ".trash", "x\0"])
def test_no_other_part_of_a_folders_name_leads_elsewhere(data: DataFolder, part: str) -> None:
    for act in (
        lambda p: data.trash("shop", p),
        lambda p: data.restore(p, "shed"),
        data.stage,
        lambda p: data.publish(p, "shed"),
        data.discard_stage,
    ):
        with pytest.raises(InvalidName):
            act(part)


@pytest.mark.parametrize(
    "path",
    # field case A22, A47
    ["", "/etc/x", "../x.md", "a/../../x.md", "a//b.md", "./x.md", ".git/config", "a/.hidden.md",
     ".history", ".history/", ".history/../x", "x\n.md", "x\0.md", "\ud800.md", "é" * 127 + ".md",
     ".history/.history/x"],
)  # fmt: skip
def test_no_path_leads_out_of_the_bank_or_into_its_hidden_parts(
    bank: LockedBank, shop: Path, path: str
) -> None:
    listed = sorted(shop.rglob("*"))
    for act in (
        bank.read,
        bank.sync,
        bank.history,
        lambda p: bank.tail(p, 4),
        lambda p: bank.append(p, NEW, offset=0),
        lambda p: bank.replace(p, NEW, expect=None),
        lambda p: bank.remove(p, expect=None),
        lambda p: bank.cut(p, 0, 0),
        lambda p: bank.make_folders([f"{p}/x/.."]),
    ):
        with pytest.raises(InvalidName):
            act(path)
    assert sorted(shop.rglob("*")) == listed


def test_a_name_is_as_long_as_the_file_system_allows_in_bytes() -> None:
    assert check_component("é" * 127) == "é" * 127
    with pytest.raises(InvalidName, match=str(NAME_BYTES)):
        check_component("é" * 128)


# Looking


def test_a_look_finds_the_files_that_a_bank_consists_of(bank: LockedBank, shop: Path) -> None:
    for path in (
        "index.md", "preferences.md", "README", "rules/tone.md", "rules/Bad Name.md", "x.yaml",
        "semantic_memory/index.md", "episodic_memory/events/2026-08.md", ".history/mem_1.log",
        "procedural_memory/Öfen & mehr.md", ".git/x.md", "other/y.md", "semantic_memory/.git/z.md",
    ):  # fmt: skip
        (shop / path).parent.mkdir(parents=True, exist_ok=True)
        (shop / path).write_text("x")
    found = bank.look()
    assert list(found) == [
        "bank.yaml",
        "episodic_memory/events/2026-08.md",
        "index.md",
        "preferences.md",
        "procedural_memory/Öfen & mehr.md",
        "rules/tone.md",
        FACTS,
        "semantic_memory/index.md",
    ]
    assert found[FACTS] == Fingerprint.of((shop / FACTS).stat())
    assert bank.ignored() == [("rules/Bad Name.md", "name")]


def test_what_a_look_passes_over_is_named_with_a_reason(bank: LockedBank, shop: Path) -> None:
    below = shop / "semantic_memory"
    for name in (
        "facts.md~", ".facts.md.swp", "#facts.md#", "facts.sync-conflict-20260824-1015-AB.md",
        "facts (Conflicted copy 2026-08-24).md", "facts.orig.md", ".mc-tmp-1-0",
    ):  # fmt: skip
        (below / name).write_text("x")
    (below / "a\nb.md").write_text("x")
    (below / "a\\b.md").write_text("x")
    with os.fdopen(os.open(os.fsencode(below) + b"/\xff.md", os.O_CREAT | os.O_WRONLY)):
        pass
    os.mkfifo(below / "pipe.md")
    deep = below.joinpath(*"abcdefghi")
    deep.mkdir(parents=True)
    (deep / "x.md").write_text("x")
    reasons = dict(bank.ignored())
    assert list(bank.look()) == ["bank.yaml", FACTS]
    assert sum(reason == "dropping" for reason in reasons.values()) == 7
    assert reasons["semantic_memory/pipe.md"] == "not_a_file"
    assert reasons["semantic_memory/a\\nb.md"] == "name"
    assert reasons["semantic_memory/\\udcff.md"] == "name"
    assert reasons["semantic_memory/a/b/c/d/e/f/g/h"] == "too_deep"
    assert len(reasons) == 12


def test_links_are_neither_looked_at_nor_read_nor_written(
    bank: LockedBank, shop: Path, tmp_path: Path
) -> None:
    # field case A23
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_bytes(b"secret")
    (shop / "facts-extra.md").symlink_to(outside / "secret.md")
    (shop / "rules").symlink_to(outside)
    (shop / "semantic_memory" / "gone.md").symlink_to(outside / "new.md")
    assert list(bank.look()) == ["bank.yaml", FACTS]
    assert [path for path, reason in bank.ignored() if reason == "link"] == [
        "facts-extra.md",
        "rules",
        "semantic_memory/gone.md",
    ]
    for path in ("facts-extra.md", "rules/secret.md", "semantic_memory/gone.md"):
        for act in (
            bank.read,
            bank.sync,
            lambda p: bank.append(p, NEW, offset=0),
            lambda p: bank.append(p, NEW, offset=6),
            lambda p: bank.replace(p, NEW, expect=None),
            lambda p: bank.remove(p, expect=None),
        ):
            with pytest.raises((NotAFile, FileChanged)):
                act(path)
    assert _listing(outside) == ["secret.md"]
    assert (outside / "secret.md").read_bytes() == b"secret"


def test_a_bank_folder_that_is_a_link_is_no_bank(data: DataFolder, tmp_path: Path) -> None:
    # field case A23
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "index.md").write_bytes(b"secret")
    (data.root / "away").symlink_to(outside)
    assert data.bank_names() == ["shop"]
    assert data.ignored() == [("away", "link")]
    assert not data.bank("away").exists()
    with pytest.raises(FolderMoved):
        data.bank("away").read("index.md")


def test_the_data_folder_itself_may_be_a_link(data: DataFolder, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(data.root)
    assert DataFolder(tmp_path / "alias").bank("shop").read(FACTS)[0] == OLD


@pytest.mark.parametrize("is_link_then", [False, True])
def test_what_vanishes_during_a_look_is_not_in_it(
    data: DataFolder, shop: Path, is_link_then: bool
) -> None:
    (shop / "rules").mkdir()

    class Racing(UnsyncedDisk):
        def listdir(self, fd: int) -> list[str]:
            return [*super().listdir(fd), "ghost.md"]

        def open(
            self, name: str, flags: int, mode: int = 0o644, *, dir_fd: int | None = None
        ) -> int:
            if name == "rules":
                (shop / "rules").rmdir()
                if is_link_then:
                    (shop / "rules").symlink_to(shop / "semantic_memory")
            return super().open(name, flags, mode, dir_fd=dir_fd)

    assert list(_with(data, Racing()).look()) == ["bank.yaml", FACTS]


def test_a_missing_bank_and_a_missing_data_folder_are_told_apart(data: DataFolder) -> None:
    assert data.bank("shop").exists()
    assert not data.bank("shed").exists()
    with pytest.raises(FolderMoved):
        data.bank("shed").look()
    away = DataFolder(data.root / "unmounted")
    for act in (away.bank_names, away.bank("shop").look, away.bank("shop").exists):
        with pytest.raises(DiskFault) as caught:
            act()
        assert caught.value.data["errno"] == "ENOENT"
        assert "/" not in caught.value.message


# Reading


def test_a_file_is_read_with_its_fingerprint(bank: LockedBank, shop: Path) -> None:
    assert bank.read(FACTS) == (OLD, Fingerprint.of((shop / FACTS).stat()))
    assert bank.tail(FACTS, 3) == (b"ts\n", Fingerprint.of((shop / FACTS).stat()))
    assert bank.tail(FACTS, 99)[0] == OLD


def test_a_missing_file_is_said_to_be_missing(bank: LockedBank) -> None:
    for path in ("semantic_memory/none.md", "rules/none.md"):
        with pytest.raises(FileMissing):
            bank.read(path)
    assert bank.history(".history/mem_1.log") == b""


def test_only_plain_files_are_read_and_written(bank: LockedBank, shop: Path) -> None:
    os.mkfifo(shop / "pipe.md")
    for path in ("pipe.md", "semantic_memory", "bank.yaml/x.md"):
        with pytest.raises(NotAFile):
            bank.read(path)
        with pytest.raises(NotAFile):
            bank.append(path, NEW, offset=None)


def test_a_file_that_changes_while_it_is_read_is_read_again(data: DataFolder, shop: Path) -> None:
    class Racing(UnsyncedDisk):
        left = 1

        def pread(self, fd: int, size: int, offset: int) -> bytes:
            found = super().pread(fd, min(size, 5), offset)
            if self.left:
                self.left -= 1
                (shop / FACTS).write_bytes(b"twice as long\n" * 2)
            return found

    assert _with(data, Racing()).read(FACTS)[0] == b"twice as long\n" * 2


def test_a_file_that_never_settles_has_an_old_fingerprint(data: DataFolder, shop: Path) -> None:
    class Racing(UnsyncedDisk):
        def pread(self, fd: int, size: int, offset: int) -> bytes:
            with (shop / FACTS).open("ab") as file:
                file.write(b"more")
            return super().pread(fd, size, offset)

    found, fingerprint = _with(data, Racing()).read(FACTS)
    assert found.startswith(OLD)
    assert len(found) == fingerprint.size < (shop / FACTS).stat().st_size


def test_a_file_that_shrinks_while_it_is_read_gives_what_there_is(
    data: DataFolder, shop: Path
) -> None:
    class Racing(UnsyncedDisk):
        def pread(self, fd: int, size: int, offset: int) -> bytes:
            (shop / FACTS).write_bytes(b"")
            return super().pread(fd, size, offset)

    assert _with(data, Racing()).tail(FACTS, 4)[0] == b""


def test_a_file_comes_in_chunks_up_to_where_it_ended_at_first(
    bank: LockedBank, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("banks.store.folder.CHUNK_BYTES", 3)
    chunks = bank.chunks(FACTS)
    first = next(chunks)
    bank.append(FACTS, NEW, offset=len(OLD))
    assert [first, *chunks] == [b"# F", b"act", b"s\n"]
    (shop / "empty.md").touch()
    assert list(bank.chunks("empty.md")) == []
    with pytest.raises(FileMissing):
        next(bank.chunks("semantic_memory/unknown.md"))


def test_a_file_that_shrinks_while_it_is_read_ends_there(
    bank: LockedBank, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("banks.store.folder.CHUNK_BYTES", 3)
    chunks = bank.chunks(FACTS)
    first = next(chunks)
    os.truncate(shop / FACTS, 4)
    assert [first, *chunks] == [b"# F", b"a"]


def test_logs_are_plain_files_of_ours_in_the_two_folders_of_the_history(
    data: DataFolder, bank: LockedBank, shop: Path
) -> None:
    assert bank.logs() == []
    for path in (".history/mem_2.log", ".history/mem_1.log", ".history/rules/style.log"):
        bank.append(path, b"{}", offset=0)
    (shop / ".history/link.log").symlink_to(shop / FACTS)
    (shop / ".history/folder.log").mkdir()
    (shop / ".history/notes.md").touch()
    (shop / ".history/rules/Not A Rule.log").touch()
    (shop / ".history" / os.fsdecode(b"\xff.log")).touch()
    assert data.bank("shop").logs() == [
        ".history/mem_1.log",
        ".history/mem_2.log",
        ".history/rules/style.log",
    ]


def test_git_is_busy_while_its_lock_is_in_the_bank_or_the_data_folder(
    data: DataFolder, shop: Path
) -> None:
    bank = data.bank("shop")
    assert not bank.git_busy()
    (shop / ".git").write_text("gitdir: elsewhere")
    assert not bank.git_busy()
    (data.root / ".git").mkdir()
    assert not bank.git_busy()
    (data.root / ".git" / "index.lock").touch()
    assert bank.git_busy()
    (data.root / ".git" / "index.lock").unlink()
    (shop / ".git").unlink()
    (shop / ".git").mkdir()
    (shop / ".git" / "index.lock").touch()
    assert bank.git_busy()


# Writing


def test_an_append_adds_bytes_and_gives_the_new_fingerprint(bank: LockedBank, shop: Path) -> None:
    fingerprint = bank.append(FACTS, NEW, offset=len(OLD))
    assert (shop / FACTS).read_bytes() == OLD + NEW
    assert bank.look()[FACTS] == fingerprint
    bank.append(FACTS, NEW, offset=None)
    assert (shop / FACTS).read_bytes() == OLD + NEW + NEW


@pytest.mark.parametrize("offset", [0, None])
def test_an_append_makes_the_file_and_its_folders(
    bank: LockedBank, shop: Path, offset: int | None
) -> None:
    path = ".history/rules/tone.log"
    fingerprint = bank.append(path, NEW, offset=offset)
    assert bank.history(path) == NEW
    assert Fingerprint.of((shop / path).stat()) == fingerprint
    assert (shop / path).stat().st_mode & 0o133 == 0


@pytest.mark.parametrize(
    ("path", "offset"),
    [(FACTS, 3), (FACTS, 0), ("semantic_memory/none.md", 3), ("rules/none.md", 3)],
)
def test_an_append_to_a_file_of_another_size_writes_nothing(
    bank: LockedBank, shop: Path, path: str, offset: int
) -> None:
    with pytest.raises(FileChanged) as caught:
        bank.append(path, NEW, offset=offset)
    assert caught.value.data == {"path": path, "stage": "before"}
    assert (shop / FACTS).read_bytes() == OLD
    assert not (shop / "rules").exists()


def _swap(shop: Path) -> None:
    (shop / "swap.md").write_bytes(OLD)
    (shop / "swap.md").rename(shop / FACTS)


def _swap_folder(shop: Path) -> None:
    (shop / "semantic_memory").rename(shop / "old")


@pytest.mark.parametrize(
    "foreign",
    [
        lambda shop: (shop / FACTS).unlink(),
        lambda shop: (shop / FACTS).write_bytes(OLD),
        lambda shop: (shop / FACTS).write_bytes(b""),
        _swap,
        _swap_folder,
    ],
)
def test_an_append_into_a_file_that_was_replaced_meanwhile_is_not_acknowledged(
    data: DataFolder, shop: Path, foreign: Callable[[Path], None]
) -> None:
    class Racing(UnsyncedDisk):
        def failpoint(self, name: str) -> None:
            if name == "append.synced":
                foreign(shop)

    with _with(data, Racing()).lock(0) as bank, pytest.raises(FileChanged) as caught:
        bank.append(FACTS, NEW, offset=len(OLD))
    assert caught.value.data["stage"] == "after"


def test_an_append_that_somebody_got_ahead_of_overwrites_nothing(
    data: DataFolder, shop: Path
) -> None:
    class Racing(UnsyncedDisk):
        def write(self, fd: int, data: bytes) -> int:
            with (shop / FACTS).open("ab") as file:
                file.write(b"theirs\n")
            return super().write(fd, data)

    with _with(data, Racing()).lock(0) as bank, pytest.raises(FileChanged) as caught:
        bank.append(FACTS, NEW, offset=len(OLD))
    assert caught.value.data["stage"] == "after"
    assert (shop / FACTS).read_bytes() == OLD + b"theirs\n" + NEW


def test_a_file_made_by_somebody_else_in_between_is_not_taken_for_ours(
    data: DataFolder, shop: Path
) -> None:
    class Racing(UnsyncedDisk):
        def open(
            self, name: str, flags: int, mode: int = 0o644, *, dir_fd: int | None = None
        ) -> int:
            if flags & os.O_CREAT:
                (shop / "semantic_memory" / name).write_bytes(b"theirs\n")
            return super().open(name, flags, mode, dir_fd=dir_fd)

    with _with(data, Racing()).lock(0) as bank, pytest.raises(FileChanged) as caught:
        bank.append("semantic_memory/facts-2.md", NEW, offset=0)
    assert caught.value.data["stage"] == "before"
    assert (shop / "semantic_memory/facts-2.md").read_bytes() == b"theirs\n"


def test_short_writes_are_gone_on_with(data: DataFolder, shop: Path) -> None:
    class Slow(UnsyncedDisk):
        def write(self, fd: int, data: bytes) -> int:
            return super().write(fd, data[:3])

    with _with(data, Slow()).lock(0) as bank:
        fingerprint = bank.append(FACTS, NEW, offset=len(OLD))
        assert bank.read(FACTS)[0] == OLD + NEW
        bank.replace(FACTS, NEW, expect=fingerprint)
    assert (shop / FACTS).read_bytes() == NEW


def test_a_replacement_keeps_the_mode_and_gives_the_new_fingerprint(
    bank: LockedBank, shop: Path
) -> None:
    (shop / FACTS).chmod(0o660)
    fingerprint = bank.replace(FACTS, NEW, expect=bank.look()[FACTS])
    assert bank.read(FACTS) == (NEW, fingerprint)
    assert (shop / FACTS).stat().st_mode & 0o777 == 0o660
    assert bank.ignored() == []


def test_a_replacement_of_nothing_makes_the_file_and_its_folders(
    bank: LockedBank, shop: Path
) -> None:
    bank.replace("rules/tone.md", NEW, expect=None)
    assert (shop / "rules/tone.md").read_bytes() == NEW
    with pytest.raises(FileChanged):
        bank.replace("rules/tone.md", OLD, expect=None)
    assert (shop / "rules/tone.md").read_bytes() == NEW


def test_a_replacement_of_a_file_that_changed_leaves_it_alone(data: DataFolder, shop: Path) -> None:
    class Racing(UnsyncedDisk):
        def failpoint(self, name: str) -> None:
            if name == "replace.synced":
                (shop / FACTS).write_bytes(b"theirs\n")

    with _with(data, Racing()).lock(0) as bank, pytest.raises(FileChanged):
        bank.replace(FACTS, NEW, expect=bank.look()[FACTS])
    assert (shop / FACTS).read_bytes() == b"theirs\n"
    assert _listing(shop / "semantic_memory") == ["facts.md"]


def test_a_temporary_file_that_was_left_is_passed_over_and_swept(
    bank: LockedBank, shop: Path
) -> None:
    (shop / ".history").mkdir()
    for folder in ("semantic_memory", ".history", "."):
        (shop / folder / f".mc-tmp-{os.getpid()}-0").touch()
    bank.replace(FACTS, NEW, expect=bank.look()[FACTS])
    assert bank.sweep() == 3
    assert bank.sweep() == 0
    assert bank.read(FACTS)[0] == NEW
    assert not list(shop.rglob(".mc-tmp-*"))


def test_a_file_is_removed_only_as_it_was_seen(bank: LockedBank, shop: Path) -> None:
    seen = bank.look()[FACTS]
    (shop / FACTS).write_bytes(NEW)
    with pytest.raises(FileChanged):
        bank.remove(FACTS, expect=seen)
    bank.remove(FACTS, expect=bank.look()[FACTS])
    assert not (shop / FACTS).exists()
    bank.remove(FACTS, expect=None)


def test_a_cut_takes_out_a_range_and_nothing_else(bank: LockedBank, shop: Path) -> None:
    bank.append(FACTS, NEW, offset=len(OLD))
    bank.cut(FACTS, 2, len(OLD))
    assert (shop / FACTS).read_bytes() == OLD[:2] + NEW
    with pytest.raises(FileChanged):
        bank.cut(FACTS, 2, 1_000)


def test_folders_are_made_once(bank: LockedBank, shop: Path) -> None:
    bank.make_folders(["rules", ".history/rules", "rules"])
    assert (shop / ".history" / "rules").is_dir()


def test_a_sync_of_what_is_not_there_syncs_the_folders(data: DataFolder) -> None:
    class Counting(UnsyncedDisk):
        count = 0

        def fsync(self, fd: int) -> None:
            super().fsync(fd)
            self.count += 1

    disk = Counting()
    with _with(data, disk).lock(0) as bank:
        bank.sync("semantic_memory/none.md")
        assert disk.count == 2
        bank.sync("rules/none.md")
        assert disk.count == 3


# Locking


def test_nothing_can_be_written_after_the_lock_was_given_back(data: DataFolder) -> None:
    with data.bank("shop").lock(0) as bank:
        pass
    with pytest.raises(ValueError, match="given back"):
        bank.append(FACTS, NEW, offset=None)


def test_one_thread_at_a_time_holds_the_lock(data: DataFolder) -> None:
    counts = {"now": 0, "most": 0, "all": 0}

    def work() -> None:
        for _ in range(20):
            with data.bank("shop").lock(30):
                counts["now"] += 1
                counts["most"] = max(counts["most"], counts["now"])
                counts["all"] += 1
                counts["now"] -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == {"now": 0, "most": 1, "all": 80}


def test_the_lock_excludes_other_processes(data: DataFolder) -> None:
    script = (
        "import sys; from pathlib import Path; from banks.store.files import DataFolder\n"
        "with DataFolder(Path(sys.argv[1])).bank('shop').lock(5):\n"
        "    print('held', flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, data.root],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        with pytest.raises(LockTimeout), data.bank("shop").lock(0.01):
            pass
        process.communicate()
    with data.bank("shop").lock(0):
        pass


def test_a_busy_lock_is_asked_for_with_growing_naps_until_the_time_is_up(
    data: DataFolder,
) -> None:
    class Clock(UnsyncedDisk):
        time = 0.0

        def __init__(self) -> None:
            self.naps: list[float] = []

        def now(self) -> float:
            return self.time

        def sleep(self, seconds: float) -> None:
            self.naps.append(seconds)
            self.time += seconds

    disk = Clock()
    with data.bank("shop").lock(0), pytest.raises(LockTimeout), _with(data, disk).lock(0.1):
        pass
    assert disk.naps[:6] == [0.001, 0.002, 0.004, 0.008, 0.016, LONGEST_NAP_S]
    assert sum(disk.naps) == pytest.approx(0.1)
    disk.naps.clear()
    with data.bank("shop").lock(0), pytest.raises(LockTimeout), _with(data, disk).lock(0):
        pass
    assert disk.naps == []


@pytest.mark.parametrize("is_made_anew", [False, True])
def test_whoever_waited_for_a_folder_that_moved_is_told(
    data: DataFolder, is_made_anew: bool
) -> None:
    waiting = threading.Event()

    class Waiting(UnsyncedDisk):
        def sleep(self, seconds: float) -> None:
            waiting.set()
            super().sleep(seconds)

    outcome: list[StoreError] = []

    def wait() -> None:
        try:
            with _with(data, Waiting()).lock(10):
                pass
        except StoreError as error:
            outcome.append(error)

    thread = threading.Thread(target=wait)
    with data.lock(1), data.bank("shop").lock(0):
        thread.start()
        assert waiting.wait(10)
        data.trash("shop", "20261130T101500Z")
        if is_made_anew:
            data.stage("op1")
            data.publish("op1", "shop")
    thread.join()
    assert [type(error) for error in outcome] == [FolderMoved]


def test_a_child_that_keeps_the_descriptor_does_not_keep_the_lock(data: DataFolder) -> None:
    kept: list[int] = []

    class Forking(UnsyncedDisk):
        def flock(self, fd: int, operation: int) -> None:
            if operation != fcntl.LOCK_UN:
                kept.append(os.dup(fd))
            super().flock(fd, operation)

    with _with(data, Forking()).lock(0):
        pass
    with data.bank("shop").lock(0):
        pass
    for fd in kept:
        os.close(fd)


def test_the_data_folder_has_a_lock_of_its_own(data: DataFolder) -> None:
    with data.lock(0):
        with pytest.raises(LockTimeout), data.lock(0):
            pass
        with data.bank("shop").lock(0):
            pass
    with data.lock(0):
        pass


# Folders as wholes


def test_banks_are_folders_with_a_valid_name_and_a_file_of_a_bank(data: DataFolder) -> None:
    for path in ("shed/index.md", "Bad/index.md", ".hidden/index.md", "other/x.md", "a b/x.md"):
        (data.root / path).parent.mkdir()
        (data.root / path).touch()
    (data.root / "file").touch()
    assert data.bank_names() == ["shed", "shop"]
    assert data.ignored() == [("Bad", "name")]


def test_a_bank_that_vanishes_during_the_listing_is_not_in_it(data: DataFolder) -> None:
    class Racing(UnsyncedDisk):
        def open(
            self, name: str, flags: int, mode: int = 0o644, *, dir_fd: int | None = None
        ) -> int:
            if name == "shop":
                raise FileNotFoundError(errno.ENOENT, "gone")
            return super().open(name, flags, mode, dir_fd=dir_fd)

    assert DataFolder(data.root, Racing()).bank_names() == []


def test_a_bank_that_cannot_be_opened_hides_no_other(data: DataFolder) -> None:
    (data.root / "shed").mkdir()
    (data.root / "shed" / "index.md").touch()

    class Broken(UnsyncedDisk):
        def open(
            self, name: str, flags: int, mode: int = 0o644, *, dir_fd: int | None = None
        ) -> int:
            if name == "shop":
                raise PermissionError(errno.EACCES, "no")
            return super().open(name, flags, mode, dir_fd=dir_fd)

    broken = DataFolder(data.root, Broken())
    assert broken.bank_names() == ["shed", "shop"]
    with pytest.raises(DiskFault) as caught:
        broken.bank("shop").look()
    assert caught.value.data["errno"] == "EACCES"


def test_the_data_folder_is_made_with_those_above_it(tmp_path: Path) -> None:
    data = DataFolder(tmp_path / "var" / "memory")
    data.make()
    data.make()
    assert data.bank_names() == []
    assert data.ignored() == []
    assert data.trashed() == []


def test_it_all_works_on_a_disk_that_really_syncs(tmp_path: Path) -> None:
    data = DataFolder(tmp_path)
    data.stage("op1")
    data.publish("op1", "shop")
    with data.bank("shop").lock(0) as bank:
        seen = bank.append(FACTS, NEW, offset=0)
        bank.replace(FACTS, OLD, expect=seen)
    assert data.bank("shop").read(FACTS)[0] == OLD


def test_a_bank_goes_to_the_trash_and_comes_back(data: DataFolder) -> None:
    assert data.trash("shop", "20261130T101500Z") == "shop-20261130T101500Z"
    assert data.bank_names() == []
    for wanted in ("shop-20261130T101500Z-2", "shop-20261130T101500Z-3"):
        data.stage("op1")
        data.publish("op1", "shop")
        assert data.trash("shop", "20261130T101500Z") == wanted
    assert len(data.trashed()) == 3
    data.restore("shop-20261130T101500Z", "shed")
    assert data.bank("shed").read(FACTS)[0] == OLD
    assert len(data.trashed()) == 2


def test_a_bank_gets_another_name(data: DataFolder) -> None:
    data.rename("shop", "shed")
    assert data.bank_names() == ["shed"]


def test_a_folder_is_never_moved_over_another_one(data: DataFolder) -> None:
    data.stage("op1")
    data.publish("op1", "empty")
    data.stage("op2")
    trashed = data.trash("empty", "day")
    data.stage("op1")
    data.publish("op1", "empty")
    for act in (
        lambda: data.rename("shop", "empty"),
        lambda: data.restore(trashed, "empty"),
        lambda: data.publish("op2", "empty"),
        lambda: data.stage("op2"),
    ):
        with pytest.raises(FolderExists):
            act()


def test_a_folder_that_is_not_there_is_not_moved(data: DataFolder) -> None:
    for act in (
        lambda: data.rename("shed", "barn"),
        lambda: data.restore("shed-day", "barn"),
        lambda: data.publish("op1", "barn"),
        lambda: data.trash("shed", "day"),
        lambda: data.restore("shed-day", "barn"),
    ):
        with pytest.raises(FolderMoved):
            act()


def test_a_staged_folder_is_made_ready_and_published_or_discarded(data: DataFolder) -> None:
    with data.stage("op1").lock(0) as stage:
        stage.replace(FACTS, NEW, expect=None)
    data.stage("op2")
    assert data.staged() == ["op1", "op2"]
    assert data.bank_names() == ["shop"]
    data.publish("op1", "shed")
    assert data.bank("shed").read(FACTS)[0] == NEW
    (data.root / ".import-op2" / "a").mkdir()
    (data.root / ".import-op2" / "a" / "b").symlink_to(data.root / "shop")
    data.discard_stage("op2")
    data.discard_stage("op2")
    assert data.staged() == []
    assert data.bank("shop").read(FACTS)[0] == OLD


def test_the_names_of_banks_and_trash_are_synced_with_and_without_a_trash(tmp_path: Path) -> None:
    synced: list[int] = []

    class Counting(Disk):
        def fsync(self, fd: int) -> None:
            synced.append(fd)

    data = DataFolder(tmp_path, Counting())
    data.sync()
    assert len(synced) == 1
    (tmp_path / ".trash").mkdir()
    data.sync()
    assert len(synced) == 3


def test_a_folder_is_there_or_not_wherever_it_may_lie(tmp_path: Path) -> None:
    data = DataFolder(tmp_path)
    (tmp_path / "ops").mkdir()
    (tmp_path / "file").write_text("x")
    assert data.has("ops")
    assert not data.has("file")
    assert not data.has("other")
    assert not data.has(".trash/ops-1")
    (tmp_path / ".trash" / "ops-1").mkdir(parents=True)
    assert data.has(".trash/ops-1")


def test_a_log_is_cut_in_place_and_made_to_last(tmp_path: Path) -> None:
    synced: list[int] = []

    class Counting(Disk):
        def fdatasync(self, fd: int) -> None:
            synced.append(fd)

    folder = tmp_path / "ops"
    folder.mkdir()
    (folder / "a.log").write_bytes(b"one two")
    before = (folder / "a.log").stat().st_ino
    with DataFolder(tmp_path, Counting()).bank("ops").lock(0) as locked:
        locked.truncate("a.log", 3)
    assert (folder / "a.log").read_bytes() == b"one"
    assert (folder / "a.log").stat().st_ino == before
    assert len(synced) == 1


# --- what can be told of the disk ----------------------------------------------------------------


def test_a_folder_that_can_be_used_gives_no_trouble_and_has_room(data: DataFolder) -> None:
    room = os.statvfs(data.root)
    assert data.trouble() == ""
    assert 0 < data.free_bytes() <= room.f_blocks * room.f_frsize


def test_a_folder_that_is_not_there_says_so(data: DataFolder) -> None:
    shutil.rmtree(data.root)
    assert data.trouble() != ""
    with pytest.raises(DiskFault):
        data.free_bytes()


def test_a_folder_that_takes_no_files_says_so(data: DataFolder) -> None:
    class ReadOnly(UnsyncedDisk):
        def may_write(self, root: str) -> bool:
            return super().may_write(f"{root}/nowhere")

    assert "read-only" in DataFolder(data.root, ReadOnly()).trouble()


def test_a_lock_of_a_folder_that_was_left_is_no_lock(data: DataFolder) -> None:
    left = DataFolder(data.root, UnsyncedDisk(), is_in_use=lambda: False)
    for lock in (left.lock, left.bank("shop").lock):
        with pytest.raises(LockTimeout), lock(0):
            pytest.fail("it was given")
    used = DataFolder(data.root, UnsyncedDisk(), is_in_use=lambda: True)
    with used.lock(0), used.bank("shop").lock(0) as locked:
        assert locked.read(FACTS)[0] == OLD
