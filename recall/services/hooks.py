"""What an agent's harness calls at each step of a turn: rules and memories, and never a failure."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

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
BROKEN = "internal_error"

T = TypeVar("T")


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
    name, faults = "", _Faults()
    try:
        name = _bank_name(principal, step)
        bank = opening.to_read(principal, name, Scope.HOOKS)
    except (errors.NotFound, errors.Invalid) as error:
        _listen(principal, step, None, faults, without_memory=True)
        return Continued(None, Annotations(bank=name, fault=error.code))
    _listen(principal, step, bank, faults)
    if bank is None:
        return Continued(None, Annotations(bank=name, fault=faults.first))
    return _continued(principal, bank, step, faults)


class _Faults:
    """What went wrong in a step. A part of the answer that breaks leaves the others as they are."""

    def __init__(self) -> None:
        self.first: str | None = None

    def note(self, code: str) -> None:
        self.first = self.first or code

    def attempt(self, name: str, part: Callable[[], T]) -> T | None:
        """What a part gives; None when it broke, for whatever reason."""
        try:
            return part()
        except Exception as error:
            # Rules hold without all that stands beside them, so nothing of it may cost them.
            code = _code_of(error)
            level = logging.ERROR if code == BROKEN else logging.WARNING
            logger.log(level, "step goes on without part=%s", name, exc_info=True)
            self.note(code)
            return None


def _code_of(error: Exception) -> str:
    if isinstance(error, errors.DomainError):
        return error.code
    return FAULT if isinstance(error, StoreError | DatabaseError | OSError) else BROKEN


def _listen(
    principal: Principal,
    step: Step,
    bank: Bank | None,
    faults: _Faults,
    *,
    without_memory: bool = False,
) -> None:
    """Keep what was said so far, for when the turn has ended."""
    if step.session_id:
        said = (principal, step.session_id, step.turn_id, step.messages, bank)
        faults.attempt("listening", partial(turns.seen, *said, without_memory=without_memory))


def _bank_name(principal: Principal, step: Step) -> str:
    """The bank of this turn: of its metadata, else of its session, else the default one."""
    wanted = step.metadata.get(BANK_KEY) if isinstance(step.metadata, dict) else None
    if wanted:
        if not isinstance(wanted, str):
            raise errors.BankNotFound
        return injection.whole(wanted)
    chosen = sessions.bank_of(principal, step.session_id) if step.session_id else None
    return chosen or config.current().default_bank


def _continued(principal: Principal, bank: Bank, step: Step, faults: _Faults) -> Continued:
    section = injecting.section_of(bank)
    first = _first_told(principal, bank, step, section, faults)
    given = _memories(bank, step, faults)
    messages = _updates(bank, step, told=first, now=section.text)
    if given and given.message:
        messages.append(given.message)
    mutations = None
    if first or messages:
        mutations = Mutations(
            append_messages=[{"role": "user", "content": content} for content in messages],
            system_prompt="\n\n".join(filter(None, [step.system_prompt, first])) or None,
        )
    return Continued(mutations, _annotations(bank, section, given, faults.first))


def _first_told(
    principal: Principal, bank: Bank, step: Step, section: Section, faults: _Faults
) -> str:
    """The section as this session was told it first; from now on that is this one, if it is new."""
    bounds = limits.of(bank)
    if not (bounds.inject_rules or bounds.inject_memories):
        return ""
    if not step.session_id:
        return section.text
    key = sessions.key_of(principal, step.session_id)
    told = Told.objects.filter(session__key=key, bank=bank).select_related("session").first()
    if told is not None:
        faults.attempt("session", partial(sessions.touch, told.session))
        return told.section
    # At worst a later step says it in other words.
    keep = partial(_keep, principal, bank, step.session_id, section.text)
    kept = faults.attempt("section", keep)
    return section.text if kept is None else kept


def _keep(principal: Principal, bank: Bank, session_id: str, text: str) -> str:
    """Note what a session is told first; what that was, should another step have been quicker."""
    session = sessions.opened(principal, session_id)
    told, _ = Told.objects.get_or_create(
        session=session, bank=bank, defaults={"section": text, "at": seams.now()}
    )
    return told.section


def _updates(bank: Bank, step: Step, *, told: str, now: str) -> list[str]:
    """The message that brings a running session up to date, unless the window holds it still."""
    current = injection.update(bank.name, now)
    standing = standing_update(step.messages, bank.name, current)
    if standing or (standing is None and told == now):
        return []
    return [current]


def _memories(bank: Bank, step: Step, faults: _Faults) -> Given | None:
    """Memories at the first step of a turn."""
    if step.step < 0:
        faults.note(errors.Invalid.code)
    if step.step:
        return None
    asked = newest_question(step.messages)
    return faults.attempt("memories", partial(injecting.memories_for, bank, asked))


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
