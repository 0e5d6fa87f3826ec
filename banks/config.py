"""How the installation behaves: sixteen fields, their defaults, and what each of them takes.

Everything that reads one of them asks `current()` when it is needed and keeps no copy, so that a
change reaches every process with its next call. `banks.services.configuration` makes changes.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from django.conf import settings

from banks import errors
from banks.models import Configuration
from banks.store import names
from banks.store.errors import InvalidName
from banks.store.redact import mask

NAME_LENGTH = 64
"""A name that is refused is told, but no longer than this: a caller chose it."""

SETTING = "(setting)"
"""The data folder as the environment has it: its path is no caller's business."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The fields by their public names; `FIELDS` says what each means and takes."""

    data_dir: str = SETTING
    default_bank: str = "main"
    inject_rules: bool = True
    inject_memories: bool = True
    recall_limit: int = 6
    recall_budget_tokens: int = 1_200
    extraction_enabled: bool = True
    extraction_model: str = ""
    extraction_window: int = 12
    extraction_timeout_ms: int = 60_000
    max_memories_per_turn: int = 8
    rule_learning_enabled: bool = True
    max_rule_chars: int = 6_000
    decay_half_life_days: int = 30
    embeddings_enabled: bool = True
    embedding_model: str = ""


@dataclass(frozen=True, slots=True)
class Takes:
    """What a field means and takes: a number from `least` to `most`, a text of so many characters.

    A flag takes true and false, whatever the two say.
    """

    meaning: str
    least: int = 0
    most: int = 0


FIELDS: Mapping[str, Takes] = MappingProxyType(
    {
        "data_dir": Takes(f"The data folder; {SETTING} = as the environment says.", 1, 4_096),
        "default_bank": Takes("The bank of a call that names none.", 1, names.NAME_LENGTH),
        "inject_rules": Takes("Put the rules of the bank into the system prompt."),
        "inject_memories": Takes("Put recalled memories into each turn."),
        "recall_limit": Takes("Memories of a recall that gives no limit.", 0, 100),
        "recall_budget_tokens": Takes(
            "Tokens that injected memories may take, at 4 characters a token.", 0, 100_000
        ),
        "extraction_enabled": Takes("Learn memories from finished turns."),
        "extraction_model": Takes("The model that reads turns; empty = default.", 0, 200),
        "extraction_window": Takes("Messages that one extraction reads.", 1, 200),
        "extraction_timeout_ms": Takes("Milliseconds for one extraction.", 1_000, 600_000),
        "max_memories_per_turn": Takes("Memories that one turn may teach.", 0, 50),
        "rule_learning_enabled": Takes("Learn rules from corrections."),
        "max_rule_chars": Takes("Characters of rules that are injected.", 0, 200_000),
        "decay_half_life_days": Takes("Days after which recency counts half.", 1, 36_500),
        "embeddings_enabled": Takes("Compare meanings, where a model for it is set up."),
        "embedding_model": Takes("The model that compares meanings; empty = the usual.", 0, 200),
    }
)


_kept: ContextVar[list[Config] | None] = ContextVar("kept", default=None)
"""What this call has read: nothing yet, or one. None = nobody said where a call begins."""


@contextmanager
def once() -> Iterator[None]:
    """Within the block the row is read once, when it is first asked for: one call, one state."""
    before = _kept.set([])
    try:
        yield
    finally:
        _kept.reset(before)


def forget() -> None:
    """Read the row anew when it is asked for the next time."""
    kept = _kept.get()
    if kept is not None:
        kept.clear()


def stored() -> Mapping[str, Any]:
    """What was set, by name; nothing while nobody set something."""
    rows = Configuration.objects.filter(pk=Configuration.ONE).values_list("values", flat=True)
    return next(iter(rows), {})


def current() -> Config:
    """The configuration of this call: what was set, else the environment, else the default.

    A value that an older release took and this one does not counts as not set; the doctor tells.
    Raises Invalid when the environment holds nonsense.
    """
    kept = _kept.get()
    if kept:
        return kept[0]
    found = in_force(stored())
    if kept is not None:
        kept.append(found)
    return found


def in_force(values: Mapping[str, object]) -> Config:
    """What would hold if these were set. Raises Invalid when the environment holds nonsense."""
    refused = {each.loc for each in refusals(values)}
    if settings.DATA_DIR_GIVEN:
        refused.add("data_dir")
    good = {name: value for name, value in values.items() if _shown(name) not in refused}
    return checked({"default_bank": settings.DEFAULT_BANK, **good})


def data_folder() -> Path:
    """The folder of all banks. Where the environment names one, that is it: no row is read."""
    if settings.DATA_DIR_GIVEN:
        return Path(settings.DATA_DIR)
    return folder_of(current())


def folder_of(config: Config) -> Path:
    """The data folder that a configuration means."""
    return Path(settings.DATA_DIR if config.data_dir == SETTING else config.data_dir)


def checked(values: Mapping[str, object]) -> Config:
    """These fields, and the defaults of all others.

    Raises Invalid that names each unknown field and each value of a wrong type or out of bounds.
    """
    refused = refusals(values)
    if refused:
        raise errors.Invalid(f"{refused[0].loc}: {refused[0].message}", details=refused)
    # The type of each value is that of its field: `_refusal` has just looked.
    return Config(**values)  # type: ignore[arg-type]


def refusals(values: Mapping[str, object]) -> tuple[errors.Detail, ...]:
    """What no field takes, by its name; the values themselves are not told."""
    defaults = asdict(Config())
    return tuple(
        errors.Detail(_shown(name), told)
        for name, value in values.items()
        if (told := _refusal(name, value, defaults))
    )


def _shown(name: str) -> str:
    """A name that may be told again: cut off, a secret would not be known any more."""
    return mask(name).text[:NAME_LENGTH]


def _refusal(name: str, value: object, defaults: Mapping[str, object]) -> str:
    """Why a field does not take this value; "" when it does. The value itself is not told."""
    if name not in FIELDS:
        return f"There is no such field: use {', '.join(FIELDS)}."
    kind = type(defaults[name])
    takes = FIELDS[name]
    match value:
        case bool() if kind is bool:
            return ""
        case int() if kind is int and not isinstance(value, bool):
            fits, unit = takes.least <= value <= takes.most, "a number from"
        case str() if kind is str:
            fits, unit = takes.least <= len(value) <= takes.most, "a text with a length of"
        case _:
            word = {bool: "true or false", int: "a whole number", str: "a text"}[kind]
            return f"Use {word}."
    if not fits:
        return f"Use {unit} {takes.least} to {takes.most}."
    if mask(str(value)).labels:
        return "Put no secret here: it is kept as it is, and shown."
    special = {"default_bank": _bad_bank, "data_dir": _bad_folder}.get(name)
    return special(str(value)) if special else ""


def _bad_bank(value: str) -> str:
    try:
        names.bank_name(value)
    except InvalidName as error:
        return error.message
    return ""


def _bad_folder(value: str) -> str:
    path = Path(value)
    is_whole = path.is_absolute() and ".." not in path.parts and value.isprintable()
    return "" if is_whole or value == SETTING else f"Use an absolute path, or {SETTING}."
