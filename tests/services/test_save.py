"""Saving memories: files, rows, journal and answer agree."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.conf import settings

from banks import errors, queries, revisions, seams, sync
from banks.models import Change, Entry, Operation
from banks.operations import Idempotency
from banks.services import entries
from banks.services.drafts import Draft
from banks.services.entries import Saved
from banks.store import parse
from banks.store.types import Origin
from tests.builders import World, agent, save


def facts(world: World) -> bytes:
    path = settings.DATA_DIR / world.bank.name / "semantic_memory" / "facts.md"
    return path.read_bytes()


def test_save_appends_one_block_and_answers_what_a_re_read_gives(world: World) -> None:
    before = facts(world)
    saved = save(world, "Kiln 4 needs a 20 min purge", tags=("kiln",))
    after = facts(world)
    assert saved.created
    assert after.startswith(before)
    document = parse.document(after)
    assert [block.entry.text for block in document.blocks if block.entry] == [saved.memory.text]
    assert queries.memory(world.bank, saved.memory.id) == saved.memory
    assert saved.memory.path == "semantic_memory/facts.md"


def test_save_is_journalled_with_the_banks_next_number(world: World) -> None:
    first = Change.objects.filter(bank=world.bank).count()
    saved = save(world, "Valve 7 opens at 3 bar")
    change = Change.objects.get(bank=world.bank, key=saved.memory.id)
    assert (change.action, change.seq, change.actor) == ("created", first + 1, "user:editor")
    assert change.version_after == saved.memory.version
    assert Operation.objects.get(pk=change.operation_id).state == "done"


# field case A04
def test_save_of_a_known_text_reinforces_it(world: World) -> None:
    first = save(world, "Kiln 4 needs a 20 min purge")
    for text in ("Kiln 4 needs a 20 min purge", "Kiln 4  needs a 20 min purge\n"):
        again = save(world, text)
        assert not again.created
        assert again.memory.id == first.memory.id
    assert again.memory.corroboration == 2
    assert again.memory.text == first.memory.text
    assert Entry.objects.filter(bank=world.bank).count() == 1
    assert len(revisions.of_entry(world.bank, first.memory.id)) == 3


def test_save_raises_trust_only_when_a_person_says_it(world: World) -> None:
    agent_said = save(world, "Pump 2 is blue", origin=Origin.TOOL_RESULT)
    assert agent_said.memory.trust == "low"
    again = save(world, "Pump 2 is blue", origin=Origin.AGENT)
    assert again.memory.trust == "low"
    spoken = save(world, "Pump 2 is blue", origin=Origin.USER_FEEDBACK)
    assert spoken.memory.confidence == "stated"


def test_save_joins_tags_and_may_pin_but_never_unpins(world: World) -> None:
    save(world, "Pump 2 is blue", tags=("pump",), pinned=True)
    again = save(world, "Pump 2 is blue", tags=("colour",), pinned=False)
    assert again.memory.tags == ["pump", "colour"]
    assert again.memory.pinned


def test_the_same_observation_twice_counts_once(world: World) -> None:
    told = {"session": "s_1", "source_entry": "e_1"}
    save(world, "Pump 2 is blue", **told)
    assert save(world, "Pump 2 is blue", **told).memory.corroboration == 0
    other = save(world, "Pump 2 is blue", session="s_1", source_entry="e_2")
    assert other.memory.corroboration == 1
    assert save(world, "Pump 2 is blue", session="s_1", source_entry="e_2") == other


def test_save_of_a_deleted_text_revives_it(world: World) -> None:
    first = save(world, "Pump 2 is blue").memory
    entries.delete(world.editor, world.bank, first.id)
    again = save(world, "Pump 2 is blue")
    assert again.created
    assert (again.memory.id, again.memory.invalid_at, again.memory.revision) == (first.id, None, 2)


def test_a_fact_may_change_back(world: World) -> None:
    a = save(world, "Line 2 runs at 40 Hz").memory
    b = save(world, "Line 2 runs at 48 Hz", supersedes=a.id).memory
    again = save(world, "Line 2 runs at 40 Hz", supersedes=b.id)
    assert again.created
    assert again.memory.id not in (a.id, b.id)
    assert queries.memory(world.bank, b.id).superseded_by == again.memory.id
    assert again.memory.replaces == [b.id]


def test_an_episode_is_the_same_one_only_on_its_day(world: World) -> None:
    first = save(world, "Restarted the mixer", category="events").memory
    assert not save(world, "Restarted the mixer", category="events").created
    later = datetime.now(UTC) + timedelta(days=1)
    with seams.replaced(now=lambda: later):
        other = save(world, "Restarted the mixer", category="events")
    assert other.created
    assert other.memory.id != first.id


# field case A20
def test_an_id_that_is_taken_is_drawn_again(world: World) -> None:
    drawn = iter(["aaaaaa", "aaaaaa", "aaaaaa", "bbbbbb", "cccccc"])
    with seams.replaced(suffix=lambda: next(drawn)):
        saved = [save(world, f"{'x' * 60} number {n}").memory for n in range(3)]
    assert len({each.id for each in saved}) == 3
    assert len(parse.document(facts(world)).blocks) == 3


def test_save_without_a_category_finds_the_text_in_all_of_them(world: World) -> None:
    first = save(world, "Answer in short sentences", category="preferences").memory
    assert save(world, "Answer in short sentences").memory.id == first.id
    assert save(world, "Answer in short sentences", category="rules").created


def test_a_full_file_takes_no_new_entry(world: World) -> None:
    path = settings.DATA_DIR / "ops" / "semantic_memory" / "facts.md"
    with path.open("ab") as file:
        file.write(b"\n" * 1_000_001)
    sync.reload(world.bank)
    saved = save(world, "Pump 2 is blue").memory
    assert saved.path == "semantic_memory/facts-2.md"
    assert save(world, "Pump 3 is blue").memory.path == "semantic_memory/facts-2.md"
    assert save(world, "Pump 4 is blue", category="rules").memory.path.endswith("rules.md")


def test_a_procedure_gets_a_file_of_its_own_and_five_sections(world: World) -> None:
    saved = save(world, "Open the valve", category="procedure", title="Purge: the kiln!").memory
    assert saved.path == "procedural_memory/purge-the-kiln.md"
    assert saved.title == "Purge: the kiln!"
    assert saved.text.startswith("## When to use\n\n## Preconditions\n\n## Steps\n\nOpen the valve")
    other = save(world, "Close the valve", category="procedure", title="Purge the kiln").memory
    assert other.path != saved.path
    with pytest.raises(errors.TitleExists):
        save(world, "Shut the valve", category="procedure", title="purge the KILN")


# field case A25
def test_a_secret_is_masked_before_anything_is_written(world: World) -> None:
    secret = "sk-test-" + "0" * 28
    saved = save(world, f"use key {secret} for the pump API", tags=("api",))
    assert secret not in saved.memory.text
    assert "[redacted:" in saved.memory.text
    assert secret.encode() not in facts(world)
    change = Change.objects.get(bank=world.bank, key=saved.memory.id)
    assert change.reason.startswith("redacted: ")
    assert not Operation.objects.filter(effects__icontains=secret).exists()


# field cases A14 A15
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Start-up list\n\n---\n\nopen valve 3", "invalid_content"),
        ("ok\x1b[31mred", "invalid_content"),
        ("a\x00b", "invalid_content"),
        ("xy", "invalid_content"),
        ("x" * 2_001, "invalid_content"),
    ],
)
def test_a_text_that_would_not_read_back_is_refused_and_nothing_is_lost(
    world: World, text: str, code: str
) -> None:
    before = facts(world)
    with pytest.raises(errors.Invalid) as caught:
        save(world, text)
    assert caught.value.code == code
    assert facts(world) == before


# field case A15
@pytest.mark.parametrize("text", ["one\n--- \ntwo", "one\n  ---\ntwo", "--- one\ntwo ---"])
def test_lines_that_only_look_like_a_fence_survive_as_one_entry(world: World, text: str) -> None:
    saved = save(world, text).memory
    assert saved.text == text
    sync.reload(world.bank)
    assert queries.memory(world.bank, saved.id) == saved
    assert queries.list_memories(world.bank, queries.Filters()).total == 1


def test_save_many_refuses_a_bad_one_alone(world: World) -> None:
    drafts = [
        Draft(text=text) for text in ("Pump 2 is blue", "x", "Pump 3 is red", "Pump 2 is blue")
    ]
    results = entries.save_many(world.editor, world.bank, drafts)
    assert [isinstance(each, Saved) for each in results] == [True, False, True, True]
    first, _, _, again = results
    assert isinstance(first, Saved)
    assert isinstance(again, Saved)
    assert (again.created, again.memory.id, again.memory.corroboration) == (
        False,
        first.memory.id,
        1,
    )
    assert len(parse.document(facts(world)).blocks) == 2
    assert Change.objects.filter(bank=world.bank, target="entry").count() == 2


def test_the_same_key_gives_the_first_answer_and_writes_once(world: World) -> None:
    key = Idempotency("owner", "key-1", "body")
    draft = Draft(text="Pump 2 is blue")
    first = entries.save(world.editor, world.bank, draft, idempotency=key)
    assert entries.save(world.editor, world.bank, draft, idempotency=key) == first
    assert queries.memory(world.bank, first.memory.id).corroboration == 0
    with pytest.raises(errors.IdempotencyMismatch):
        entries.save(world.editor, world.bank, draft, idempotency=replace(key, body_digest="x"))
    tomorrow = datetime.now(UTC) + timedelta(hours=25)
    with seams.replaced(now=lambda: tomorrow):
        assert not entries.save(world.editor, world.bank, draft, idempotency=key).created
    assert queries.memory(world.bank, first.memory.id).corroboration == 1


def test_an_agent_may_restate_a_pinned_memory_but_not_change_it(world: World) -> None:
    first = save(world, "Pump 2 is blue", tags=("pump",), pinned=True).memory
    draft = Draft(text="Pump 2 is blue", tags=("other",), origin=Origin.AGENT)
    again = entries.save(agent(world), world.bank, draft).memory
    assert (again.tags, again.corroboration, again.trust) == (first.tags, 1, first.trust)
