"""Power loss at any instruction of an operation: acknowledged is there, all or nothing.

The system calls of one operation are recorded together with its database commits. Every disk state
that power loss allows at any point is made, the database put back to its last commit before that
point, and the bank reloaded as the next start would. Then the promises are checked. To show that
the check is not blind, each sync is left out in turn: some state must then break a promise.
"""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from pytest_django import Settings

from banks import queries, seams, sync
from banks.models import Bank, Change, Entry, Operation
from banks.services import banks, entries, rules
from banks.services.drafts import Draft, Patch
from banks.store import history, parse
from tests import builders
from tests.builders import World
from tests.crash import powerloss
from tests.crash.powerloss import RecordingDisk, State
from tests.disks import UnsyncedDisk

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(
        connection.vendor != "sqlite", reason="copies the database, which is SQLite's way"
    ),
]


class Broken(AssertionError):
    """A promise of the store is broken in some state."""


def _copy() -> sqlite3.Connection:
    copy = sqlite3.connect(":memory:")
    connection.connection.backup(copy)
    return copy


def _put_back(copy: sqlite3.Connection) -> None:
    copy.backup(connection.connection)


@contextmanager
def recorded_commits(disk: RecordingDisk) -> Iterator[None]:
    """Mark each commit in the trace, with a copy of the database as it is then."""

    def after_statement(execute: Any, sql: str, params: Any, many: Any, context: Any) -> Any:
        result = execute(sql, params, many, context)
        # Inserts are always in a transaction here, and their cursor is still open at this point.
        if not connection.in_atomic_block and sql.startswith(("UPDATE", "DELETE")):
            disk.mark("commit", _copy())
        return result

    commit = connection.commit

    def after_commit() -> None:
        commit()
        disk.mark("commit", _copy())

    connection.commit = after_commit  # type: ignore[method-assign]
    try:
        with connection.execute_wrapper(after_statement):
            yield
    finally:
        connection.commit = commit  # type: ignore[method-assign]


@dataclass
class Scenario:
    """An operation, and how to tell a bank before it from one after it."""

    prepare: Callable[[World], None]
    act: Callable[[World], None]
    after: Callable[[World], bool]
    before: Callable[[World], bool]


def _texts(world: World) -> dict[str, queries.Memory]:
    everything = queries.Filters(include_superseded=True)
    return {each.text: each for each in queries.list_memories(world.bank, everything).memories}


def _logged(world: World, key: str) -> int:
    log = seams.data_folder().bank(world.bank.name).history(f".history/{key}.log")
    records, whole = history.decode(log)
    return len(records) if whole == len(log) else -1


def _first_two(world: World) -> None:
    """One entry in each of two folders, both with a history."""
    for text, category in (("Pump 1 is blue", "facts"), (NAME, "preferences")):
        builders.save(world, text, category=category)
        builders.save(world, text, category=category)


NAME = "Always name the pump"


def _key(world: World, text: str) -> str:
    return Entry.objects.get(bank=world.bank, text=text).entry_id


def _save(world: World) -> None:
    entries.save(world.editor, world.bank, Draft(text="Pump 2 is red"))


def _save_first_event(world: World) -> None:
    builders.save(world, "Pump 2 is red", category="events")


def _update(world: World) -> None:
    key = _key(world, "Pump 1 is blue")
    entries.update(world.editor, world.bank, key, Patch(text="Pump 1 is teal"))


def _updated(world: World) -> bool:
    memory = _texts(world).get("Pump 1 is teal")
    return memory is not None and memory.revision == 2 and _logged(world, memory.id) == 2


def _supersede(world: World) -> None:
    old, new = _key(world, "Pump 1 is blue"), _key(world, NAME)
    entries.supersede(world.editor, world.bank, old, new)


def _superseded(world: World) -> bool:
    texts = _texts(world)
    old, new = texts["Pump 1 is blue"], texts[NAME]
    linked = (old.superseded_by, new.supersedes) == (new.id, old.id)
    return linked and (_logged(world, old.id), _logged(world, new.id)) == (2, 2)


def _apart(world: World) -> bool:
    texts = _texts(world)
    old, new = texts["Pump 1 is blue"], texts[NAME]
    return (old.superseded_by, old.invalid_at, new.supersedes) == (None, None, None)


def _trashed(world: World) -> bool:
    row = Bank.objects.get(pk=world.bank.pk)
    data = seams.data_folder()
    return row.state == "trashed" and data.trashed() == [row.trashed_to] and not data.bank_names()


def _untrashed(world: World) -> bool:
    return Bank.objects.get(pk=world.bank.pk).state == "active" and "Pump 1 is blue" in _texts(
        world
    )


def _set_rule(world: World) -> None:
    rules.set_rule(world.maintainer, world.bank, "style", "Be brief.\n")


def _rule_is(content: str | None) -> Callable[[World], bool]:
    def check(world: World) -> bool:
        found = [each.content for each in queries.rules(world.bank)]
        return found == ([] if content is None else [content])

    return check


SCENARIOS = {
    "save": Scenario(
        _first_two,
        _save,
        after=lambda w: "Pump 2 is red" in _texts(w) and len(_texts(w)) == 3,
        before=lambda w: len(_texts(w)) == 2,
    ),
    "save into a new file": Scenario(
        _first_two,
        _save_first_event,
        after=lambda w: "Pump 2 is red" in _texts(w) and len(_texts(w)) == 3,
        before=lambda w: len(_texts(w)) == 2,
    ),
    "update": Scenario(
        _first_two, _update, after=_updated, before=lambda w: "Pump 1 is blue" in _texts(w)
    ),
    "supersede over two files": Scenario(_first_two, _supersede, after=_superseded, before=_apart),
    "set a rule": Scenario(
        _first_two, _set_rule, after=_rule_is("Be brief.\n"), before=_rule_is(None)
    ),
    "delete of a bank": Scenario(
        _first_two,
        lambda w: _ignore(banks.trash(w.owner, w.bank)),
        after=_trashed,
        before=_untrashed,
    ),
}


def _ignore(_: object) -> None:
    """An act answers nothing here."""


class Run:
    """One recorded operation, and what each state after a power loss is worth."""

    def __init__(self, scenario: Scenario, tmp_path: Path, settings: Settings) -> None:
        self.scenario, self.tmp_path, self.settings = scenario, tmp_path, settings
        self.world = builders.world()
        scenario.prepare(self.world)
        self.before = tmp_path / "before"
        shutil.copytree(settings.DATA_DIR, self.before)
        self.database = _copy()
        disk = RecordingDisk(settings.DATA_DIR)
        with seams.replaced(disk=disk), recorded_commits(disk):
            scenario.act(self.world)
        disk.mark("acknowledged")
        self.trace = list(disk.trace)
        self.head = Bank.objects.get(pk=self.world.bank.pk).head
        self.changes = Change.objects.filter(bank=self.world.bank).count()

    def check(self, state: State, number: int) -> None:
        """Bring the state up as the next start would and raise Broken for a broken promise."""
        folder = self.tmp_path / "state" / str(number)
        state.materialise(folder)
        self.settings.DATA_DIR = folder
        with seams.replaced(disk=UnsyncedDisk()):
            self._start(state)
            self._judge(state, folder)
        shutil.rmtree(folder)

    def _start(self, state: State) -> None:
        copies = state.payloads("commit")
        _put_back(copies[-1] if copies else self.database)
        self.world.bank.refresh_from_db()
        sync.look_at_all()
        self.world.bank.refresh_from_db()
        if self.world.bank.state == Bank.State.ACTIVE:
            sync.reload(self.world.bank)

    def _judge(self, state: State, folder: Path) -> None:
        if Operation.objects.filter(state="pending").exists():
            raise Broken("an operation is still pending")
        if Bank.objects.filter(hold__gt="").exists():
            raise Broken("the bank is on hold")
        if any(path.name.startswith(".mc-tmp-") for path in folder.rglob("*")):
            raise Broken("a temporary file is left")
        is_after = self.scenario.after(self.world)
        if state.has("acknowledged") and not is_after:
            raise Broken("acknowledged and lost")
        if not is_after and not self.scenario.before(self.world):
            raise Broken("neither whole nor absent")
        changes = Change.objects.filter(bank=self.world.bank).count()
        if is_after and changes != self.changes:
            raise Broken(f"{changes} changes in the journal instead of {self.changes}")
        if self.world.bank.state == Bank.State.ACTIVE:
            self._check_files(folder)

    def _check_files(self, folder: Path) -> None:
        rows = Entry.objects.filter(bank=self.world.bank)
        if rows.filter(missing_since__isnull=False).exists():
            raise Broken("a row without its block")
        on_disk = {
            parse.version(data[span.start : span.end])
            for path in folder.rglob("*.md")
            for data in [path.read_bytes()]
            for span in parse.spans(data)
        }
        if on_disk != set(rows.values_list("version", flat=True)):
            raise Broken("rows and files differ")


@pytest.fixture
def run(request: pytest.FixtureRequest, tmp_path: Path, settings: Settings) -> Run:
    """The recorded scenario that the test names."""
    return Run(SCENARIOS[request.param], tmp_path, settings)


@pytest.mark.parametrize("run", SCENARIOS, indirect=True)
def test_no_state_after_a_power_loss_breaks_a_promise(run: Run) -> None:
    states = list(powerloss.states(run.trace, run.before))
    for number, state in enumerate(states):
        run.check(state, number)
    assert len(states) > 5


@pytest.mark.parametrize("run", SCENARIOS, indirect=True)
def test_without_any_one_sync_some_state_breaks_a_promise(run: Run) -> None:
    count = len(powerloss.syncs(run.trace))
    blind = [sync for sync in range(count) if not _breaks(run, sync)]
    assert count
    assert blind == []


def _breaks(run: Run, dropped: int) -> bool:
    trace = powerloss.without(run.trace, dropped)
    for number, state in enumerate(powerloss.states(trace, run.before)):
        try:
            run.check(state, number)
        except Broken:
            return True
        finally:
            shutil.rmtree(run.tmp_path / "state", ignore_errors=True)
    return False
