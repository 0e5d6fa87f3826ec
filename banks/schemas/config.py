"""The configuration of the installation."""

from typing import Any

from pydantic import Field

from banks.config import FIELDS, Config
from banks.schemas.common import Answer, Body

_DEFAULTS = Config()


def _told(name: str) -> Any:
    """A field with its meaning and its bounds."""
    takes = FIELDS[name]
    unit = " characters" if isinstance(getattr(_DEFAULTS, name), str) else ""
    bounds = f" {takes.least} to {takes.most}{unit}." if takes.most else ""
    return Field(description=takes.meaning + bounds)


def _wanted(name: str) -> Any:
    """A field that may be left out. Its bounds are told here and held by the core, which says them
    in its own words."""
    takes, kind = FIELDS[name], type(getattr(_DEFAULTS, name))
    least, most = ("minimum", "maximum") if kind is int else ("minLength", "maxLength")
    bounds = {} if kind is bool else {least: takes.least, most: takes.most}

    def tell(schema: dict[str, Any]) -> None:
        schema.pop("default", None)
        schema.update(bounds)

    return Field(default=None, description=takes.meaning, json_schema_extra=tell)


class ConfigOut(Answer):
    """The sixteen fields as they are in force now."""

    data_dir: str = _told("data_dir")
    default_bank: str = _told("default_bank")
    inject_rules: bool = _told("inject_rules")
    inject_memories: bool = _told("inject_memories")
    recall_limit: int = _told("recall_limit")
    recall_budget_tokens: int = _told("recall_budget_tokens")
    extraction_enabled: bool = _told("extraction_enabled")
    extraction_model: str = _told("extraction_model")
    extraction_window: int = _told("extraction_window")
    extraction_timeout_ms: int = _told("extraction_timeout_ms")
    max_memories_per_turn: int = _told("max_memories_per_turn")
    rule_learning_enabled: bool = _told("rule_learning_enabled")
    max_rule_chars: int = _told("max_rule_chars")
    decay_half_life_days: int = _told("decay_half_life_days")
    embeddings_enabled: bool = _told("embeddings_enabled")
    embedding_model: str = _told("embedding_model")


class ConfigIn(Body):
    """Fields to change; one that is left out stays as it is."""

    data_dir: str = _wanted("data_dir")
    default_bank: str = _wanted("default_bank")
    inject_rules: bool = _wanted("inject_rules")
    inject_memories: bool = _wanted("inject_memories")
    recall_limit: int = _wanted("recall_limit")
    recall_budget_tokens: int = _wanted("recall_budget_tokens")
    extraction_enabled: bool = _wanted("extraction_enabled")
    extraction_model: str = _wanted("extraction_model")
    extraction_window: int = _wanted("extraction_window")
    extraction_timeout_ms: int = _wanted("extraction_timeout_ms")
    max_memories_per_turn: int = _wanted("max_memories_per_turn")
    rule_learning_enabled: bool = _wanted("rule_learning_enabled")
    max_rule_chars: int = _wanted("max_rule_chars")
    decay_half_life_days: int = _wanted("decay_half_life_days")
    embeddings_enabled: bool = _wanted("embeddings_enabled")
    embedding_model: str = _wanted("embedding_model")

    def values_by_name(self) -> dict[str, Any]:
        """What was sent."""
        return self.model_dump(exclude_unset=True)


class ReloadConfigIn(Body):
    """Which configuration has changed: there is one, so every id means it."""

    id: str = Field(default="", description="Taken for what others send; it changes nothing.")


class RereadOut(Answer):
    """Whether all is well now."""

    ok: bool
