"""The product in this process: banks and an index in temporary folders, asked by its services."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.quality.sets import Bank, Ranking, Said

BEST = 10
PORTION = 500
ROOM = 100_000
"""Tokens, so that none of the best is too long."""


@contextmanager
def installation() -> Iterator[None]:
    """An empty one, with the default settings."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MEMORYCONSOLE_DATA_DIR"] = str(Path(folder) / "memory")
        os.environ["MEMORYCONSOLE_STATE_DIR"] = str(Path(folder) / "state")
        os.environ["MEMORYCONSOLE_LOG_LEVEL"] = "ERROR"
        os.environ["DJANGO_SETTINGS_MODULE"] = "memoryconsole.settings"
        for name in ("memory", "state"):
            (Path(folder) / name).mkdir()
        import django  # noqa: PLC0415  its settings read the lines above

        django.setup()
        from django.core.management import call_command  # noqa: PLC0415

        call_command("migrate", verbosity=0)
        yield


class Ours:
    """A bank that was filled by saves, and is asked by recalls."""

    def __init__(self, bank: Bank) -> None:
        # Django's rows cannot be imported before its settings are there.
        from banks.access import SYSTEM  # noqa: PLC0415
        from banks.services import banks, entries  # noqa: PLC0415

        self._principal, self._entries = SYSTEM, entries
        self.bank, _ = banks.create(self._principal, bank.name)
        self._ids: dict[str, str] = {}
        for start in range(0, len(bank.said), PORTION):
            self._save(bank.said[start : start + PORTION])
        for said in bank.said:
            for _ in range(said.again):
                self._save([said])
            if said.replaces:
                old, new = self._ids[said.replaces], self._ids[said.key]
                entries.supersede(self._principal, self.bank, old, new)
        self._keys = {id_: key for key, id_ in self._ids.items()}
        # In a server the worker does it for a bank of more than a thousand memories.
        self.rebuild()

    def _save(self, portion: list[Said]) -> None:
        from banks.services.drafts import Draft  # noqa: PLC0415
        from banks.store.types import Category  # noqa: PLC0415

        drafts = [
            Draft(
                text=said.text,
                category=Category.EVENTS if said.is_event else None,
                entities=said.entities,
                session=said.session,
                created=said.at,
                pinned=said.pinned,
            )
            for said in portion
        ]
        saved = self._entries.save_many(self._principal, self.bank, drafts)
        for said, result in zip(portion, saved, strict=True):
            self._ids[said.key] = result.memory.id

    def __call__(self, question: str) -> Ranking:
        from recall.services import recall  # noqa: PLC0415

        hits = recall(self._principal, self.bank, question, limit=BEST).memories
        return [self._keys[hit.memory.id] for hit in hits]

    def given(self, message: str) -> Ranking:
        """What a turn with this message gets as hits, padding left out."""
        from recall.services import preview  # noqa: PLC0415

        told = preview(self._principal, self.bank, message, limit=BEST, budget_tokens=ROOM).given
        return [self._keys[each.memory.id] for each in told.memories if not each.ambient]

    def rebuild(self) -> None:
        """Index everything anew."""
        from recall import indexer  # noqa: PLC0415

        indexer.rebuild(self.bank)
