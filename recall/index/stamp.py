"""What an index generation says of itself, in a file beside it.

It lies with the files it describes, never in the database: the database syncs and Whoosh does
not, so that a position kept there could promise documents that a power loss took.
"""

import json
import os
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from pathlib import Path

from recall.index.errors import IndexUnavailable

_NAME = "stamp.json"
_STAMPS = 256
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """Position of an index in its bank's journal.

    `seq` and `uid` name the last change that is in the index (0 and "" = none). `version` is
    format and language (`recall.index.version`). The rest is filled in by the index itself:
    its generation, Whoosh's own commit number `toc`, the boot that wrote it and whether all of
    it was synced since.
    """

    version: str
    seq: int = 0
    uid: str = ""
    generation: int = 0
    toc: int = 0
    boot: str = ""
    clean: bool = False


@cache
def boot_id() -> str:
    """Identifies this boot of the machine; empty where the system does not tell."""
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def read(folder: Path) -> Stamp:
    """The stamp in `folder`. Raises IndexUnavailable when it is missing or not readable."""
    try:
        return _parsed((folder / _NAME).read_bytes())
    except OSError as fault:
        raise IndexUnavailable("the index has no readable stamp") from fault


@lru_cache(maxsize=_STAMPS)
def _parsed(raw: bytes) -> Stamp:
    try:
        stamp = Stamp(**json.loads(raw))
    except (ValueError, TypeError) as fault:
        raise IndexUnavailable("the index has no readable stamp") from fault
    for name, default in asdict(Stamp(version="")).items():
        if type(getattr(stamp, name)) is not type(default):
            raise IndexUnavailable("the index has no readable stamp")
    return stamp


def write(folder: Path, stamp: Stamp, *, durable: bool = False) -> None:
    """Put `stamp` into `folder` in one step; with `durable` it survives a power loss."""
    replace_file(folder / _NAME, json.dumps(asdict(stamp)).encode(), durable=durable)


def replace_file(path: Path, data: bytes, *, durable: bool) -> None:
    """Replace `path` by `data`: a reader sees the old bytes or the new ones."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    with fresh.open("wb") as file:
        file.write(data)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    fresh.replace(path)
    if durable:
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` survive a power loss."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
