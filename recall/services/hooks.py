"""What an agent's harness calls at each step of a turn: rules and memories, and never a failure."""

import logging
from dataclasses import dataclass, field

from django.db import DatabaseError

from banks import config, errors, seams
from banks.access import Principal, Scope, require
from banks.models import Bank
from banks.services import opening, sessions
from banks.store.errors import StoreError
from recall.engine import injection
from recall.engine.window import newest_question, standing_update
from recall.learning import turns
from recall.models import Told
from recall.services import injecting, limits
from recall.services.injecting import Given, Section

logger = logging.getLogger(__name__)

BANK_KEY = "memory_bank"
"""The field of a turn's metadata that names its bank."""

FAULT = "unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a turn, as a harness describes it. `turn_id`, `messages` and `metadata` are its
    own JSON.

    A `step` below 0 is one that could not be read: it may not be the first, so it gets no memories.
    """

    session_id: str | None = None
    turn_id: object = None
    step: int = 0
    system_prompt: str | None = None
    messages: object = None
    metadata: object = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutations:
    """What is put into the request. `system_prompt` None leaves it as it is."""

    append_messages: list[dict[str, str]]
    system_prompt: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Annotations:
    """What was given, for a log or a person. `fault` is the code of what went wrong, else None."""

    bank: str
    memories: list[str] = field(default_factory=list)
    rules: int = 0
    rules_truncated: bool = False
    retrieval: str = "none"
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class Continued:
    """The answer to a step: it always goes on. No mutations = nothing to add."""

    mutations: Mutations | None
    annotations: Annotations


def pre_generate(principal: Principal, step: Step) -> Continued:
    """What this step is given: the section of its session, and memories at a turn's first step.

    A bank that is unknown, or not the caller's any more, gives nothing: never that of another
    bank. Raises ScopeMissing alone.
    """
    require(principal, Scope.HOOKS)
    name = ""
    try:
        name = _bank_name(principal, step)
        bank = opening.to_read(principal, name, Scope.HOOKS)
    except (errors.NotFound, errors.Invalid) as error:
        _listen(principal, step, None, without_memory=True)
        return Continued(None, Annotations(bank=name, fault=error.code))
    _listen(principal, step, bank)
    if bank is None:
        return Continued(None, Annotations(bank=name))
    return _continued(principal, bank, step)


def _listen(
    principal: Principal, step: Step, bank: Bank | None, *, without_memory: bool = False
) -> None:
    """Keep what was said so far, for when the turn has ended. Without that it goes on, too."""
    if not step.session_id:
        return
    try:
        turns.seen(
            principal, step.session_id, step.turn_id, step.messages, bank,
            without_memory=without_memory,
        )  # fmt: skip
    except DatabaseError:
        logger.warning("turn not listened to", exc_info=True)


def _bank_name(principal: Principal, step: Step) -> str:
    """The bank of this turn: of its metadata, else of its session, else the default one."""
    wanted = step.metadata.get(BANK_KEY) if isinstance(step.metadata, dict) else None
    if wanted:
        if not isinstance(wanted, str):
            raise errors.BankNotFound
        return injection.whole(wanted)
    chosen = sessions.bank_of(principal, step.session_id) if step.session_id else None
    return chosen or config.current().default_bank


def _continued(principal: Principal, bank: Bank, step: Step) -> Continued:
    section = injecting.section_of(bank)
    first = _first_told(principal, bank, step, section)
    given, fault = _memories(bank, step)
    messages = _updates(bank, step, told=first, now=section.text)
    if given and given.message:
        messages.append(given.message)
    mutations = None
    if first or messages:
        mutations = Mutations(
            append_messages=[{"role": "user", "content": content} for content in messages],
            system_prompt="\n\n".join(filter(None, [step.system_prompt, first])) or None,
        )
    return Continued(mutations, _annotations(bank, section, given, fault))


def _first_told(principal: Principal, bank: Bank, step: Step, section: Section) -> str:
    """The section as this session was told it first; from now on that is this one, if it is new."""
    bounds = limits.of(bank)
    if not (bounds.inject_rules or bounds.inject_memories):
        return ""
    if not step.session_id:
        return section.text
    key = sessions.key_of(principal, step.session_id)
    told = Told.objects.filter(session__key=key, bank=bank).select_related("session").first()
    if told is not None:
        sessions.touch(told.session)
        return told.section
    try:
        session = sessions.opened(principal, step.session_id)
        told, _ = Told.objects.get_or_create(
            session=session, bank=bank, defaults={"section": section.text, "at": seams.now()}
        )
    except DatabaseError:
        # The turn goes on with what is so now; at worst a later step says it in other words.
        logger.warning("section not kept bank=%s", bank.name, exc_info=True)
        return section.text
    return told.section


def _updates(bank: Bank, step: Step, *, told: str, now: str) -> list[str]:
    """The message that brings a running session up to date, unless the window holds it still."""
    current = injection.update(bank.name, now)
    standing = standing_update(step.messages, bank.name, current)
    if standing or (standing is None and told == now):
        return []
    return [current]


def _memories(bank: Bank, step: Step) -> tuple[Given | None, str | None]:
    """Memories at the first step of a turn. Without them the rules still hold, so it goes on."""
    if step.step:
        return None, errors.Invalid.code if step.step < 0 else None
    try:
        return injecting.memories_for(bank, newest_question(step.messages)), None
    except (errors.DomainError, StoreError, DatabaseError, OSError) as error:
        logger.warning("memories not injected bank=%s", bank.name, exc_info=True)
        return None, error.code if isinstance(error, errors.DomainError) else FAULT


def _annotations(
    bank: Bank, section: Section, given: Given | None, fault: str | None
) -> Annotations:
    return Annotations(
        bank=bank.name,
        memories=[each.memory.id for each in given.memories] if given else [],
        rules=section.packed.included,
        rules_truncated=section.packed.truncated,
        retrieval=given.retrieval if given else "none",
        fault=fault,
    )
