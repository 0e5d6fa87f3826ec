"""After any sequence of operations, hand edits among them, rows and journal say what files say."""

import itertools

import pytest
from django.db import transaction
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from banks import doctor, revisions, seams
from banks.models import Change, Entry
from banks.store import names
from banks.store.types import Category
from tests import builders
from tests.disks import UnsyncedDisk
from tests.services.test_hand_edits import assert_rows_equal_files
from tests.services.test_index_follows import Story, acts, numbers, sessions, texts


def _assert_journal_is_whole(world: builders.World) -> None:
    """Numbers without a gap, and each entry's last change tells its version."""
    seqs = list(
        Change.objects.filter(bank=world.bank).order_by("seq").values_list("seq", flat=True)
    )
    assert seqs == list(range(1, len(seqs) + 1))
    for row in Entry.objects.filter(bank=world.bank):
        last = Change.objects.filter(bank=world.bank, key=row.entry_id).order_by("-seq")[0]
        assert last.version_after == row.version


def _assert_history_leads_here(world: builders.World) -> None:
    """Every memory has its current state on top and no state twice in a row."""
    for row in Entry.objects.filter(bank=world.bank):
        states = revisions.of_entry(world.bank, row.entry_id)
        assert states[0].memory.version == row.version
        versions = [state.memory.version for state in states]
        assert all(a != b for a, b in itertools.pairwise(versions))


def _assert_no_live_twins(world: builders.World, *, by_hand: bool) -> None:
    """Saves never leave two live memories of one text in a category; a person may."""
    live = Entry.objects.filter(bank=world.bank, live=True).exclude(category="events")
    keys = [(row.category, names.normalise(row.text)) for row in live]
    assert by_hand or len(keys) == len(set(keys))


@pytest.mark.wide  # a bank and its files for every example
@hypothesis_settings(max_examples=15)
@given(
    start=st.lists(st.tuples(texts, sessions), min_size=2, max_size=5),
    story=st.lists(acts, min_size=1, max_size=12),
)
@pytest.mark.django_db
def test_rows_and_journal_follow_whatever_happens(
    start: list[tuple[str, str | None]], story: list[tuple[object, ...]]
) -> None:
    with transaction.atomic(), seams.replaced(disk=UnsyncedDisk()):
        played = Story(builders.world(f"rows{next(numbers)}"))
        with seams.replaced(now=lambda: played.now):
            for text, session in start:
                played.play(("save", text, session, Category.FACTS))
            for act in story:
                played.play(act)
            hands = {"edit", "insert", "points", "cut", "session"}
            _assert_no_live_twins(played.world, by_hand=any(act[0] in hands for act in story))
            _assert_journal_is_whole(played.world)
            _assert_history_leads_here(played.world)
            assert doctor.stale_rows(played.world.bank) == []
            assert_rows_equal_files(played.world)
        transaction.set_rollback(True)
