"""Every system call of every write fails once: what is left, what is said, and the next try."""

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from banks.store.errors import DiskFault, FileChanged, StoreError
from banks.store.files import DataFolder, LockedBank
from tests.disks import UnsyncedDisk

FACTS = "semantic_memory/facts.md"
OLD = b"# Facts\n" + b"x" * 40
NEW = b"Pump 3 hums at 40 hertz.\n"
CALLS = (
    "open", "close", "pread", "write", "fsync", "fdatasync", "ftruncate", "fchmod",
    "fstat", "stat", "listdir", "mkdir", "rmdir", "unlink", "rename", "flock",
)  # fmt: skip
Tree = dict[str, bytes]


class BreakingDisk(UnsyncedDisk):
    """Counts the calls and fails at the n-th (from 1); 0 = at none."""

    def __init__(self, number: int = 0, code: int = errno.EIO) -> None:
        self.calls: list[str] = []
        self._number = number
        self._code = code

    @property
    def broken(self) -> str:
        """The call that failed, or ""."""
        return self.calls[self._number - 1] if 0 < self._number <= len(self.calls) else ""

    def __getattribute__(self, name: str) -> Any:
        method = super().__getattribute__(name)
        if name not in CALLS:
            return method

        def call(*args: Any, **options: Any) -> Any:
            self.calls.append(name)
            if len(self.calls) == self._number:
                if name == "close":
                    method(*args)
                raise OSError(self._code, os.strerror(self._code), "/srv/secret/place")
            return method(*args, **options)

        return call


def _locked(act: Callable[[LockedBank], object]) -> Callable[[DataFolder], None]:
    def run(data: DataFolder) -> None:
        with data.bank("shop").lock(0) as bank:
            act(bank)

    return run


ACTS: dict[str, Callable[[DataFolder], object]] = {
    "append": _locked(lambda bank: bank.append(FACTS, NEW, offset=len(OLD))),
    "append_new": _locked(lambda bank: bank.append("rules/tone.md", NEW, offset=0)),
    "append_history": _locked(lambda bank: bank.append(".history/x.log", NEW, offset=None)),
    "replace": _locked(lambda bank: bank.replace(FACTS, NEW, expect=bank.look()[FACTS])),
    "replace_new": _locked(lambda bank: bank.replace("rules/tone.md", NEW, expect=None)),
    "remove": _locked(lambda bank: bank.remove(FACTS, expect=bank.look()[FACTS])),
    "cut": _locked(lambda bank: bank.cut(FACTS, 0, 8)),
    "sync": _locked(lambda bank: bank.sync(FACTS)),
    "folders": _locked(lambda bank: bank.make_folders(["rules/a"])),
    "trash": lambda data: data.trash("shop", "day"),
    "restore": lambda data: data.restore("old-day", "shed"),
    "rename": lambda data: data.rename("shop", "shed"),
    "publish": lambda data: data.publish("op1", "shed"),
    "stage": lambda data: data.stage("op2"),
}


def _fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    for place in ("shop", ".trash/old-day", ".import-op1"):
        (folder / place / "semantic_memory").mkdir(parents=True)
        (folder / place / FACTS).write_bytes(OLD)
    (folder / "shop" / "bank.yaml").write_bytes(b"format: 1\n")
    return folder


def _tree(root: Path) -> Tree:
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def _refusal(act: Callable[[DataFolder], object], data: DataFolder) -> StoreError | None:
    try:
        act(data)
    except StoreError as error:
        return error
    return None


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS])
@pytest.mark.parametrize("name", ACTS)
def test_each_call_that_fails_once_leaves_the_files_whole(
    tmp_path: Path, name: str, code: int
) -> None:
    # field case A03
    root = _fresh(tmp_path / "data")
    before = _tree(root)
    counting = BreakingDisk()
    ACTS[name](DataFolder(root, counting))
    after = _tree(root)
    _fresh(root)
    for number in range(1, len(counting.calls) + 1):
        disk = BreakingDisk(number, code)
        refusal = _refusal(ACTS[name], DataFolder(root, disk))
        there = _tree(root)
        assert not list(root.rglob(".mc-tmp-*"))
        if refusal is None:
            assert disk.broken in {"close", "flock"}, number
            assert there == after
            _fresh(root)
            continue
        assert isinstance(refusal, DiskFault), disk.broken
        assert refusal.data["errno"] == errno.errorcode[code]
        assert "/" not in refusal.message
        assert there in ([before] if refusal.certain else [before, after]), disk.broken
        if not refusal.certain:
            _fresh(root)
    ACTS[name](DataFolder(root, UnsyncedDisk()))
    assert _tree(root) == after


def test_a_failed_sync_is_not_asked_again_and_never_certain(tmp_path: Path) -> None:
    root = _fresh(tmp_path / "data")

    class Failing(UnsyncedDisk):
        syncs = 0

        def fdatasync(self, fd: int) -> None:
            raise OSError(errno.EIO, "no")

        def fsync(self, fd: int) -> None:
            self.syncs += 1
            raise OSError(errno.EIO, "no")

    disk = Failing()
    with DataFolder(root, disk).bank("shop").lock(0) as bank:
        with pytest.raises(DiskFault) as caught:
            bank.append(FACTS, NEW, offset=len(OLD))
        assert not caught.value.certain
        assert disk.syncs == 0
        assert bank.read(FACTS)[0] == OLD
        with pytest.raises(DiskFault) as caught:
            bank.append("semantic_memory/facts-2.md", NEW, offset=0)
        assert not caught.value.certain
    assert not (root / "shop" / "semantic_memory" / "facts-2.md").exists()


def test_a_folder_whose_sync_failed_is_taken_back_or_said_to_be_uncertain(tmp_path: Path) -> None:
    root = _fresh(tmp_path / "data")

    class Failing(UnsyncedDisk):
        is_stuck = False

        def fsync(self, fd: int) -> None:
            raise OSError(errno.EIO, "no")

        def rmdir(self, name: str, *, dir_fd: int) -> None:
            if self.is_stuck:
                raise OSError(errno.EIO, "no")
            super().rmdir(name, dir_fd=dir_fd)

    disk = Failing()
    with DataFolder(root, disk).bank("shop").lock(0) as bank:
        with pytest.raises(DiskFault) as caught:
            bank.make_folders(["rules"])
        assert caught.value.certain
        assert not (root / "shop" / "rules").exists()
        disk.is_stuck = True
        with pytest.raises(DiskFault) as caught:
            bank.make_folders(["rules"])
        assert not caught.value.certain


@pytest.mark.parametrize("step", ["fstat", "pread", "ftruncate", "fsync"])
def test_a_cut_that_fails_too_makes_the_fault_uncertain(tmp_path: Path, step: str) -> None:
    root = _fresh(tmp_path / "data")

    class Failing(UnsyncedDisk):
        is_full = False

        def write(self, fd: int, data: bytes) -> int:
            if self.is_full:
                raise OSError(errno.ENOSPC, "full")
            count = super().write(fd, data[:5])
            self.is_full = True
            return count

        def __getattribute__(self, name: str) -> Any:
            if name == step and self.is_full:
                raise OSError(errno.EIO, "no")
            return super().__getattribute__(name)

    with (
        DataFolder(root, Failing()).bank("shop").lock(0) as bank,
        pytest.raises(DiskFault) as caught,
    ):
        bank.append(FACTS, NEW, offset=len(OLD))
    assert not caught.value.certain
    assert caught.value.data["errno"] == "ENOSPC"


@pytest.mark.parametrize("theirs", [OLD + NEW[:5] + b"theirs", b"short"])
def test_a_cut_leaves_what_somebody_else_wrote(tmp_path: Path, theirs: bytes) -> None:
    root = _fresh(tmp_path / "data")

    class Racing(UnsyncedDisk):
        is_full = False

        def write(self, fd: int, data: bytes) -> int:
            if self.is_full:
                (root / "shop" / FACTS).write_bytes(theirs)
                raise OSError(errno.ENOSPC, "full")
            self.is_full = True
            return super().write(fd, data[:5])

    with (
        DataFolder(root, Racing()).bank("shop").lock(0) as bank,
        pytest.raises(DiskFault) as caught,
    ):
        bank.append(FACTS, NEW, offset=len(OLD))
    assert not caught.value.certain
    assert (root / "shop" / FACTS).read_bytes() == theirs


def test_a_system_that_takes_no_byte_is_not_asked_for_ever(tmp_path: Path) -> None:
    root = _fresh(tmp_path / "data")

    class Stuck(UnsyncedDisk):
        def write(self, fd: int, data: bytes) -> int:
            return 0

    with (
        DataFolder(root, Stuck()).bank("shop").lock(0) as bank,
        pytest.raises(DiskFault) as caught,
    ):
        bank.append(FACTS, NEW, offset=len(OLD))
    assert caught.value.certain
    assert (root / "shop" / FACTS).read_bytes() == OLD


def test_a_temporary_file_that_cannot_be_removed_is_swept_later(tmp_path: Path) -> None:
    root = _fresh(tmp_path / "data")

    class Failing(UnsyncedDisk):
        def rename(self, old: str, new: str, *, old_dir_fd: int, new_dir_fd: int) -> None:
            raise OSError(errno.EIO, "no")

        def unlink(self, name: str, *, dir_fd: int) -> None:
            raise OSError(errno.EIO, "no")

    with DataFolder(root, Failing()).bank("shop").lock(0) as bank:
        with pytest.raises(DiskFault) as caught:
            bank.replace(FACTS, NEW, expect=bank.look()[FACTS])
        assert caught.value.certain
        with pytest.raises(DiskFault):
            bank.sweep()
    with DataFolder(root, UnsyncedDisk()).bank("shop").lock(0) as bank:
        assert bank.look()[FACTS].size == len(OLD)
        assert bank.sweep() == 1


def test_an_error_without_a_name_is_still_told(tmp_path: Path) -> None:
    root = _fresh(tmp_path / "data")

    class Odd(UnsyncedDisk):
        def listdir(self, fd: int) -> list[str]:
            raise OSError(4_242, "odd", "/srv/secret/place")

    with pytest.raises(DiskFault, match=r"The disk refused \(4242\)\.") as caught:
        DataFolder(root, Odd()).bank("shop").look()
    assert caught.value.data["errno"] == "4242"


def test_a_limit_of_the_system_on_file_sizes_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    # field case A03
    root = _fresh(tmp_path / "data")
    script = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from banks.store.errors import DiskFault\n"
        "from banks.store.files import DataFolder\n"
        f"size, new, path = {len(OLD)}, b'n' * 4096, {FACTS!r}\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, resource.RLIM_INFINITY))\n"
        "with DataFolder(Path(sys.argv[1])).bank('shop').lock(0) as bank:\n"
        "    acts = [lambda: bank.append(path, new, offset=size),\n"
        "            lambda: bank.append('semantic_memory/facts-2.md', new, offset=0),\n"
        "            lambda: bank.replace(path, new, expect=bank.look()[path])]\n"
        "    for act in acts:\n"
        "        try:\n"
        "            act()\n"
        "        except DiskFault as error:\n"
        "            print(error.data['errno'], error.certain)\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)\n"
        "    print(bank.read(path)[1].size, list(bank.look()))\n"
        "    bank.append(path, new, offset=size)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, root], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        *["EFBIG True"] * 3,
        f"{len(OLD)} ['bank.yaml', '{FACTS}']",
    ]
    assert (root / "shop" / FACTS).read_bytes() == OLD + b"n" * 4096


def test_a_lock_that_the_system_refuses_is_a_fault(tmp_path: Path) -> None:
    root = _fresh(tmp_path / "data")

    class Refusing(UnsyncedDisk):
        def flock(self, fd: int, operation: int) -> None:
            raise OSError(errno.ENOLCK, "none")

    with pytest.raises(DiskFault), DataFolder(root, Refusing()).bank("shop").lock(0):
        pass


def test_a_folder_that_was_swapped_for_one_without_the_file_is_a_change(tmp_path: Path) -> None:
    root = _fresh(tmp_path / "data")

    class Racing(UnsyncedDisk):
        def stat(self, name: str, *, dir_fd: int) -> os.stat_result:
            found = super().stat(name, dir_fd=dir_fd)
            if name == "facts.md" and (root / "shop" / FACTS).exists():
                (root / "shop" / FACTS).unlink()
            return found

    with (
        DataFolder(root, Racing()).bank("shop").lock(0) as bank,
        pytest.raises(FileChanged) as caught,
    ):
        bank.append(FACTS, NEW, offset=len(OLD))
    assert caught.value.data["stage"] == "before"
