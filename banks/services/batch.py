"""New and changed entries of one operation, gathered before anything is written.

One save and five hundred are the same thing here: what is in the batch already counts as there, so
that a text given twice is saved once and reinforced once.
"""

from collections import defaultdict
from dataclasses import asdict, dataclass, field
from typing import Any

from banks import queries, revisions
from banks.journal import Effect
from banks.models import Change, Entry, SourceFile
from banks.operations import Plan
from banks.queries import Memory
from banks.services.commit import Desk
from banks.steps import Append, Edit, Step, Swap
from banks.store import edit, names, parse, render, tree
from banks.store.types import Category
from banks.store.types import Entry as Block


@dataclass(slots=True)
class Item:
    """One entry of the batch: its block before (None for a new one) and after."""

    path: str
    before: Block | None
    after: Block
    row: Entry | None
    acts: list[str] = field(default_factory=list)
    action: str = Change.Action.UPDATED
    reason: str = ""
    observation: str = ""


class Batch:
    """What one operation will do to entries. Nothing is written until its plan is executed."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.items: dict[str, Item] = {}
        self._sizes: dict[str, int] = {}

    def find(self, key: str) -> Item:
        """The entry of an id, fingerprint or former id, with its file looked at first.

        Raises MemoryNotFound, AmbiguousId.
        """
        row = queries.find(self.desk.bank, key)
        if row.entry_id in self.items:
            return self.items[row.entry_id]
        self.desk.fresh(row.file.path)
        return self._item(queries.find(self.desk.bank, key))

    def _item(self, row: Entry) -> Item:
        if row.entry_id in self.items:
            return self.items[row.entry_id]
        before = parse.block(bytes(row.block)).entry
        if before is None:
            raise ValueError("a row without a readable block")
        return Item(row.file.path, before, before, row)

    def known(self, text: str, category: Category | None) -> list[Item]:
        """Entries that have this text, dead ones too, the batch's own first."""
        mine = [
            item
            for item in self.items.values()
            if _same_text(item.after, text) and category in (None, item.after.category)
        ]
        rows = Entry.objects.filter(
            bank=self.desk.bank, fingerprint=names.fingerprint(text)
        ).select_related("file")
        if category is not None:
            rows = rows.filter(category=category.value)
        paths = set(rows.values_list("file__path", flat=True))
        if not paths:
            return mine
        for path in sorted(paths):
            self.desk.fresh(path)
        others = [self._item(row) for row in rows if row.entry_id not in self.items]
        return mine + [item for item in others if _same_text(item.after, text)]

    def is_live(self, item: Item) -> bool:
        """Whether the entry is live as the batch leaves it."""
        if item.row is None or item.after is not item.before:
            return item.after.invalidated is None and item.after.superseded_by is None
        return item.row.live

    def add(self, entry: Block, *, reason: str = "", observation: str = "") -> Item:
        """A new entry at the end of its category's file."""
        if entry.category is Category.PROCEDURE:
            path = self._procedure_path(entry.title or entry.summary)
        else:
            path = self._home(entry)
        item = Item(path, None, entry, None, ["created"], Change.Action.CREATED)
        item.reason, item.observation = reason, observation
        self.items[entry.id] = item
        return item

    def put(self, entry: Block, path: str) -> Item:
        """An entry whose block is gone from the files comes back at the end of this file."""
        item = Item(path, None, entry, None, ["restored"], Change.Action.RESTORED)
        self.items[entry.id] = item
        return item

    def change(
        self,
        item: Item,
        after: Block,
        *,
        act: str,
        action: str = Change.Action.UPDATED,
        reason: str = "",
        observation: str = "",
    ) -> Item:
        """The entry becomes `after`."""
        item.after = after
        item.acts.append(act)
        if item.before is not None:
            item.action = action
        item.reason = reason or item.reason
        item.observation = observation or item.observation
        self.items[after.id] = item
        return item

    def _home(self, entry: Block) -> str:
        """The category's file that takes new entries: the last shard, or the next one."""
        shard = self._last_shard(entry)
        while True:
            path = tree.home(entry.category, entry.created, shard)
            size = self._size(path)
            if size <= tree.SHARD_BYTES:
                self._sizes[path] = size + len(render.entry(entry)) + 2
                return path
            shard += 1

    def _last_shard(self, entry: Block) -> int:
        """The number of the category's last file that is there, 1 when there is none.

        Counted without a gap: `facts-2024.md` is a person's own name, and no shard.
        """
        first = tree.home(entry.category, entry.created)
        stem = first.removesuffix(".md")
        rows = SourceFile.objects.filter(bank=self.desk.bank, path__startswith=f"{stem}-")
        paths, shard = set(rows.values_list("path", flat=True)), 1
        while tree.home(entry.category, entry.created, shard + 1) in paths:
            shard += 1
        return shard

    def _size(self, path: str) -> int:
        if path not in self._sizes:
            row = self.desk.fresh(path)
            self._sizes[path] = row.size if row else 0
        return self._sizes[path]

    def _procedure_path(self, title: str) -> str:
        def taken(slug: str) -> bool:
            path = tree.procedure_path(slug)
            return self.desk.fresh(path) is not None or any(
                item.path == path for item in self.items.values()
            )

        return tree.procedure_path(names.slug(title, taken))

    def plan(self, act: str, answer: dict[str, Any]) -> Plan:
        """Histories first, then appends, then edits in place: a kill in between keeps more."""
        logs: list[Step] = []
        appended: dict[str, list[tuple[str, bytes]]] = defaultdict(list)
        swapped: dict[str, list[Swap]] = defaultdict(list)
        effects = []
        for key, item in self.items.items():
            if item.after is item.before:
                continue
            block = self.block(item)
            effects.append(self._effect(key, item, block))
            if item.row is None:
                appended[item.path].append((key, block))
                continue
            logs += self.desk.log(
                "entry",
                key,
                revision=item.row.revision,
                act=item.acts[-1],
                data=bytes(item.row.block),
                reason=item.reason or None,
            )
            swapped[item.path].append(Swap(item.row.position, key, item.row.version, block))
        appends: list[Step] = [self._append(path, blocks) for path, blocks in appended.items()]
        edits: list[Step] = [Edit(path, tuple(swaps)) for path, swaps in swapped.items()]
        return Plan(act, answer, [*logs, *appends, *edits], effects)

    def block(self, item: Item) -> bytes:
        """The bytes that the entry's block will have."""
        if item.row is None or item.before is None:
            file = self.desk.fresh(item.path)
            return render.entry(item.after, b"\r\n" if file and file.crlf else b"\n")
        if item.after is item.before:
            return bytes(item.row.block)
        return edit.amend(bytes(item.row.block), item.before, item.after)

    def _append(self, path: str, blocks: list[tuple[str, bytes]]) -> Append:
        file = self.desk.fresh(path)
        if file is None:
            return Append(path, None, crlf=False, blocks=tuple(blocks))
        if not file.lasting:
            self.desk.locked.sync(path)
        return Append(path, file.size, file.crlf, tuple(blocks))

    def _effect(self, key: str, item: Item, block: bytes) -> Effect:
        return Effect(
            action=item.action,
            target=Change.Target.ENTRY,
            key=key,
            before=item.row.version if item.row else "",
            after=parse.version(block),
            reason=item.reason,
            observation=item.observation,
        )

    def memory(self, item: Item) -> Memory:
        """The value of the entry once the batch is written."""
        bank = self.desk.bank
        position = item.row.position if item.row else 0
        row = revisions.planned_row(
            bank, item.path, item.after, self.block(item), position=position
        )
        if item.row is not None and _same_links(item):
            row.live, row.invalid_at = item.row.live, item.row.invalid_at
        replaced: set[str] = set()
        if row.entry_id not in self.desk.minted:
            pointing = Entry.objects.filter(bank=bank, superseded_by=row.entry_id)
            replaced |= set(pointing.values_list("entry_id", flat=True))
        for key, other in self.items.items():
            if other.after.superseded_by == row.entry_id:
                replaced.add(key)
            else:
                replaced.discard(key)
        return queries.memory_of(bank, row, sorted(replaced))

    def told(self, item: Item) -> dict[str, Any]:
        """`memory` as JSON, for the answer of an operation."""
        return asdict(self.memory(item))


def _same_links(item: Item) -> bool:
    before = item.before
    return before is not None and (before.superseded_by, before.invalidated) == (
        item.after.superseded_by,
        item.after.invalidated,
    )


def _same_text(entry: Block, text: str) -> bool:
    return names.normalise(entry.text) == names.normalise(text)
