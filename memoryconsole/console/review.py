"""What waits for a person, as cards: what was found, what it was made from, what would change."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from banks import queries
from banks.queries import Memory
from banks.services import Bank
from memoryconsole.console.diff import Piece, pieces
from recall.learning.proposals import Proposed

CARDS = 20
"""How many cards a page shows, and how many more each time."""

WAITING = "waiting"
STATES = {
    WAITING: "Waiting",
    "stale": "Stale",
    "rejected": "Rejected",
    "accepted": "Accepted",
    "edited": "Accepted in other words",
}
_EFFECTS = {
    "learned_rule": "Every conversation of every agent with this bank begins with this line, too.",
    "merge": "Agents see one memory instead of two. It counts as seen as often as both.",
    "known_failure": "Agents that recall this procedure read the line under its known failures.",
}


@dataclass(frozen=True, slots=True)
class Link:
    """A memory that a proposal or a run names; `memory` None = it is not in this bank."""

    id: str
    memory: Memory | None

    @property
    def is_live(self) -> bool:
        """Whether agents see it."""
        return self.memory is not None and self.memory.invalid_at is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Words that were not taken, and why."""

    uid: str
    text: str
    message: str
    status: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a page shows: a state, so many cards of it, from the one behind `after` on."""

    state: str = WAITING
    shown: int = CARDS
    after: str | None = None
    refused: Refused | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One proposal. `texts`: what would change, each a run of words that stay, go and come.

    `following`: where the focus goes when this one is decided. `refused`: other words for it that
    were not taken just now.
    """

    proposal: Proposed
    title: str
    effect: str
    texts: list[list[Piece]]
    sources: list[Link]
    retires: list[Link]
    changes: Link | None
    following: str
    refused: Refused | None

    @property
    def is_waiting(self) -> bool:
        """Whether somebody has to decide."""
        return self.proposal.state == WAITING

    @property
    def may_be_reworded(self) -> bool:
        """Whether it can be accepted in other words: what is merged keeps its own."""
        return self.proposal.kind != "merge"

    @property
    def words(self) -> str:
        """What the box with its words begins with."""
        return self.refused.text if self.refused else self.proposal.text

    @property
    def state(self) -> str:
        """What became of it, in words."""
        return STATES[self.proposal.state].lower()

    @property
    def pinned(self) -> list[Link]:
        """What it would change and cannot, being pinned."""
        touched = [*self.retires, *filter(None, [self._changed_in_place])]
        return [each for each in touched if each.memory and each.memory.pinned]

    @property
    def _changed_in_place(self) -> Link | None:
        return self.changes if self.proposal.kind == "known_failure" else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """The cards of one state, out of `total`. `counts`: how many there are in each state that one
    has. `more`: how many more cards the next part shows. `after`: behind which one the page begins,
    `following`: behind which one the next page does."""

    state: str
    cards: list[Card]
    counts: list[tuple[str, str, int]]
    total: int
    more: int
    after: str | None
    following: str | None
    refused: Refused | None

    @property
    def then_shown(self) -> int:
        """How many cards are shown when that part is shown too."""
        return len(self.cards) + CARDS

    @property
    def is_refused_elsewhere(self) -> bool:
        """Whether words were not taken whose card is not here."""
        return self.refused is not None and not any(card.refused for card in self.cards)


def reviewed(
    found: Sequence[Proposed],
    following: str | None,
    counts: Mapping[str, int],
    wanted: Wanted,
    banks: Mapping[str, Bank],
) -> Review:
    """The first of the proposals that were found, and the one whose words were not taken. `counts`:
    how many there are in each state that one has; `banks`: theirs, by name."""
    refused, shown = wanted.refused, max(wanted.shown, CARDS)
    keys = [each.id for each in found]
    if refused and refused.uid in keys:
        shown = max(shown, keys.index(refused.uid) + 1)
    more = max(0, min(CARDS, len(found) - shown))
    return Review(
        state=wanted.state,
        cards=cards(found[:shown], banks, refused),
        counts=[(key, word, counts[key]) for key, word in STATES.items() if key in counts],
        total=counts.get(wanted.state, 0),
        more=more,
        after=wanted.after,
        following=None if more else following,
        refused=refused,
    )


def cards(
    found: Sequence[Proposed], banks: Mapping[str, Bank], refused: Refused | None = None
) -> list[Card]:
    """Proposals of these banks, by name, as cards; the memories of a bank are read at once."""
    links = {
        name: linked(bank, (key for each in found if each.bank == name for key in _named(each)))
        for name, bank in banks.items()
    }
    waiting = [each.id for each in found if each.state == WAITING]
    after = {key: f"card-{following}" for key, following in pairwise(waiting)}
    return [_card(each, links[each.bank], after.get(each.id, "list"), refused) for each in found]


def linked(bank: Bank, keys: Iterable[str]) -> dict[str, Link]:
    """Memories by their ids, in two queries."""
    wanted = list(dict.fromkeys(keys))
    rows = queries.rows_by_ids(bank, wanted)
    known = {each.id: each for each in queries.memories(bank, list(rows.values()))}
    return {key: Link(key, known.get(key)) for key in wanted}


def _named(proposed: Proposed) -> list[str]:
    return [*proposed.memories, *proposed.retires, *filter(None, [proposed.changes])]


def _card(
    proposed: Proposed, links: dict[str, Link], following: str, refused: Refused | None
) -> Card:
    retires = [links[key] for key in proposed.retires]
    changes = links[proposed.changes] if proposed.changes else None
    return Card(
        proposal=proposed,
        title=_title(proposed),
        effect=_effect(proposed),
        texts=_texts(proposed, retires, changes),
        sources=[links[key] for key in proposed.memories],
        retires=retires,
        changes=changes,
        following=following,
        refused=refused if refused and refused.uid == proposed.id else None,
    )


def _title(proposed: Proposed) -> str:
    match proposed.kind:
        case "learned_rule":
            return "A line for the rule learned"
        case "merge":
            return "Merge two memories into one"
        case "known_failure":
            return "A known failure for a procedure"
    if proposed.title:
        return f"New procedure: {proposed.title}"
    word = {"preferences": "preference", "rules": "remembered rule"}.get(proposed.category or "")
    return f"New {word or 'fact'}"


def _effect(proposed: Proposed) -> str:
    if proposed.kind in _EFFECTS:
        return _EFFECTS[proposed.kind]
    if not proposed.retires:
        return "Agents see it beside what it was made from."
    count = len(proposed.retires)
    return f"Agents see it instead of {count} other memor{'y' if count == 1 else 'ies'}."


def _texts(proposed: Proposed, retires: Sequence[Link], changes: Link | None) -> list[list[Piece]]:
    """Before and after; of a memory that is not there any more nothing."""
    gone = [each.memory.text for each in retires if each.memory]
    after = proposed.text
    if proposed.kind == "merge":
        after = changes.memory.text if changes and changes.memory else ""
    if len(gone) == 1 and after:
        return [pieces(gone[0], after)]
    before = [[Piece("gone", text)] for text in gone]
    return [*before, [Piece("new", after)]] if after else before
