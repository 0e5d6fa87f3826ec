"""Runs of consolidation as their pages show them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from banks.services import Bank
from memoryconsole.console.review import Card, Link, Refused, cards, linked
from recall.learning.proposals import Proposed
from recall.learning.runs import Run

RUNS = 50
"""How many runs the list shows, and how many more each time."""
CHANGES = 50
"""How many changes of a run are shown before somebody asks for all."""
MINUTE_S = 60

_STATES = {"queued": "waiting to start", "running": "running", "done": "done", "failed": "failed"}
_OUTCOMES = {
    "applied": "Done",
    "planned": "Would be done",
    "to be proposed": "Would be proposed",
    "stale": "Left, a memory has changed meanwhile",
    "pinned": "Left, a memory is pinned",
    "known": "Left, the bank says it already",
    "refused": "Left, it cannot be saved",
}
ASKED = "proposed"
_KINDS = {
    "merge": "two memories merged into one",
    "promotion": "a new memory out of others",
    "known_failure": "a known failure for a procedure",
    "learned_rule": "a line for the rule learned",
}


@dataclass(frozen=True, slots=True)
class Line:
    """One run in words."""

    run: Run

    @property
    def is_on_its_way(self) -> bool:
        """Whether more is to come."""
        return self.run.state in ("queued", "running")

    @property
    def is_failed(self) -> bool:
        """Whether it ended early."""
        return self.run.state == "failed"

    @property
    def state(self) -> str:
        """How far it is."""
        if self.run.state == "queued" and self.run.error:
            return "to be tried again"
        return _STATES[self.run.state]

    @property
    def took(self) -> str:
        """How long it took; `""` while nobody knows."""
        if self.run.duration_ms is None:
            return ""
        seconds = self.run.duration_ms / 1_000
        if seconds < 1:
            return "less than a second"
        if seconds < MINUTE_S:
            return f"{seconds:.0f} s"
        return f"{seconds // MINUTE_S:.0f} min {seconds % MINUTE_S:.0f} s"

    @property
    def figures(self) -> list[str]:
        """What it came to, without what is none."""
        run = self.run
        told = (
            (run.read, "episodes read"),
            (len(run.changes) if run.dry_run else 0, "would be done or proposed"),
            (run.applied, "applied"),
            (run.proposed, "proposed"),
            (run.rejected, "rejected"),
            (run.stale, "stale"),
            (run.capped, "over the bound"),
            (run.pinned_skipped, "left since pinned"),
        )
        found = [f"{number:,} {word}" for number, word in told if number]
        return found or ([] if self.is_on_its_way or self.is_failed else ["nothing to do"])


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one change, and the memories that it is about. `since`: the run did not do it;
    what agents no longer see of these went later."""

    outcome: str
    what: str
    memories: list[Link]
    since: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One run: what it did, and what it asks about. `left_out`: changes that are not shown."""

    line: Line
    changes: list[Change]
    left_out: int
    cards: list[Card]
    refused: Refused | None

    @property
    def run(self) -> Run:
        """The run."""
        return self.line.run

    @property
    def waiting(self) -> list[Card]:
        """What somebody has to decide."""
        return [card for card in self.cards if card.is_waiting]

    @property
    def stale(self) -> int:
        """How many proposals fit no longer."""
        return sum(card.proposal.state == "stale" for card in self.cards)

    @property
    def accept_fields(self) -> list[tuple[str, str]]:
        """What the form sends that accepts all that is shown."""
        return [("do", "accept"), *self._keys]

    @property
    def reject_fields(self) -> list[tuple[str, str]]:
        """What the form sends that rejects all that is shown."""
        return [("do", "reject"), *self._keys]

    @property
    def _keys(self) -> list[tuple[str, str]]:
        return [("key", card.proposal.id) for card in self.waiting]


def told(
    bank: Bank,
    run: Run,
    proposed: Sequence[Proposed],
    *,
    whole: bool,
    refused: Refused | None = None,
) -> Told:
    """A run of a bank, with all of its changes or the first of them; those that it asks about are
    cards."""
    found = [each for each in run.changes if each["outcome"] != ASKED]
    shown = found if whole else found[:CHANGES]
    return Told(
        line=Line(run),
        changes=_changes(bank, shown),
        left_out=len(found) - len(shown),
        cards=cards(proposed, {bank.name: bank}, refused),
        refused=refused,
    )


def _changes(bank: Bank, shown: Sequence[dict[str, Any]]) -> list[Change]:
    links = linked(bank, (key for each in shown for key in each["memories"]))
    return [
        Change(
            _OUTCOMES[each["outcome"]],
            _KINDS[each["kind"]],
            [links[key] for key in each["memories"]],
            each["outcome"] != "applied",
        )
        for each in shown
    ]


def decided(outcomes: dict[str, str]) -> str:
    """What became of proposals, in one sentence."""
    words = {"applied": "accepted", "rejected": "rejected"}
    done = [each for each in outcomes.values() if each in words]
    told = [f"{done.count(key)} {word}" for key, word in words.items() if key in done]
    left = [_OUTCOMES[each].partition(", ")[2] for each in outcomes.values() if each not in words]
    told += [f"{left.count(why)} left: {why}" for why in dict.fromkeys(left)]
    return f"{'; '.join(told)}."
