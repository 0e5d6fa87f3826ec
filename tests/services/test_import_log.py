"""Import of a `memories.jsonl`: every revision, ids of ours, pointers that lead on."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from banks import queries, revisions
from banks.access import SYSTEM
from banks.models import Bank, Change, Entry, Rule
from banks.services import transfer
from banks.store import names, router, tree
from tests.builders import World

pytestmark = pytest.mark.usefixtures("transactional_db")

DAY_MS = 86_400_000
START_MS = 1_780_000_000_000
FACTS = "semantic_memory/facts.md"


def record(text: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": names.fingerprint(text),
        "text": text,
        "entities": [],
        "tags": ["kiln"],
        "confidence": "stated",
        "corroboration": 0,
        "pinned": False,
        "created_at": START_MS,
        "updated_at": START_MS,
        "stated_at": START_MS,
        "revision": 0,
        **fields,
    }


def log(tmp_path: Path, *records: dict[str, Any] | str) -> Path:
    """A folder with these records, a string standing for a line as it is."""
    top = tmp_path / "source"
    (top / "rules").mkdir(parents=True, exist_ok=True)
    (top / "bank.yaml").write_text("description: Kilns\n")
    (top / "rules" / "style.md").write_text("# Style\n\nBe brief.\n")
    lines = [each if isinstance(each, str) else json.dumps(each) for each in records]
    (top / "memories.jsonl").write_text("\n".join(lines) + "\n")
    return top


def imported(name: str = "log") -> Bank:
    return Bank.objects.get(name=name)


def test_a_log_becomes_a_bank_with_all_revisions(tmp_path: Path) -> None:
    old, new = "Kiln 4 needs 20 min", "Kiln 4 needs 25 min"
    seen = record("Valve 7 sticks", confidence="inferred")
    later = START_MS + DAY_MS
    top = log(
        tmp_path,
        record(old, source={"session_id": "s1", "entry_id": "e1"}),
        record(new, pinned=True, created_at=later, updated_at=later, stated_at=later),
        seen,
        record(old, invalid_at=later, superseded_by=names.fingerprint(new), revision=1,
               updated_at=later, source={"session_id": "s1", "entry_id": "e1"}),
        {**seen, "corroboration": 1, "revision": 1, "updated_at": later, "stated_at": later},
        {**seen, "corroboration": 1, "revision": 2, "updated_at": later + 1, "stated_at": later,
             "text": "Valve 7"},
    )  # fmt: skip
    report = transfer.import_folder(SYSTEM, top, "log")
    assert (report.kind, report.entries, report.live, report.rules) == ("log", 3, 2, ["style"])
    assert report.is_complete
    bank = imported()
    assert bank.description == "Kilns"
    assert Rule.objects.get(bank=bank).content == "# Style\n\nBe brief.\n"
    loser, winner = (queries.memory(bank, names.fingerprint(text)) for text in (old, new))
    assert loser.superseded_by == winner.id
    assert (winner.replaces, winner.pinned, winner.trust) == ([loser.id], True, "high")
    assert loser.id.startswith("mem_2026-05-28_")
    assert (loser.former_id, loser.invalid_at) == (names.fingerprint(old), later)
    assert loser.source == queries.Source(session_id="s1", entry_id="e1", agent=None)
    acts = [(each.act, each.at, each.revision) for each in revisions.of_entry(bank, loser.id)]
    assert acts == [("superseded", later, 1), ("created", START_MS, 0)]
    valve = queries.memory(bank, seen["id"])
    assert (valve.text, valve.corroboration, valve.trust) == ("Valve 7", 1, "low")
    assert (valve.updated_at, valve.stated_at) == (later + 1, later)
    told = revisions.of_entry(bank, valve.id)
    assert [each.act for each in told] == ["updated", "reinforced", "created"]
    assert [each.memory.text for each in told] == ["Valve 7", "Valve 7 sticks", "Valve 7 sticks"]


def test_a_survivor_names_whom_it_replaced_first_unless_it_is_pinned(tmp_path: Path) -> None:
    new, pinned = record("Kiln 4 needs 25 min"), record("Kiln 5 needs none", pinned=True)
    losers = [
        record(f"Kiln 4 needs {minutes} min", superseded_by=new["id"]) for minutes in (10, 15)
    ]
    last = record("Kiln 5 needs 5 min", superseded_by=pinned["id"])
    transfer.import_folder(SYSTEM, log(tmp_path, *losers, last, new, pinned), "log")
    first = queries.memory(imported(), losers[0]["id"]).id
    assert queries.memory(imported(), new["id"]).supersedes == first
    assert queries.memory(imported(), pinned["id"]).supersedes is None


def test_its_routers_say_what_is_there(tmp_path: Path) -> None:
    transfer.import_folder(SYSTEM, log(tmp_path, record("Kiln 4 is hot")), "log")
    folder = settings.DATA_DIR / "log"
    rows = router.rows((folder / "semantic_memory/index.md").read_bytes())
    assert rows[0] == router.Row("facts.md", "Kiln 4 is hot", ("kiln",), "2026-05-28")
    rows = router.rows((folder / "index.md").read_bytes())
    days = {row.file: row.updated for row in rows}
    assert days["semantic_memory/index.md"] == "2026-05-28"
    assert days["episodic_memory/index.md"] == ""


def test_old_records_without_newer_keys_are_taken(tmp_path: Path) -> None:
    bare = {"id": "fp00", "text": "Bare", "confidence": "extracted", "created_at": START_MS}
    report = transfer.import_folder(SYSTEM, log(tmp_path, bare), "log")
    assert report.findings == []
    memory = queries.memory(imported(), "fp00")
    assert (memory.id, memory.former_id) == ("fp00", None)
    assert (memory.stated_at, memory.updated_at, memory.tags) == (START_MS, START_MS, [])
    assert memory.trust == "medium"


# field case A38
def test_a_bad_record_is_named_and_a_retry_doubles_nothing(tmp_path: Path) -> None:
    records: list[Any] = [record(f"Reading {number}") for number in range(5)]
    good = records[2]
    records[2] = {**good, "created_at": "yesterday-ish"}
    first = transfer.import_folder(SYSTEM, log(tmp_path, *records), "log")
    assert [(each.path, each.line, each.code) for each in first.findings] == [
        ("memories.jsonl", 3, "bad_value")
    ]
    assert (first.added, first.is_complete) == (4, False)
    records[2] = good
    second = transfer.import_folder(SYSTEM, log(tmp_path, *records), "log")
    assert (second.added, second.same, second.is_complete) == (1, 4, True)
    changes = Change.objects.count()
    third = transfer.import_folder(SYSTEM, log(tmp_path, *records), "log")
    assert (third.added, third.same) == (0, 5)
    assert Change.objects.count() == changes
    assert Entry.objects.count() == 5


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("{", "bad_json"),
        ("[1]", "bad_json"),
        ("[" * 100_000, "bad_json"),
        ('{"id": "fp1"}', "missing_text"),
        ('{"text": "x", "created_at": 1}', "missing_id"),
        ('{"id": "../x", "text": "x y", "created_at": 1}', "bad_id"),
        ('{"id": "a", "text": "x y"}', "missing_created_at"),
        ('{"id": "a", "text": "x y", "created_at": 9e99}', "bad_value"),
        ('{"id": "a", "text": "x y", "created_at": true}', "bad_value"),
        ('{"id": "a", "text": "x y", "created_at": 99999999999999999}', "bad_time"),
        ('{"id": "a", "text": "x\\n---\\ny", "created_at": 1}', "invalid_content"),
        ('{"id": "a", "text": "x\\u0000y", "created_at": 1}', "invalid_content"),
        ('{"id": "a", "text": "x\\ud800y", "created_at": 1}', "invalid_content"),
        ('{"id": "a", "text": " ", "created_at": 1}', "bad_value"),
        ('{"id": "a", "text": "x y", "tags": [1], "created_at": 1}', "bad_value"),
        ('{"id": "a", "text": "x y", "revision": -1, "created_at": 1}', "bad_value"),
        ('{"id": "a", "text": "x y", "category": "x", "created_at": 1}', "bad_value"),
        ('{"id": "a", "text": "x y", "superseded_by": "../b", "created_at": 1}', "bad_id"),
    ],
)
def test_a_line_that_is_no_memory_is_told(tmp_path: Path, line: str, code: str) -> None:
    top = log(tmp_path, record("Good one"), line)
    report = transfer.import_folder(SYSTEM, top, "log", dry_run=True)
    assert next(each.code for each in report.findings if each.line == 2) == code
    assert report.added == 1


def test_secrets_are_masked_in_every_revision(tmp_path: Path) -> None:
    first = record("The gate opens with password=Tr0ub4dor-and-three")
    second = {**first, "text": "The gate is open", "revision": 1, "updated_at": START_MS + 1}
    transfer.import_folder(SYSTEM, log(tmp_path, first, second), "log")
    for path in (settings.DATA_DIR / "log").rglob("*"):
        assert path.is_dir() or b"Tr0ub4dor" not in path.read_bytes()
    assert queries.memory(imported(), first["id"]).text == "The gate is open"


def test_a_log_joins_a_bank_and_a_second_time_changes_nothing(world: World, tmp_path: Path) -> None:
    old, new = record("Kiln 4 needs 20 min"), record("Kiln 4 needs 25 min")
    dead = {**old, "superseded_by": new["id"], "revision": 1, "invalid_at": START_MS + 1,
            "updated_at": START_MS + 1}  # fmt: skip
    top = log(tmp_path, old, new, dead)
    report = transfer.import_folder(SYSTEM, top, "ops")
    assert (report.added, report.is_new) == (2, False)
    memory = queries.memory(world.bank, old["id"])
    assert memory.superseded_by == queries.memory(world.bank, new["id"]).id
    assert len(revisions.of_entry(world.bank, memory.id)) == 2
    changes = Change.objects.count()
    again = transfer.import_folder(SYSTEM, top, "ops")
    assert (again.added, again.same, again.differing) == (0, 2, 0)
    assert Change.objects.count() == changes


def test_a_masked_secret_is_said_in_the_journal(world: World, tmp_path: Path) -> None:
    first = record("The gate opens with password=Tr0ub4dor-and-three")
    transfer.import_folder(SYSTEM, log(tmp_path, first), "ops")
    memory = queries.memory(world.bank, first["id"])
    assert Change.objects.get(key=memory.id).reason.startswith("redacted: ")


def test_a_loser_in_a_loop_or_with_a_lost_successor_is_kept_as_told(tmp_path: Path) -> None:
    one, two = record("One way"), record("Other way")
    lost = record("Lost way", superseded_by="fp0000000000000000")
    one["superseded_by"], two["superseded_by"] = two["id"], one["id"]
    report = transfer.import_folder(SYSTEM, log(tmp_path, one, two, lost), "log")
    assert report.live == 3
    assert Entry.objects.filter(live=True).count() == 3
    assert set(Entry.objects.values_list("link_problem", flat=True)) == {"loop", "dangling"}


def test_memory_files_beside_a_log_are_told_and_not_read(tmp_path: Path) -> None:
    top = log(tmp_path, record("Kiln 4 is hot"))
    (top / "preferences.md").write_text("# Mine\n")
    report = transfer.import_folder(SYSTEM, top, "log")
    assert [(each.path, each.code) for each in report.findings] == [("preferences.md", "not_read")]
    text = (settings.DATA_DIR / "log" / "preferences.md").read_text()
    assert text == tree.SEED_FILES["preferences.md"]
