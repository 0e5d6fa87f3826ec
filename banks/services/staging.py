"""The files a new bank begins with, and which file takes an imported entry. No disk, no rows."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime

from banks import routers
from banks.services.sources import Incoming, Source
from banks.store import edit, names, router, tree
from banks.store.types import Category
from banks.store.types import Entry as Block

_TAIL_BYTES = 4


def new_files(source: Source) -> dict[str, bytes]:
    """Every file of the new bank: the source's as they are, what is missing of the tree, and the
    memories of a log in their places."""
    files = {path: text.encode() for path, text in tree.SEED_FILES.items()}
    files |= source.files
    files |= source.histories
    if source.log is None:
        return files
    homes = Homes(lambda path: len(files[path]) if path in files else None)
    placed: dict[str, list[Incoming]] = defaultdict(list)
    for each in source.incoming:
        placed[homes.place(each.entry, len(each.block))].append(each)
        if each.records:
            files[tree.history_path(each.entry.id)] = each.records
    for path, items in placed.items():
        files[path] = _with_blocks(files.get(path, b""), [each.block for each in items])
    for path in [path for path in files if tree.is_router(path) and path != tree.ROUTER]:
        _fill_router(files, path, placed)
    _fill_root(files, placed)
    return files


def _with_blocks(data: bytes, blocks: Iterable[bytes]) -> bytes:
    parts, tail = [data], data[-_TAIL_BYTES:]
    for block in blocks:
        parts.append(edit.appended(tail, block))
        tail = (tail + parts[-1])[-_TAIL_BYTES:]
    return b"".join(parts)


def _fill_router(files: dict[str, bytes], path: str, placed: Mapping[str, list[Incoming]]) -> None:
    rows = [
        router.describe(tree.router_of(file)[1], [each.entry for each in placed[file]])
        for file in sorted(placed)
        if tree.router_of(file)[0] == path
    ]
    files[path] = routers.with_rows(files[path], rows)


def _fill_root(files: dict[str, bytes], placed: Mapping[str, list[Incoming]]) -> None:
    _fill_router(files, tree.ROUTER, placed)
    latest: dict[str, datetime] = {}
    for file, items in placed.items():
        folder = tree.root_row_of(file)
        if folder is not None:
            times = [each.entry.updated_at for each in items]
            latest[folder] = max([*times, latest.get(folder, times[0])])
    days = {folder: time.astimezone(UTC).date().isoformat() for folder, time in latest.items()}
    data = files[tree.ROUTER]
    files[tree.ROUTER] = routers.with_rows(data, routers.folder_rows(data, days))


class Homes:
    """Which file takes the next entry of a category: the last shard, or a new one beside it.

    `size_of` gives a file's size in bytes, None for no file; it is asked once a file.
    """

    def __init__(self, size_of: Callable[[str], int | None]) -> None:
        self._size_of = size_of
        self._sizes: dict[str, int | None] = {}
        self._shards: dict[str, int] = {}

    def place(self, entry: Block, size_bytes: int) -> str:
        """The file for an entry whose block has so many bytes."""
        if entry.category is Category.PROCEDURE:
            path = tree.procedure_path(names.slug(entry.title or entry.summary, self._is_taken))
        else:
            path = self._shard(entry)
        self._sizes[path] = (self._size(path) or 0) + size_bytes + 2
        return path

    def _shard(self, entry: Block) -> str:
        base = tree.home(entry.category, entry.created)
        shard = self._shards.get(base, 1)
        while True:
            path = tree.home(entry.category, entry.created, shard)
            following = tree.home(entry.category, entry.created, shard + 1)
            if (self._size(path) or 0) <= tree.SHARD_BYTES and self._size(following) is None:
                self._shards[base] = shard
                return path
            shard += 1

    def _size(self, path: str) -> int | None:
        if path not in self._sizes:
            self._sizes[path] = self._size_of(path)
        return self._sizes[path]

    def _is_taken(self, slug: str) -> bool:
        return self._size(tree.procedure_path(slug)) is not None
