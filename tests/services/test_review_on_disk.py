"""What decisions about a run do to the files: that, and nothing else; and the journal says who."""

import difflib
from pathlib import Path

from django.conf import settings

from banks.models import Bank, Change
from banks.services import entries
from banks.services.drafts import Patch
from recall.learning import proposals, runs
from tests import byhand
from tests.builders import World, save
from tests.chat import Scripted, array
from tests.services.passes import consolidated, episode, told

FACTS = "semantic_memory/facts.md"
Lines = dict[str, list[str]]


class Folder:
    """The data folder, and how it differs from the last look."""

    def __init__(self) -> None:
        self.last: dict[str, bytes] = {}
        self.difference()

    def difference(self) -> Lines:
        """Lines that came (+) and went (-) since the last look, by file."""
        before, self.last = self.last, byhand.tree(Path(settings.DATA_DIR) / "ops")
        found: Lines = {}
        for path in sorted(before.keys() | self.last.keys()):
            old, new = (each.get(path, b"").decode().splitlines() for each in (before, self.last))
            lines = [line for line in difflib.ndiff(old, new) if line[0] in "+-"]
            if lines:
                found[path] = lines
        return found


def shown(*texts: str) -> list[str]:
    """The lines of new facts that differ from one to the next: where they come from, and what they
    say."""
    told_of = ("source: consolidation", "confidence: medium")
    return [f"+ {line}" for text in texts for line in (*told_of, f"summary: {text}", text)]


def test_each_decision_does_what_it_says_to_the_files_and_the_journal_tells_who_and_why(
    world: World, model: Scripted
) -> None:
    old = save(world, "Pump 1 is primed by air.").memory
    happened = [episode(world, f"Pump {number} was primed by hand.") for number in range(4)]
    model.script = [
        array(
            told("Pumps are primed by hand.", happened[0]),
            told("Priming takes long.", happened[1]),
            told("Pumps hum.", happened[2]),
            told("Pump 1 is primed by hand.", happened[3], supersedes=old.id),
        )
    ]
    folder = Folder()
    run = consolidated(world)
    assert folder.difference() == {}
    accepted, reworded, rejected, stale = proposals.listed(world.maintainer, world.bank)[0]
    entries.update(world.editor, world.bank, old.id, Patch(text="Pump 1 is primed by steam."))
    folder.difference()
    proposals.reject(world.maintainer, rejected.id, reason="Only pump 2 does.")
    assert folder.difference() == {}
    head = Bank.objects.get(pk=world.bank.pk).head

    words = "Priming takes an hour."
    _, outcomes = runs.apply(
        world.maintainer, run.id, accept=[accepted.id, stale.id], edit={reworded.id: words}
    )
    assert outcomes == {accepted.id: "applied", reworded.id: "applied", stale.id: "stale"}
    came = folder.difference()
    assert set(came) == {FACTS}
    assert {line[0] for line in came[FACTS]} == {"+"}
    ours = [line for line in came[FACTS] if line in shown(accepted.text, words)]
    assert ours == shown(accepted.text, words)
    made = Change.objects.filter(bank=world.bank, seq__gt=head).order_by("seq")
    assert [(each.actor, each.action, each.reason) for each in made] == [
        ("user:maintainer", "created", f"from {happened[number].id}") for number in (0, 1)
    ]
    assert len({each.operation_id for each in made}) == 1
    states = [each.state for each in runs.one(world.maintainer, run.id)[1]]
    assert states == ["accepted", "edited", "rejected", "stale"]
    decided = proposals.one(world.maintainer, rejected.id)
    assert (decided.decided_by, decided.reason) == ("user:maintainer", "Only pump 2 does.")

    keys = [each.key for each in made]
    runs.undo(world.maintainer, run.id)
    gone = folder.difference()
    assert set(gone) == {FACTS, *(f".history/{key}.log" for key in keys)}
    assert [line.split(":")[0] for line in gone[FACTS]] == [
        *("+ revision", "+ updated", "+ invalidated") * 2
    ]
    undone = Change.objects.filter(bank=world.bank).order_by("-seq")[:2]
    assert {(each.actor, each.action) for each in undone} == {("user:maintainer", "deleted")}
    assert [each.operation.act for each in undone if each.operation] == ["undo"] * 2
