"""What a model makes of episodes, weighed against what it was shown. Pure.

The model is not believed: what it has from nowhere is dropped, what it may not touch stays, and
what it proposes is no more trusted than the least of its sources.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from banks.services.consolidating import Promote, Seen
from banks.services.drafts import Draft
from banks.store import names, procedure
from banks.store.redact import mask
from banks.store.types import Category, Origin, Trust
from recall.learning.llm import replies
from recall.learning.llm.replies import LONGEST, SHORTEST

CATEGORIES = (Category.FACTS, Category.PREFERENCES, Category.RULES, Category.PROCEDURE)

TEXT_CHARACTERS = 2_000
"""So much of an episode or of known knowledge is shown."""

_TRUST = (Trust.LOW, Trust.MEDIUM, Trust.HIGH)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Episode:
    """Something that happened. `row` counts up as episodes come in."""

    id: str
    row: int
    category: str
    created: datetime
    text: str
    trust: Trust
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Known:
    """Lasting knowledge that episodes may touch."""

    id: str
    category: Category
    version: str
    title: str
    text: str
    trust: Trust
    pinned: bool


@dataclass(frozen=True, slots=True)
class Wish:
    """A change, and why a person has to agree to it whatever the bank says; "" when none has."""

    change: Promote
    waits: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """What an answer comes to; how much of it cannot be used, and what met a pinned memory."""

    wishes: tuple[Wish, ...]
    rejected: int = 0
    pinned: tuple[Promote, ...] = ()


def shown(episodes: Iterable[Episode], known: Iterable[Known]) -> str:
    """What the model is shown: masked, and JSON, in which no text can end its place."""
    told = {
        "episodes": [
            {
                "id": each.id,
                "day": each.created.date().isoformat(),
                "category": each.category,
                "text": mask(each.text).text[:TEXT_CHARACTERS],
            }
            for each in episodes
        ],
        "knowledge": [
            {
                "id": each.id,
                "category": each.category.value,
                **({"title": each.title} if each.title else {}),
                "text": mask(each.text).text[:TEXT_CHARACTERS],
            }
            for each in known
        ],
    }
    return json.dumps(told, ensure_ascii=False, indent=0)


def read(reply: str, episodes: Sequence[Episode], known: Sequence[Known]) -> Reading:
    """What an answer to these episodes proposes. Raises ReplyUnusable."""
    sources = {each.id: each for each in episodes}
    targets = {each.id: each for each in known}
    wishes: dict[tuple[Category, str], Wish] = {}
    pinned: list[Promote] = []
    rejected = 0
    for told in replies.objects(reply):
        draft, origin = _draft(told, sources)
        if draft is None or draft.category is None:
            rejected += 1
            continue
        retires = _retired(told.get("supersedes"), draft.category, targets)
        change = Promote(
            draft=draft,
            sources=tuple(Seen(each.id, each.fingerprint) for each in origin),
            retires=tuple(Seen(each.id, each.version) for each in retires),
        )
        if any(each.pinned for each in retires):
            pinned.append(change)
            continue
        key = (draft.category, names.normalise(draft.text))
        wishes.setdefault(key, Wish(change, _why_asked(draft, retires)))
    return Reading(tuple(wishes.values()), rejected, tuple(pinned))


def _draft(told: Any, sources: Mapping[str, Episode]) -> tuple[Draft | None, list[Episode]]:
    """What one element would save, and the episodes that show it; None when it cannot be used."""
    if not isinstance(told, dict):
        return None, []
    origin = [sources[key] for key in _ids(told.get("sources")) if key in sources]
    category = _category(told.get("category"))
    is_procedure = category is Category.PROCEDURE
    text = _steps(told.get("text")) if is_procedure else replies.line(told.get("text"))
    title = replies.line(told.get("title")) if is_procedure else ""
    fits = is_procedure or len(text) <= LONGEST
    if not origin or len(text) < SHORTEST or not fits or (is_procedure and not title):
        return None, []
    draft = Draft(
        text=text,
        category=category,
        title=title or None,
        origin=Origin.CONSOLIDATION,
        trust=min((Trust.MEDIUM, *(each.trust for each in origin)), key=_TRUST.index),
        tags=replies.labels(told.get("tags")),
        entities=replies.labels(told.get("entities")),
    )
    return draft, origin


def _retired(value: object, category: Category, known: Mapping[str, Known]) -> list[Known]:
    """What it replaces, of what was shown and is of its kind."""
    found = [known[key] for key in _ids(value) if key in known]
    return [each for each in found if each.category is category]


def _why_asked(draft: Draft, retires: Sequence[Known]) -> str:
    if draft.category is Category.RULES:
        return "A rule needs a person."
    trust = draft.trust or Trust.LOW
    if any(trust is Trust.LOW and each.trust is not Trust.LOW for each in retires):
        return "It would replace something that is trusted more."
    return ""


def _ids(value: object) -> list[str]:
    """Ids, each once; one alone may come without its list."""
    told = value if isinstance(value, list) else [value]
    return list(dict.fromkeys(each for each in told if isinstance(each, str)))


def _category(value: object) -> Category:
    word = value.strip().lower() if isinstance(value, str) else ""
    known = {each.value.removesuffix("s"): each for each in CATEGORIES}
    return known.get(word.removesuffix("s"), Category.FACTS)


def _steps(value: object) -> str:
    """The text of a procedure, line by line; "" when it says nothing."""
    if not isinstance(value, str):
        return ""
    text = _CONTROLS.sub("", value.replace("\r\n", "\n")).strip()
    fits = len(text) <= names.STORY_LONGEST // 2
    return text if fits and procedure.says_something(text) else ""
