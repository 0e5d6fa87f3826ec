"""What went wrong elsewhere, tried on the services from the input to all that has to be right."""

import shutil
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.conf import settings
from django.core import serializers

from banks import queries, seams, sync
from banks.access import SYSTEM
from banks.models import Bank, Change, Entry, Operation
from banks.queries import Filters, Memory
from banks.services import banks, entries, transfer
from banks.services.drafts import Draft, Patch
from recall.services import recall
from tests import byhand
from tests.builders import World, save
from tests.byhand import FACTS, block
from tests.disks import UnsyncedDisk


@pytest.fixture(autouse=True)
def quick_disk() -> Iterator[None]:
    """Power loss is not what these tests are about."""
    with seams.replaced(disk=UnsyncedDisk()):
        yield


def memories(bank: Bank, **filters: object) -> dict[str, Memory]:
    """By id, newest first."""
    page = queries.list_memories(bank, Filters(**filters))  # type: ignore[arg-type]  # by name
    assert page.total == len(page.memories)
    return {each.id: each for each in page.memories}


TWO = [
    block("m1", "Pump 1 hums\n\nat night", "tags: [pump, night]", summary="Pump 1"),
    block("m2", "Pump 2 rattles", "tags: [pump]"),
]
WINDOWS = "\n".join(TWO).replace("\n", "\r\n")
LAST_LINE = f"{TWO[0]}\n---\nid: m2\ncreated: 2026-01-03\ncategory: facts\ntags: [pump]\n---"
MIXED = TWO[0].replace("\n", "\r\n") + "\r\n" + TWO[1]


# field case A19
@pytest.mark.parametrize(
    ("content", "texts"),
    [
        (WINDOWS, ("Pump 1 hums\n\nat night", "Pump 2 rattles")),
        (LAST_LINE, ("Pump 1 hums\n\nat night", "")),
        (MIXED, ("Pump 1 hums\n\nat night", "Pump 2 rattles")),
    ],
    ids=["windows", "ends with a fence", "mixed"],
)
def test_line_ends_of_every_kind_are_read_and_kept(
    world: World, content: str, texts: tuple[str, str]
) -> None:
    file = byhand.write(FACTS, content)
    sync.reload(world.bank)
    found = memories(world.bank)
    assert (found["m1"].text, found["m2"].text) == texts
    assert (found["m1"].tags, found["m2"].tags) == (["pump", "night"], ["pump"])
    entries.update(world.editor, world.bank, "m1", Patch(text="Pump 1 hums\nagain", tags=("hum",)))
    old = content.encode()
    end = b"\r\n" if content.startswith("---\r\n") else b"\n"
    changed = file.read_bytes()
    # What follows the edited entry is as it was; within it every line ends as before.
    rest = old[old.index(b"---" + end + b"id: m2" if content is WINDOWS else b"---\nid: m2") :]
    assert changed.endswith(rest)
    mine = changed.removesuffix(rest)
    assert mine.count(b"\n") == mine.count(end)
    assert b"tags: [hum]" + end in mine
    assert b"Pump 1 hums" + end + b"again" + end in mine
    byhand.start_afresh(world.bank)
    again = memories(world.bank)
    assert (again["m1"].text, again["m2"]) == ("Pump 1 hums\nagain", found["m2"])


@pytest.fixture(params=["UTC", "Europe/Berlin"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The machine's time zone."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


# field case A24
@pytest.mark.usefixtures("zone")
def test_a_range_of_days_holds_the_same_in_every_zone(world: World) -> None:
    stamps = {
        "m1": "2026-03-31T23:30:00Z",
        "m2": "2026-04-01T00:30:00+02:00",
        "m3": "2026-03-31T23:59:59",
        "m4": "2026-04-01T00:00:00Z",
    }
    texts = [block(key, f"Gauge {key} is read", created=each) for key, each in stamps.items()]
    byhand.write(FACTS, "\n".join(texts))
    sync.reload(world.bank)
    range_ = {
        "since": datetime(2026, 1, 1, tzinfo=UTC),
        "until": datetime(2026, 4, 1, tzinfo=UTC),
    }
    assert list(memories(world.bank)) == ["m4", "m3", "m1", "m2"]
    assert list(memories(world.bank, **range_)) == ["m3", "m1", "m2"]
    told = recall(world.viewer, world.bank, "gauge", filters=Filters(**range_))
    assert {hit.memory.id for hit in told.memories} == {"m1", "m2", "m3"}
    entries.supersede(world.editor, world.bank, "m3", "m2")
    entries.supersede(world.editor, world.bank, "m2", "m4")
    assert set(memories(world.bank)) == {"m1", "m4"}


SECRETS = [
    "sk-test-" + "0" * 28,
    "-----BEGIN RSA PRIVATE KEY-----\nMIIBdummydummydummydummydummydummy\n"
    "ZHVtbXlkdW1teWR1bW15\n-----END RSA PRIVATE KEY-----",
    "postgres://u:dummy-pass@db/x",
]


# field case A25
@pytest.mark.parametrize("secret", SECRETS, ids=["key", "pem", "address"])
def test_a_secret_is_nowhere_after_a_save(
    world: World, secret: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("DEBUG"):
        first = save(world, f"For the pump API use {secret} today", summary="Pump API").memory
        entries.update(
            world.editor, world.bank, first.id, Patch(text=f"Pump API: {secret} until May")
        )
        assert recall(world.viewer, world.bank, "pump API").memories
    told = queries.memory(world.bank, first.id)
    assert told.text.startswith("Pump API: ")
    assert told.text.endswith(" until May")
    assert "[redacted:" in told.text
    rows = [*Entry.objects.all(), *Change.objects.all(), *Operation.objects.all()]
    kept = [*byhand.tree(settings.DATA_DIR).values(), *byhand.tree(settings.STATE_DIR).values()]
    kept += [serializers.serialize("json", rows).encode(), caplog.text.encode()]
    kept += [bytes(entry.block) for entry in Entry.objects.all()]
    for part in {"0" * 28, "MIIBdummy", "ZHVtbXlk", "dummy-pass"}:
        assert not [each for each in kept if part.encode() in each]
    for part in ("0" * 28, "MIIBdummydummydummydummydummydummy", "dummy-pass"):
        found = recall(world.viewer, world.bank, part).memories
        assert part not in "".join(hit.memory.text for hit in found)


# field case A37
@pytest.mark.django_db(transaction=True)
def test_a_copy_of_a_banks_folder_brings_back_all_it_had(world: World, tmp_path: Path) -> None:
    long_ago = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
    draft = Draft(text="Gate 1 was built", created=long_ago, pinned=True, tags=("gate", "old"))
    entries.save(world.maintainer, world.bank, draft)
    old = save(world, "Line 2 runs at 40 Hz").memory
    new = save(world, "Line 2 runs at 48 Hz", supersedes=old.id).memory
    odd = block("m1", "First line  \n\n  second line\t\nend", "widget: 0.10", summary="Odd")
    file = settings.DATA_DIR / "ops" / FACTS
    byhand.write(FACTS, f"{file.read_text()}\n{odd}")
    sync.reload(world.bank)
    before = memories(world.bank, include_superseded=True)
    copy = tmp_path / "copy"
    shutil.copytree(settings.DATA_DIR / "ops", copy)
    banks.trash(world.owner, world.bank)
    assert not (settings.DATA_DIR / "ops").exists()
    report = transfer.import_folder(SYSTEM, copy, "ops")
    assert (report.is_complete, report.findings) == (True, [])
    bank = Bank.objects.get(name="ops", state=Bank.State.ACTIVE)
    assert memories(bank, include_superseded=True) == before
    assert byhand.tree(settings.DATA_DIR / "ops") == byhand.tree(copy)
    assert before[old.id].superseded_by == new.id
    assert before["m1"].text == "First line  \n\n  second line\t\nend"
    assert b"widget: 0.10\n" in file.read_bytes()
    assert min(each.created_at for each in before.values()) == queries.milliseconds(long_ago)
