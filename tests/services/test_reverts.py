"""An earlier version brought back: as a new revision that names it; and the history of rules."""

from pathlib import Path

import pytest
from django.conf import settings

from banks import audit, errors, queries, revisions, sync
from banks.models import Change
from banks.queries import milliseconds
from banks.services import entries, rules
from banks.services.drafts import Patch
from banks.services.undo import undo
from banks.store.types import Trust
from tests.builders import World, agent, save
from tests.byhand import write

SECRET = "AKIA" + "Z7QK2MPLW3XN4RTB"


def states(world: World, name: str = "style") -> list[tuple[object, ...]]:
    return [
        (each.number, each.actor, each.act, each.reason, each.content)
        for each in revisions.of_rule(world.bank, name)
    ]


def set_style(world: World, content: str, reason: str | None = None) -> None:
    rules.set_rule(world.maintainer, world.bank, "style", content, reason=reason)


def test_a_revert_brings_the_words_back_and_leaves_the_rest(world: World) -> None:
    first = save(world, "Pump 1 is blue", tags=("pump",), entities=("pump 1",)).memory
    patch = Patch(text="Pump 1 is teal", tags=(), entities=(), trust=Trust.LOW, pinned=True)
    entries.update(world.editor, world.bank, first.id, patch)
    save(world, "Pump 1 is teal")
    back = entries.revert(world.editor, world.bank, first.id, first.version)
    assert (back.text, back.summary, back.tags, back.entities, back.trust) == (
        first.text, first.summary, first.tags, first.entities, first.trust,
    )  # fmt: skip
    assert (back.pinned, back.corroboration, back.revision) == (True, 1, 3)
    assert back.created_at == first.created_at
    last = revisions.of_entry(world.bank, first.id)[0]
    assert (last.act, last.reason) == ("reverted", "as in revision 0")
    assert audit.page(world.editor).deeds[0].reason == "as in revision 0"
    changes = Change.objects.count()
    again = entries.revert(world.editor, world.bank, first.id, first.version)
    assert entries.revert(world.editor, world.bank, first.id, back.version) == again == back
    assert Change.objects.count() == changes


def test_a_revert_is_refused_like_an_update(world: World) -> None:
    first = save(world, "Pump 1 is blue", pinned=True).memory
    second = entries.update(world.editor, world.bank, first.id, Patch(text="Pump 1 is teal"))
    with pytest.raises(errors.PinnedProtected):
        entries.revert(agent(world), world.bank, first.id, first.version)
    stale = entries.Expected(version=first.version)
    with pytest.raises(errors.StaleRevision):
        entries.revert(world.editor, world.bank, first.id, first.version, expected=stale)
    with pytest.raises(errors.Conflict, match="does not hold the earlier state"):
        entries.revert(world.editor, world.bank, first.id, "0" * 16)
    save(world, "Pump 1 is blue")
    with pytest.raises(errors.TextExists):
        entries.revert(world.editor, world.bank, first.id, first.version)
    with pytest.raises(errors.TextExists):
        undo(world.editor, world.bank, audit.of_version(world.bank, first.id, second.version) or "")
    entries.delete(world.editor, world.bank, first.id)
    with pytest.raises(errors.MemoryDead):
        entries.revert(world.editor, world.bank, first.id, first.version)


def test_a_secret_that_a_hand_wrote_does_not_come_back(world: World) -> None:
    first = save(world, "Pump 1 needs a key").memory
    path = Path(settings.DATA_DIR) / "ops" / first.path
    write(first.path, path.read_text().replace("needs a key", f"needs {SECRET}"))
    sync.look(world.bank, force=True)
    leaked = queries.memory(world.bank, first.id)
    assert SECRET in leaked.text
    entries.update(world.editor, world.bank, first.id, Patch(text="Pump 1 needs no key"))
    back = entries.revert(world.editor, world.bank, first.id, leaked.version)
    assert SECRET not in back.text
    reason = revisions.of_entry(world.bank, first.id)[0].reason or ""
    assert reason.startswith("as in revision 0; redacted: ")
    write("rules/style.md", f"Use {SECRET}.\n")
    sync.look(world.bank, force=True)
    version = queries.rule(world.bank, "style").version
    set_style(world, "Use none.\n")
    rules.revert(world.maintainer, world.bank, "style", version)
    assert SECRET not in queries.rule(world.bank, "style").content


def test_the_history_of_a_rule_tells_who_wrote_each_content_and_why(world: World) -> None:
    set_style(world, "Be brief.\n", "First try.")
    write("rules/style.md", "Be very brief.\n")
    sync.look(world.bank, force=True)
    set_style(world, f"Never say {SECRET}.\n", "Too strict.")
    set_style(world, "", "Not needed.")
    by = "user:maintainer"
    masked = states(world)[1]
    assert str(masked[3]).startswith("Too strict.; redacted: ")
    assert states(world) == [
        (4, by, "removed", "Not needed.", ""),
        (3, by, "replaced", masked[3], masked[4]),
        (2, "disk", "changed on disk", "found on disk", "Be very brief.\n"),
        (1, by, "created", "First try.", "Be brief.\n"),
    ]
    times = Change.objects.filter(key="style").order_by("-seq").values_list("at", flat=True)
    told = [each.at for each in revisions.of_rule(world.bank, "style")]
    assert told == [milliseconds(at) for at in times]


def test_a_removed_rule_that_comes_back_keeps_all_of_its_history(world: World) -> None:
    set_style(world, "Be brief.\n")
    set_style(world, "")
    undo(world.maintainer, world.bank, audit.of_version(world.bank, "style", "") or "")
    set_style(world, "Be long.\n")
    told = [(each[2], each[4]) for each in states(world)]
    assert told == [
        ("replaced", "Be long.\n"),
        ("undone", "Be brief.\n"),
        ("removed", ""),
        ("created", "Be brief.\n"),
    ]


def test_a_rule_that_a_hand_removed_and_wrote_again_says_so(world: World) -> None:
    set_style(world, "Be brief.\n")
    (Path(settings.DATA_DIR) / "ops/rules/style.md").unlink()
    sync.look(world.bank, force=True)
    write("rules/style.md", "Be brief.\n")
    sync.look(world.bank, force=True)
    told = [(each[1], each[2], each[4]) for each in states(world)]
    assert told == [
        ("disk", "created", "Be brief.\n"),
        ("disk", "changed on disk", ""),
        ("user:maintainer", "created", "Be brief.\n"),
    ]
    write("rules/style.md", "Be kind.\n")
    sync.look(world.bank, force=True)
    assert states(world)[0][1:] == ("disk", "replaced", "found on disk", "Be kind.\n")


def test_a_rule_goes_back_to_an_earlier_content_or_to_none(world: World) -> None:
    set_style(world, "Be brief.\n")
    first = queries.rule(world.bank, "style").version
    set_style(world, "Be long.\n")
    with pytest.raises(errors.StaleRevision):
        rules.revert(world.maintainer, world.bank, "style", first, expected=first)
    assert rules.revert(world.maintainer, world.bank, "style", first)
    assert states(world)[0] == (3, "user:maintainer", "reverted", "as in revision 1", "Be brief.\n")
    changes = Change.objects.count()
    assert rules.revert(world.maintainer, world.bank, "style", first)
    assert Change.objects.count() == changes
    set_style(world, "")
    second = revisions.of_rule(world.bank, "style")[2].version
    rules.revert(world.maintainer, world.bank, "style", second)
    assert not rules.revert(world.maintainer, world.bank, "style", "")
    with pytest.raises(errors.Conflict):
        rules.revert(world.maintainer, world.bank, "style", "0" * 16)
    for unknown in ("tone", "../style", ""):
        with pytest.raises(errors.RuleNotFound):
            revisions.of_rule(world.bank, unknown)


def test_a_history_without_a_journal_says_what_it_does_not_know(world: World) -> None:
    set_style(world, "Be brief.\n")
    set_style(world, "Be long.\n")
    Change.objects.filter(key="style").delete()
    last, first = revisions.of_rule(world.bank, "style")
    assert (last.actor, last.act) == ("user:maintainer", "replaced")
    assert (first.at, first.actor, first.act) == (None, "", "created")
