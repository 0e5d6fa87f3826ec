"""A write changes only the lines it must: seen as git sees it, in friendly and in awkward files."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.conf import settings

from banks import queries, seams, sync
from banks.services import entries, rules
from banks.services.drafts import Draft, Patch
from tests.builders import World

NEIGHBOURS = """# Facts

<!-- a comment of the team -->

---
id: m1
created: 2026-01-02T03:04:05+00:00
type: semantic
category: facts
owner_team: kiln   # who answers for it
review: {every: 90d, by: [qa, ops]}
score: 0.10
tags: [pump]
summary: Pump 1 is blue
---

Pump 1 is blue

---
id: broken
summary: pump: north side
---

Half of a thought

---
id: m2
created: 2026-01-03
category: facts
summary: Pump 2 is red
---

Pump 2 is red
"""

RULE = "# Style\n\nBe brief.\nBe kind.\n"

FACTS = "semantic_memory/facts.md"
LOG = ".history/{}.log"


def _git(*words: str) -> str:
    command = ["git", "-c", "core.autocrlf=false", "-C", str(settings.DATA_DIR), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _commit() -> None:
    _git("add", "-A")
    _git("-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", "state")


def _numstat() -> dict[str, tuple[int, int]]:
    """Lines added and removed, by path within the bank."""
    _git("add", "-A")
    diff = _git("diff", "--cached", "--no-renames", "--numstat")
    rows = (line.split("\t") for line in diff.splitlines())
    return {path.removeprefix("ops/"): (int(added), int(gone)) for added, gone, path in rows}


@pytest.fixture(params=["unix", "windows"])
def bank(request: pytest.FixtureRequest, world: World) -> Iterator[World]:
    """A bank under git whose file has comments, unknown keys and a damaged neighbour."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    end = "\r\n" if request.param == "windows" else "\n"
    folder = Path(settings.DATA_DIR) / "ops"
    (folder / FACTS).write_bytes(NEIGHBOURS.replace("\n", end).encode())
    (folder / "rules" / "style.md").write_bytes(RULE.replace("\n", end).encode())
    _git("init", "-q")
    _commit()
    # A minute from now: the files have settled, so that no write waits for them.
    with seams.replaced(now=lambda: datetime.now(UTC) + timedelta(minutes=1)):
        sync.reload(world.bank)
        yield world


def _save(world: World) -> None:
    entries.save(world.editor, world.bank, Draft(text="Pump 3 is green"))


def _rule(content: str) -> Callable[[World], None]:
    def act(world: World) -> None:
        rules.set_rule(world.maintainer, world.bank, "style", content)

    return act


ACTS: dict[str, tuple[Callable[[World], object], dict[str, tuple[int, int]]]] = {
    # one block of ten lines and the blank line before it
    "save": (_save, {FACTS: (13, 0)}),
    "update": (
        lambda w: entries.update(w.editor, w.bank, "m1", Patch(text="Pump 1 is teal")),
        # summary and text; revision, updated and stated are new
        {FACTS: (5, 2), LOG.format("m1"): (14, 0)},
    ),
    "retag": (
        lambda w: entries.update(w.editor, w.bank, "m1", Patch(tags=("pump", "blue"))),
        {FACTS: (3, 1), LOG.format("m1"): (14, 0)},
    ),
    "pin": (
        lambda w: entries.pin(w.editor, w.bank, "m1", pinned=True),
        {FACTS: (3, 0), LOG.format("m1"): (14, 0)},
    ),
    "delete": (
        lambda w: entries.delete(w.editor, w.bank, "m1"),
        {FACTS: (3, 0), LOG.format("m1"): (14, 0)},
    ),
    "supersede": (
        lambda w: entries.supersede(w.editor, w.bank, "m1", "m2"),
        # the loser gets four lines, the survivor three
        {FACTS: (7, 0), LOG.format("m1"): (14, 0), LOG.format("m2"): (9, 0)},
    ),
    "rule set": (
        _rule(RULE.replace("brief", "very brief")),
        {"rules/style.md": (1, 1), ".history/rules/style.log": (6, 0)},
    ),
    "rule removed": (
        _rule(""),
        {"rules/style.md": (0, 4), ".history/rules/style.log": (6, 0)},
    ),
}


@pytest.mark.wide
@pytest.mark.parametrize("act", ACTS)
def test_each_act_changes_only_the_lines_it_must(bank: World, act: str) -> None:
    change, expected = ACTS[act]
    change(bank)
    told = _numstat()
    print(f"{act}: {told}")  # noqa: T201  # the figures are part of what this test shows
    assert told == expected


# field case A18
def test_unknown_keys_survive_every_operation(bank: World) -> None:
    entries.pin(bank.editor, bank.bank, "m1", pinned=True)
    entries.update(bank.editor, bank.bank, "m1", Patch(tags=("x",), text="Pump 1 is teal"))
    entries.pin(bank.editor, bank.bank, "m1", pinned=False)
    entries.supersede(bank.editor, bank.bank, "m1", "m2")
    data = (Path(settings.DATA_DIR) / "ops" / FACTS).read_text()
    for line in (
        "owner_team: kiln   # who answers for it",
        "review: {every: 90d, by: [qa, ops]}",
        "score: 0.10",
        "<!-- a comment of the team -->",
        "summary: pump: north side",
    ):
        assert data.count(line) == 1
    assert queries.memory(bank.bank, "m1").superseded_by == "m2"
