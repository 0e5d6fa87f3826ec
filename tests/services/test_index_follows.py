"""After any sequence of operations, hand edits among them, the index is as a fresh rebuild."""

import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.db import transaction
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from banks import errors, seams, sync
from banks.models import Entry
from banks.services import entries
from banks.services.drafts import Draft, Patch
from banks.store import parse
from banks.store.types import Category
from recall import indexer
from tests import builders
from tests.disks import UnsyncedDisk
from tests.services.index_contents import assert_index_is_as_rebuilt

# Later than any file's own time, so that no write waits for a hand edit to settle.
START = datetime(2100, 3, 1, tzinfo=UTC)
WORDS = ("pump", "kiln", "valve", "crane", "oven", "gauge")

texts = st.lists(st.sampled_from(WORDS), min_size=2, max_size=5).map(" ".join)
sessions = st.sampled_from((None, "s1", "s1", "s1", "s2"))
categories = st.sampled_from((Category.FACTS, Category.EVENTS, Category.PREFERENCES))
which = st.integers(0, 30)
numbers = itertools.count()
acts = st.one_of(
    st.tuples(st.just("save"), texts, sessions, categories),
    st.tuples(st.just("save"), texts, sessions, categories),
    st.tuples(st.just("update"), which, texts),
    st.tuples(st.just("delete"), which),
    st.tuples(st.just("restore"), which),
    st.tuples(st.just("supersede"), which, which),
    st.tuples(st.just("edit"), which, texts),
    st.tuples(st.just("cut"), which),
    st.tuples(st.just("session"), which, sessions),
    st.tuples(st.just("points"), which, which),
    st.tuples(st.just("insert"), which, texts, sessions),
)


class Story:
    """Plays acts on one bank. Time passes between them, so that every look believes the disk."""

    def __init__(self, world: builders.World) -> None:
        self.world = world
        self.now = START
        self.inserted = 0

    def play(self, act: tuple[object, ...]) -> None:
        name, *args = act
        self.now += timedelta(minutes=20)
        try:
            getattr(self, str(name))(*args)
        except errors.DomainError:
            # Refusals are part of the story: the index has to follow what did happen.
            return

    def _key(self, number: int) -> str:
        keys = list(Entry.objects.filter(bank=self.world.bank).order_by("pk"))
        if not keys:
            raise errors.MemoryNotFound
        return keys[number % len(keys)].entry_id

    def _path(self, key: str) -> Path:
        row = Entry.objects.select_related("file").get(bank=self.world.bank, entry_id=key)
        return Path(settings.DATA_DIR) / self.world.bank.name / row.file.path

    def _by_hand(self, key: str, change: Callable[[bytes], bytes]) -> None:
        path = self._path(key)
        data = path.read_bytes()
        row = Entry.objects.get(bank=self.world.bank, entry_id=key)
        [span] = [
            each
            for each in parse.spans(data)
            if parse.version(data[each.start : each.end]) == row.version
        ]
        block = data[span.start : span.end]
        path.write_bytes(data[: span.start] + change(block) + data[span.end :])
        self._look()

    def _look(self) -> None:
        for _ in range(2):
            self.now += timedelta(minutes=20)
            sync.look(self.world.bank, force=True)

    def save(self, text: str, session: str | None, category: Category) -> None:
        draft = Draft(text=text, session=session, category=category)
        entries.save(self.world.editor, self.world.bank, draft)

    def update(self, number: int, text: str) -> None:
        entries.update(self.world.editor, self.world.bank, self._key(number), Patch(text=text))

    def delete(self, number: int) -> None:
        entries.delete(self.world.editor, self.world.bank, self._key(number))

    def restore(self, number: int) -> None:
        entries.restore(self.world.editor, self.world.bank, self._key(number))

    def supersede(self, number: int, other: int) -> None:
        bank = self.world.bank
        entries.supersede(self.world.editor, bank, self._key(number), self._key(other))

    def edit(self, number: int, text: str) -> None:
        body = text.encode()
        self._by_hand(
            self._key(number),
            lambda block: block[: block.rindex(b"---") + 4] + b"\n" + body + b"\n",
        )

    def cut(self, number: int) -> None:
        self._by_hand(self._key(number), lambda block: b"")

    def session(self, number: int, session: str | None) -> None:
        def change(block: bytes) -> bytes:
            lines = [line for line in block.split(b"\n") if not line.startswith(b"session:")]
            if session:
                lines.insert(2, b"session: " + session.encode())
            return b"\n".join(lines)

        self._by_hand(self._key(number), change)

    def points(self, number: int, other: int) -> None:
        target = self._key(other).encode()

        def change(block: bytes) -> bytes:
            lines = [line for line in block.split(b"\n") if not line.startswith(b"superseded_by:")]
            lines.insert(2, b"superseded_by: " + target)
            return b"\n".join(lines)

        self._by_hand(self._key(number), change)

    def insert(self, number: int, text: str, session: str | None) -> None:
        """A new block before another one."""
        self.inserted += 1
        more = f"session: {session}\n" if session else ""
        fresh = (
            f"---\nid: m{self.inserted}\ncreated: 2026-02-03T04:05:06Z\ncategory: facts\n{more}"
            f"---\n\n{text}\n\n"
        )
        self._by_hand(self._key(number), lambda block: fresh.encode() + block)


@pytest.mark.wide  # a bank, its files and two indexes for every example
@hypothesis_settings(max_examples=12)
@given(
    start=st.lists(st.tuples(texts, sessions), min_size=2, max_size=6),
    story=st.lists(st.tuples(acts, st.booleans()), min_size=1, max_size=12),
)
@pytest.mark.django_db
def test_the_index_follows_whatever_happens(
    start: list[tuple[str, str | None]], story: list[tuple[tuple[object, ...], bool]]
) -> None:
    with transaction.atomic(), seams.replaced(disk=UnsyncedDisk()):
        played = Story(builders.world(f"ops{next(numbers)}"))
        with seams.replaced(now=lambda: played.now):
            for text, session in start:
                played.play(("save", text, session, Category.FACTS))
            indexer.catch_up(played.world.bank)
            for act, is_recalled in story:
                played.play(act)
                if is_recalled:
                    indexer.catch_up(played.world.bank)
            assert_index_is_as_rebuilt(played.world.bank)
        transaction.set_rollback(True)
