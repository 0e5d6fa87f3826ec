"""The functions that agents know from elsewhere: names and types of what they take and answer.

`!` marks a field that is always there. The shapes are values: a class, a list of one shape, a
mapping of fields, a set of words, or `Maybe` for what may be null.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Shape = Any
"""`str`, `int` (0 or more), `float`, `bool`, `object` (whatever), or one of those above."""


@dataclass(frozen=True)
class Maybe:
    """This shape, or null."""

    shape: Shape


@dataclass(frozen=True)
class Function:
    """The call that stands for it here, what it takes and what it answers."""

    call: str
    takes: Mapping[str, Shape] = field(default_factory=dict)
    answers: Mapping[str, Shape] = field(default_factory=dict)


BANK = {"name!": str, "description": str, "memories!": int, "pinned!": int, "rules!": int}
MEMORY = {
    "id!": str,
    "text!": str,
    "confidence!": {"stated", "extracted", "inferred"},
    "created_at!": int,
    "updated_at!": int,
    "stated_at": int,
    "invalid_at": int,
    "superseded_by": str,
    "corroboration": int,
    "revision": int,
    "pinned": bool,
    "tags": [str],
    "entities": [str],
    "source": Maybe({"session_id": str, "entry_id": str, "agent": str}),
}
HIT = {"memory!": MEMORY, "score!": float}
CHECK = {"name!": str, "ok!": bool, "detail!": str}
RULE = {"name!": str, "content!": str, "updated_at!": int}

FUNCTIONS = {
    "memory::bank::create": Function(
        "POST /banks",
        {"name!": str, "description": str},
        {"bank!": BANK, "created!": bool},
    ),
    "memory::bank::delete": Function(
        "DELETE /banks/{name}", {"name!": str}, {"ok!": bool, "trashed_to!": str}
    ),
    "memory::bank::list": Function("GET /banks", {}, {"banks!": [BANK]}),
    "memory::delete": Function(
        "DELETE /memories/{id}", {"bank": str, "id!": str}, {"memory!": MEMORY}
    ),
    "memory::doctor": Function("POST /doctor", {}, {"checks!": [CHECK], "ok!": bool}),
    "memory::extract-job": Function(
        "POST /hooks/extract-job",
        {"bank": str, "session_id!": str, "skip": bool, "until": str},
        {"ok!": bool},
    ),
    "memory::get": Function("GET /memories/{id}", {"bank": str, "id!": str}, {"memory!": MEMORY}),
    "memory::hook::pre-generate": Function(
        "POST /hooks/pre-generate",
        {
            "generate": Maybe({"messages": object, "system_prompt": str}),
            "metadata": object,
            "session_id": str,
            "step": int,
            "turn_id": str,
        },
        {
            "annotations": object,
            "decision!": str,
            "mutations": Maybe({"append_messages!": [object], "system_prompt": str}),
        },
    ),
    "memory::list": Function(
        "GET /memories",
        {"bank": str, "include_superseded": bool, "limit": int, "offset": int, "tag": str},
        {"memories!": [MEMORY], "total!": int},
    ),
    "memory::on-config-change": Function("POST /config/reload", {"id": str}, {"ok!": bool}),
    "memory::on-session-deleted": Function(
        "POST /hooks/session-deleted", {"session_id": str}, {"ok!": bool}
    ),
    "memory::on-turn-completed": Function(
        "POST /hooks/turn-completed",
        {"parent": object, "parent_session_id": str, "session_id": str, "turn_id": str},
        {"ok!": bool},
    ),
    "memory::pin": Function(
        "POST /memories/{id}/pin",
        {"bank": str, "id!": str, "pinned!": bool},
        {"memory!": MEMORY},
    ),
    "memory::preview": Function(
        "POST /preview",
        {"bank": str, "query!": str},
        {
            "bank!": str,
            "memories!": [HIT],
            "message": str,
            "retrieval!": str,
            "rules!": int,
            "rules_truncated!": bool,
            "system_prompt_section!": str,
        },
    ),
    "memory::recall": Function(
        "POST /recall",
        {
            "bank": str,
            "include_superseded": bool,
            "limit": int,
            "mode": {"hybrid", "lexical", "semantic"},
            "query!": str,
            "tag": str,
        },
        {"bank!": str, "memories!": [HIT], "retrieval!": str},
    ),
    "memory::reload": Function("POST /reload", {}, {"banks!": int, "ok!": bool}),
    "memory::rule::list": Function("GET /rules", {"bank": str}, {"bank!": str, "rules!": [RULE]}),
    "memory::rule::set": Function(
        "PUT /rules/{name}",
        {"bank": str, "content!": str, "name!": str},
        {"exists!": bool, "ok!": bool},
    ),
    "memory::save": Function(
        "POST /memories",
        {
            "bank": str,
            "entities": [str],
            "pinned": bool,
            "session_id": str,
            "tags": [str],
            "text!": str,
        },
        {"created!": bool, "memory!": MEMORY},
    ),
    "memory::supersede": Function(
        "POST /memories/{id}/supersede",
        {"bank": str, "id!": str, "reason": str, "reinforce": bool, "superseded_by!": str},
        {"memory!": MEMORY, "reinforced!": bool},
    ),
    "memory::tags": Function(
        "GET /tags", {"bank": str}, {"bank!": str, "tags!": [{"tag!": str, "count!": int}]}
    ),
    "memory::ui-content": Function(
        "GET /ui-content", {"path!": str}, {"content!": str, "content_type!": str}
    ),
    "memory::update": Function(
        "PATCH /memories/{id}",
        {
            "bank": str,
            "entities": [str],
            "id!": str,
            "pinned": bool,
            "tags": [str],
            "text": str,
        },
        {"memory!": MEMORY},
    ),
}

TRIGGERS = {
    "memory::bank-changed": {"event_type!": str, "bank!": str},
    "memory::item-changed": {
        "event_type!": str,
        "bank!": str,
        "memory!": MEMORY,
        "reason": str,
    },
}
"""What an event of each says."""


def misfits(value: object, shape: Shape, at: str = "") -> list[str]:
    """Where a value is not of the shape. More fields than it names are no misfit."""
    if isinstance(shape, Maybe):
        return [] if value is None else misfits(value, shape.shape, at)
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return [at]
        return [
            each
            for key, inner in shape.items()
            for each in _field_misfits(value, key, inner, f"{at}.{key.removesuffix('!')}")
        ]
    if isinstance(shape, list):
        if not isinstance(value, list):
            return [at]
        return [
            found
            for number, each in enumerate(value)
            for found in misfits(each, shape[0], f"{at}[{number}]")
        ]
    return [] if _is_of(value, shape) else [at]


def _field_misfits(value: dict[str, Any], key: str, shape: Shape, at: str) -> list[str]:
    name = key.removesuffix("!")
    if name not in value:
        return [at] if key != name else []
    return misfits(value[name], shape, at)


def _is_of(value: object, shape: Shape) -> bool:
    if isinstance(shape, set):
        return value in shape
    if shape is int:
        return type(value) is int and value >= 0
    if shape is float:
        return type(value) in (int, float)
    return isinstance(value, shape)
