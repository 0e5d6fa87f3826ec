"""What a turn is given: rules for its system prompt, and memories that fit the newest question.

The preview and the hook of agents run the same code, so what a person sees is what an agent gets.
Nothing is written.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from banks import config, queries
from banks.access import Principal, Scope, require
from banks.models import Bank
from banks.queries import Memory
from recall import indexer
from recall.engine import injection, relevance
from recall.engine.injection import Line
from recall.engine.packing import AMBIENT_FLOOR, PackedRules, pack_rules, tokens
from recall.engine.scoring import Signals
from recall.engine.window import newest_question
from recall.index import IndexUnavailable
from recall.indexer import IndexState
from recall.services import limits
from recall.services.limits import Limits
from recall.services.recalling import Recalled, found

AMBIENT_POOL = 12
"""Strongest memories that are tried as padding: the very strongest may be too long to fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Injected:
    """A memory of a turn. An ambient one pads and has score 0; `chars` is the size of its line."""

    memory: Memory
    score: float
    signals: dict[str, float]
    ambient: bool
    chars: int


@dataclass(frozen=True, slots=True)
class Section:
    """The section of the system prompt ("" when there is nothing to say) and what is in it."""

    text: str
    packed: PackedRules


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The memories of a turn in the order of the message, and the hits that did not fit.

    `index` is None when nothing was looked up. `retrieval`: what chose them; `none` for no memories
    out of no search.
    """

    message: str
    memories: list[Injected]
    skipped: list[Injected]
    budget_tokens: int
    retrieval: str
    index: IndexState | None


@dataclass(frozen=True, slots=True)
class Preview:
    """Everything that a new session's first turn would be given."""

    bank: str
    section: Section
    given: Given

    @property
    def tokens(self) -> int:
        """Tokens that the message of memories counts as; never more than its budget."""
        return tokens(len(self.given.message))


def preview(
    principal: Principal,
    bank: Bank,
    query: str,
    *,
    limit: int | None = None,
    budget_tokens: int | None = None,
) -> Preview:
    """What a turn with this question would be given in an opened bank; nothing is recorded.

    `limit` (0..100) and `budget_tokens` stand in for those of the bank. Raises ScopeMissing,
    Invalid (limit).
    """
    require(principal, Scope.MEMORY_READ)
    asked = newest_question([{"role": "user", "content": query}])
    given = memories_for(bank, asked, limit=limit, budget_tokens=budget_tokens)
    return Preview(bank.name, section_of(bank), given)


def nothing(bank: str) -> Preview:
    """The preview of a bank that is not there."""
    current = config.current()
    given = _nothing_given(budget_tokens=current.recall_budget_tokens)
    return Preview(bank, Section("", pack_rules((), budget_chars=current.max_rule_chars)), given)


def rules_budget(bank: Bank, *, instead: Mapping[str, str] | None = None) -> PackedRules:
    """How the injected rules of a bank share their budget, and which one is cut where.

    `instead` has contents that are not saved yet, by name; blank ones count as removed.
    """
    return _packed(bank, limits.of(bank), instead or {})


def section_of(bank: Bank) -> Section:
    """The section that a new session in this bank gets. The same rules give the same bytes."""
    bounds = limits.of(bank)
    packed = _packed(bank, bounds, {})
    if not packed.rules and not (bounds.inject_memories and queries.has_memories(bank)):
        return Section("", packed)
    return Section(injection.section(bank.name, packed), packed)


def _packed(bank: Bank, bounds: Limits, instead: Mapping[str, str]) -> PackedRules:
    contents: dict[str, str] = {}
    if bounds.inject_rules:
        contents = {rule.name: rule.content for rule in queries.rules(bank)} | dict(instead)
    shown = [each for each in contents.items() if each[0] not in bounds.rules_off]
    return pack_rules(shown, budget_chars=bounds.max_rule_chars)


def memories_for(
    bank: Bank,
    query: str,
    *,
    limit: int | None = None,
    budget_tokens: int | None = None,
) -> Given:
    """The memories of a turn with this question, as its message. Raises Invalid (limit)."""
    bounds = limits.of(bank)
    limit = bounds.recall_limit if limit is None else limit
    budget_tokens = bounds.recall_budget_tokens if budget_tokens is None else budget_tokens
    if not bounds.inject_memories:
        return _nothing_given(budget_tokens=budget_tokens)
    recalled = _relevant(bank, found(bank, query, limit=limit))
    padding = _ambient(bank, recalled, limit=limit)
    message = injection.memory_message(
        bank.name,
        [_line(hit.memory) for hit in recalled.memories],
        [_line(memory) for memory in padding],
        limit=limit,
        budget_tokens=budget_tokens,
    )
    hits = [
        Injected(
            memory=hit.memory, score=hit.score, signals=hit.signals, ambient=False, chars=chars
        )
        for hit, chars in zip(recalled.memories, message.hit_chars, strict=True)
    ]
    pads = [
        Injected(memory=memory, score=0.0, signals=_no_signals(), ambient=True, chars=chars)
        for memory, chars in zip(padding, message.ambient_chars, strict=True)
    ]
    chosen = message.packed
    return Given(
        message=message.text,
        memories=[hits[n] for n in chosen.hits] + [pads[n] for n in chosen.ambient],
        skipped=[hit for n, hit in enumerate(hits) if n not in chosen.hits],
        budget_tokens=budget_tokens,
        retrieval=_mode(recalled) if message.text else recalled.retrieval,
        index=recalled.index,
    )


def _relevant(bank: Bank, recalled: Recalled) -> Recalled:
    """The same without hits that share no more with the question than chance does.

    A recall shows all of them to whoever asked for it; a turn did not ask. Without an index nothing
    is known of chance.
    """
    if not recalled.memories or recalled.index.state in ("rebuilding", "unavailable"):
        return recalled
    try:
        least = relevance.floor(*indexer.index_of(bank).frequencies(recalled.terms))
    except IndexUnavailable:
        return recalled
    # Of meaning only nearness itself tells: its share goes to the nearest, near or not.
    hits = [each for each in recalled.memories if each.is_near or each.signals["text"] >= least]
    return replace(recalled, memories=hits)


def _mode(recalled: Recalled) -> str:
    """What chose the memories of a message: padding alone is the work of the whole path, too."""
    if recalled.retrieval != "none":
        return recalled.retrieval
    return "lexical" if recalled.index.state == "unavailable" else "bm25-entity"


def _ambient(bank: Bank, recalled: Recalled, *, limit: int) -> Sequence[Memory]:
    """Candidates for padding, strongest first; none when there are hits enough."""
    if len(recalled.memories) >= min(AMBIENT_FLOOR, limit):
        return []
    hits = [hit.memory.id for hit in recalled.memories]
    return queries.strongest(bank, AMBIENT_POOL, without=hits)


def _line(memory: Memory) -> Line:
    return Line(
        id=memory.id,
        text=memory.text,
        day=queries.from_milliseconds(memory.stated_at).date(),
        confidence=memory.confidence,
    )


def _no_signals() -> dict[str, float]:
    return asdict(Signals(text=0.0))


def _nothing_given(*, budget_tokens: int) -> Given:
    return Given(
        message="",
        memories=[],
        skipped=[],
        budget_tokens=budget_tokens,
        retrieval="none",
        index=None,
    )
