"""The index follows the journal, and is built anew when it cannot be trusted."""

import json
import shutil
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.conf import settings

from banks import config, followers, queries, sync
from banks.models import Bank, Change, Entry
from banks.services import banks, entries
from banks.services.drafts import Draft, Patch
from banks.store.types import Category
from recall import doctor, indexer
from recall.index import MANY_SEGMENTS, IndexUnavailable
from recall.indexer import IndexState
from recall.services import recall
from tests.builders import World, save, save_all
from tests.services.index_contents import assert_index_is_as_rebuilt, contents

OK = IndexState("ok", 0)


def found(world: World, query: str, **options: object) -> list[str]:
    hits = recall(world.viewer, world.bank, query, **options).memories  # type: ignore[arg-type]  # options by name
    return [hit.memory.text for hit in hits]


def stamp_file(world: World) -> Path:
    folder = indexer.folder_of(world.bank)
    return folder / (folder / "CURRENT").read_text() / "stamp.json"


def rewrite_stamp(world: World, **fields: object) -> None:
    path = stamp_file(world)
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


def generation(world: World) -> int:
    return indexer.index_of(world.bank).stamp().generation


def test_catching_up_stands_at_the_last_change(world: World) -> None:
    saved = save(world, "The purge of kiln 4 takes 20 minutes.").memory
    assert indexer.standing(world.bank) == IndexState("unavailable", world.bank.head)
    assert indexer.catch_up(world.bank) == OK
    last = Change.objects.filter(bank=world.bank).latest("seq")
    stamp = indexer.index_of(world.bank).stamp()
    assert (stamp.seq, stamp.uid) == (last.seq, last.uid)
    assert indexer.index_of(world.bank).ids() == {saved.id}
    save(world, "Kiln 5 has no purge.")
    assert indexer.lag(world.bank) == 1
    assert indexer.catch_up(world.bank) == OK
    assert indexer.lag(world.bank) == 0


def test_the_folders_of_indexes_are_closed_to_others(world: World) -> None:
    indexer.catch_up(world.bank)
    for folder in (indexer.root(), indexer.folder_of(world.bank), stamp_file(world).parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_catch_up_with_nothing_new_writes_nothing(world: World) -> None:
    save(world, "The purge of kiln 4 takes 20 minutes.")
    indexer.catch_up(world.bank)
    before = stamp_file(world).stat()
    indexer.catch_up(world.bank)
    assert stamp_file(world).stat() == before


def test_an_index_that_was_deleted_comes_back_with_the_same_answers(world: World) -> None:
    save_all(world, (f"Valve {n} of line {n % 3} is serviced in week {n}." for n in range(12)))
    before = recall(world.viewer, world.bank, "valve of line 2")
    shutil.rmtree(settings.STATE_DIR / "index")
    after = recall(world.viewer, world.bank, "valve of line 2")
    assert len(before.memories) == config.current().recall_limit
    assert [hit.memory for hit in after.memories] == [hit.memory for hit in before.memories]
    assert after.index == OK


@pytest.mark.parametrize(
    "wrong",
    [
        {"uid": "0" * 32},
        {"seq": 10_000},
        {"version": "0/en"},
        {"generation": 99},
        {"toc": 99},
        {"boot": "an earlier one"},
    ],
)
def test_a_stamp_that_cannot_be_trusted_means_rebuild(
    world: World, wrong: dict[str, object]
) -> None:
    save(world, "The purge of kiln 4 takes 20 minutes.")
    indexer.catch_up(world.bank)
    save(world, "Kiln 5 has no purge.")
    indexer.catch_up(world.bank)
    before = generation(world)
    rewrite_stamp(world, **wrong)
    save(world, "Kiln 6 is cold.")
    assert len(found(world, "kiln")) == 3
    assert generation(world) != before


def test_an_older_format_means_rebuild_though_nothing_changed(world: World) -> None:
    save(world, "The purge of kiln 4 takes 20 minutes.")
    indexer.catch_up(world.bank)
    before = generation(world)
    rewrite_stamp(world, version="0/en")
    assert len(found(world, "kiln")) == 1
    assert generation(world) != before


def test_a_damaged_segment_is_found_out_and_repaired(world: World) -> None:
    save(world, "The purge of kiln 4 takes 20 minutes.")
    indexer.catch_up(world.bank)
    for path in stamp_file(world).parent.glob("*.seg"):
        path.unlink()
    told = recall(world.viewer, world.bank, "kiln purge")
    assert [hit.memory.text for hit in told.memories] == ["The purge of kiln 4 takes 20 minutes."]
    assert (told.index, told.retrieval) == (OK, "bm25-entity")


def test_another_language_of_the_bank_means_rebuild(world: World) -> None:
    save(world, "Prüfungen sind jede Woche.")
    assert found(world, "Prüfung") == []
    file = Path(settings.DATA_DIR) / "ops" / "bank.yaml"
    file.write_text(file.read_text() + "language: de\n")
    sync.look(world.bank, force=True)
    assert found(world, "Prüfung") == ["Prüfungen sind jede Woche."]
    assert indexer.index_of(world.bank).stamp().version.endswith("/de")


def test_a_word_of_the_neighbour_in_a_session_finds_a_memory(world: World) -> None:
    first = save(world, "Which oven did we fix?", session="s1")
    other = save(world, "Nothing was planned.", session="s2")
    second = save(world, "The big one in hall 3.", session="s1")
    assert set(found(world, "oven")) == {first.memory.text, second.memory.text}
    entries.update(world.editor, world.bank, first.memory.id, Patch(text="Which crane did we fix?"))
    assert found(world, "oven") == []
    assert second.memory.text in found(world, "crane")
    entries.delete(world.editor, world.bank, first.memory.id)
    assert found(world, "crane") == []
    assert found(world, "planned") == [other.memory.text]
    assert_index_is_as_rebuilt(world.bank)


def test_a_dead_memory_at_an_end_of_its_session_gets_new_neighbours_too(world: World) -> None:
    texts = ("The oven is hot.", "The fan is new.", "The crane is slow.", "The valve leaks.")
    first, *_ = (save(world, text, session="s1").memory for text in texts[:2])
    entries.delete(world.editor, world.bank, first.id)
    indexer.catch_up(world.bank)
    save(world, texts[2], session="s1")
    assert_index_is_as_rebuilt(world.bank)
    last = save(world, texts[3], session="s2").memory
    fan, crane = (save(world, f"{text} Again.", session="s2").memory for text in texts[1:3])
    for dead in (crane, last):
        entries.delete(world.editor, world.bank, dead.id)
    indexer.catch_up(world.bank)
    entries.restore(world.editor, world.bank, last.id)
    assert_index_is_as_rebuilt(world.bank)
    assert fan.text in found(world, "valve")


def test_a_memory_between_neighbours_that_dies_brings_them_together(world: World) -> None:
    texts = ("The oven is hot.", "The fan is new.", "The crane is slow.", "The valve leaks.")
    first, fan, crane, last = (save(world, text, session="s1").memory for text in texts)
    assert set(found(world, "valve")) == {fan.text, crane.text, last.text}
    entries.delete(world.editor, world.bank, crane.id)
    assert set(found(world, "valve")) == {first.text, fan.text, last.text}
    entries.restore(world.editor, world.bank, crane.id)
    assert set(found(world, "valve")) == {fan.text, crane.text, last.text}
    assert_index_is_as_rebuilt(world.bank)


def test_a_predecessor_dies_in_the_index_when_its_successor_appears_on_disk(world: World) -> None:
    saved = save(world, "Line 2 runs at 40 Hz.").memory
    file = Path(settings.DATA_DIR) / "ops" / "semantic_memory" / "facts.md"
    file.write_bytes(file.read_bytes().replace(b"\nsummary:", b"\nsuperseded_by: m2\nsummary:", 1))
    sync.reload(world.bank)
    assert found(world, "line 2") == [saved.text]
    with file.open("a") as open_file:
        open_file.write(
            "\n---\nid: m2\ncreated: 2026-01-02T03:04:05Z\ncategory: facts\n---\n\n"
            "Line 2 runs at 48 Hz.\n"
        )
    sync.reload(world.bank)
    assert found(world, "line 2") == ["Line 2 runs at 48 Hz."]
    assert indexer.index_of(world.bank).retired_ids() == {saved.id}
    assert_index_is_as_rebuilt(world.bank)


def test_one_call_applies_a_part_and_the_next_ones_the_rest(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    indexer.catch_up(world.bank)
    monkeypatch.setattr(indexer, "MOST_CHANGES", 2)
    for number in range(5):
        save(world, f"Valve {number} is new.")
    assert indexer.catch_up(world.bank) == IndexState("behind", 3)
    assert indexer.catch_up(world.bank) == IndexState("behind", 1)
    assert indexer.catch_up(world.bank) == OK
    assert_index_is_as_rebuilt(world.bank)


HOLDER = """
import sys
from pathlib import Path
from recall.index import Index
with Index(Path(sys.argv[1])).writing():
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def busy_index(world: World) -> Iterator[Callable[[], object]]:
    """Another process holds the writer of the bank's index, until this is called."""
    save(world, "Gauge 1 reads 1 bar.")
    indexer.catch_up(world.bank)
    command = [sys.executable, "-c", HOLDER, str(indexer.folder_of(world.bank))]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=settings.BASE_DIR
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        yield holder.communicate


# field case A08
def test_saves_and_deletes_work_while_another_writer_holds_the_index(
    world: World, busy_index: Callable[[], object]
) -> None:
    [old] = queries.list_memories(world.bank, queries.Filters()).memories
    save(world, "Gauge 2 reads 2 bar.")
    entries.delete(world.editor, world.bank, old.id)
    assert indexer.catch_up(world.bank, wait_s=0) == IndexState("behind", 2)
    busy_index()
    deadline = time.monotonic() + 10
    while indexer.catch_up(world.bank) != OK:
        assert time.monotonic() < deadline
    assert found(world, "gauge bar") == ["Gauge 2 reads 2 bar."]


# field case A08
def test_a_lock_file_that_merely_exists_locks_nothing(world: World) -> None:
    indexer.catch_up(world.bank)
    for name in ("MAIN_WRITELOCK", "WRITELOCK"):
        (stamp_file(world).parent / name).touch()
    save(world, "Gauge 1 reads 1 bar.")
    assert indexer.catch_up(world.bank, wait_s=0) == OK


# field case A46
def test_recall_says_that_a_rebuild_runs(world: World) -> None:
    save(world, "The purge of kiln 4 takes 20 minutes.")
    told: list[IndexState] = []

    def progress(done: int, total: int) -> None:
        told.append(indexer.catch_up(world.bank, wait_s=0))
        assert (done, total) == (1, 1)

    indexer.rebuild(world.bank, progress)
    assert told == [IndexState("rebuilding", world.bank.head)]
    assert indexer.catch_up(world.bank) == OK


def test_a_change_during_a_rebuild_is_not_lost(world: World) -> None:
    save(world, "Valve 1 is new.")

    def progress(done: int, total: int) -> None:
        save(world, "Valve 2 is new.")

    indexer.rebuild(world.bank, progress)
    assert set(found(world, "new valve")) == {"Valve 1 is new.", "Valve 2 is new."}


def test_a_large_bank_is_left_to_the_worker(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Bank] = []

    def aside(bank: Bank) -> bool:
        asked.append(bank)
        return True

    monkeypatch.setattr(indexer, "MOST_ROWS_AT_ONCE", 1)
    monkeypatch.setattr(indexer, "_build_aside", aside)
    save(world, "The purge of kiln 4 takes 20 minutes.")
    save(world, "Kiln 5 has no purge.")
    told = recall(world.viewer, world.bank, "purges kiln")
    assert {hit.memory.text for hit in told.memories} == {
        "The purge of kiln 4 takes 20 minutes.",
        "Kiln 5 has no purge.",
    }
    assert told.retrieval == "lexical"
    assert told.index == IndexState("unavailable", world.bank.head)
    indexer.follow()
    assert asked == [world.bank]


def test_a_folder_that_refuses_leaves_the_rows_to_answer(world: World) -> None:
    save(world, "The purge of kiln 4 takes 20 minutes.")
    (settings.STATE_DIR / "index").write_text("in the way")
    told = recall(world.viewer, world.bank, "kiln purge")
    assert [hit.memory.text for hit in told.memories] == ["The purge of kiln 4 takes 20 minutes."]
    assert (told.retrieval, told.index.state) == ("lexical", "unavailable")
    with pytest.raises(IndexUnavailable):
        indexer.rebuild(world.bank)


def test_the_follower_catches_up_every_bank_and_merges_segments(world: World) -> None:
    other, _ = banks.create(world.admin, "other")
    entries.save(world.admin, other, Draft(text="A crane is here."))
    save(world, "Valve 0 is new.")
    assert indexer.follow() == 2
    assert indexer.follow() == 0
    for number in range(1, MANY_SEGMENTS + 1):
        save(world, f"Valve {number} is new.")
        indexer.catch_up(world.bank)
    assert indexer.index_of(world.bank).segment_count() > MANY_SEGMENTS
    assert indexer.follow() == 1
    assert indexer.index_of(world.bank).segment_count() <= MANY_SEGMENTS
    assert len(contents(world.bank)) == MANY_SEGMENTS + 1


def test_segments_are_merged_beside_the_request_when_no_worker_does(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexer, "TOO_MANY_SEGMENTS", 4)
    for number in range(8):
        save(world, f"Valve {number} is new.")
        indexer.catch_up(world.bank)
        for thread in threading.enumerate():
            if thread.name == "index":
                thread.join()
    assert indexer.index_of(world.bank).segment_count() <= 5
    assert_index_is_as_rebuilt(world.bank)


def test_indexes_that_were_not_used_for_longest_give_back_their_memory(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, _ = banks.create(world.admin, "other")
    entries.save(world.admin, other, Draft(text="A valve is here."))
    save(world, "Valve 1 is new.")
    recall(world.admin, other, "valve")
    assert len(found(world, "valve")) == 1
    first, last = indexer.index_of(other), indexer.index_of(world.bank)
    monkeypatch.setattr(indexer, "MOST_PACKED_BYTES", last.packed_bytes())
    assert indexer.index_of(world.bank) is last
    assert (first.packed_bytes(), last.packed_bytes() > 0) == (0, True)
    monkeypatch.setattr(indexer, "MOST_PACKED_BYTES", 1)
    assert indexer.index_of(world.bank) is last
    assert last.packed_bytes() == 0
    assert len(found(world, "valve")) == 1


def test_an_index_at_rest_is_settled_and_outlives_a_reboot(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(world, "Valve 1 is new.")
    indexer.catch_up(world.bank)
    save(world, "Valve 2 is new.")
    monkeypatch.setattr(indexer, "SETTLE_AFTER_S", 0.0)
    indexer.follow()
    assert not indexer.index_of(world.bank).stamp().clean
    indexer.follow()
    assert indexer.index_of(world.bank).stamp().clean
    before = generation(world)
    rewrite_stamp(world, boot="an earlier one")
    assert len(found(world, "valve")) == 2
    assert generation(world) == before
    save(world, "Valve 3 is new.")
    indexer.catch_up(world.bank)
    indexer.settle_all()
    assert indexer.index_of(world.bank).stamp().clean


def test_the_index_of_a_bank_that_is_gone_is_removed(world: World) -> None:
    save(world, "Valve 1 is new.")
    indexer.follow()
    banks.trash(world.owner, world.bank)
    indexer.follow()
    assert indexer.folder_of(world.bank).exists()
    folder = indexer.folder_of(world.bank)
    (indexer.root() / "notes").mkdir()
    Bank.objects.filter(pk=world.bank.pk).delete()
    indexer.follow()
    assert not folder.exists()
    assert (indexer.root() / "notes").exists()


def test_the_worker_runs_the_follower(world: World) -> None:
    save(world, "Valve 1 is new.")
    followers.run_all()
    assert indexer.standing(world.bank) == OK


def test_order_of_blocks_makes_neighbours_not_times(world: World) -> None:
    late, early = datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 1, tzinfo=UTC)
    said = (("Fans stop.", late), ("Ovens stop.", early), ("Pumps stop.", early), ("Cranes", late))
    for text, created in said:
        draft = Draft(text=text, created=created, category=Category.EVENTS, session="s1")
        entries.save(world.maintainer, world.bank, draft)
    assert set(found(world, "fans")) == {"Fans stop.", "Ovens stop.", "Pumps stop."}


def test_the_doctor_tells_a_dead_memory_that_the_index_has_alive(world: World) -> None:
    saved = save(world, "Valve 1 is new.").memory
    indexer.catch_up(world.bank)
    Entry.objects.filter(bank=world.bank, entry_id=saved.id).update(live=False)
    [content] = [check for check in doctor.checks() if check.name == "index content"]
    assert [each.code for each in content.findings] == ["index_differs"]
    assert not content.ok


def test_the_doctor_tells_an_index_that_grew_out_of_proportion(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(world, "Valve 1 is new.")
    monkeypatch.setattr(doctor, "SMALL_BYTES", 0)
    monkeypatch.setattr(doctor, "BYTES_A_MEMORY", 50_000)
    indexer.catch_up(world.bank)
    assert all(check.ok for check in doctor.checks() if check.name == "index size")
    (indexer.folder_of(world.bank) / "left over").write_bytes(b"x" * 50_000)
    [size] = [check for check in doctor.checks() if check.name == "index size"]
    assert [each.code for each in size.findings] == ["index_large"]
    assert not size.required


def test_the_doctor_tells_a_fast_search_that_finds_something_else(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(world, "Valve 1 is new.")
    indexer.catch_up(world.bank)
    assert all(check.ok for check in doctor.checks() if check.name == "index arrays")
    monkeypatch.setattr("recall.index.packed.K1", 1.3)
    [arrays] = [check for check in doctor.checks() if check.name == "index arrays"]
    assert [each.code for each in arrays.findings] == ["index_arrays_differ"]
    assert not arrays.required
