"""Each part of the recipe switched off, by its name: what it is worth."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

Change = tuple[str, str, Any]
"""A module (or a class of one), a name in it, and what stands there instead."""

PARTS: dict[str, tuple[Change, ...]] = {
    "everything": (),
    "without stemming": (("recall.index.stemmers", "stemmer_for_language", lambda _: str),),
    "without stop words": (("recall.index.stemmers", "STOP_WORDS", frozenset()),),
    "without irregular forms": (("recall.index.stemmers", "IRREGULAR", {}),),
    "without neighbours": (("recall.documents:Order", "neighbours", lambda *_: ()),),
    "one neighbour a side": (("recall.documents", "REACH", 1),),
    "own text no heavier": (("recall.engine.query", "TEXT_WEIGHT", 1),),
    "without date words": (("recall.engine.query", "day_terms", lambda *_: []),),
    "questions as good as statements": (("recall.engine.scoring", "ASKING_LOSS", 0.0),),
    "without the share for telling a time": (("recall.engine.scoring", "TIME_SHARE", 0.0),),
    "without the share for the subject": (("recall.engine.scoring", "SUBJECT_SHARE", 0.0),),
    "without corroboration and pin": (
        ("recall.engine.scoring", "CORROBORATION_SHARE", 0.0),
        ("recall.engine.scoring", "PIN_SHARE", 0.0),
    ),
    "without recency": (
        ("recall.engine.scoring", "RECENCY_SHARE", 0.0),
        ("recall.engine.scoring", "NEWEST_SHARE", 0.0),
    ),
}


@contextmanager
def switched_off(part: str) -> Iterator[None]:
    """The product without one part; who indexes meanwhile has to index anew afterwards."""
    before = [(_owner(place), name, value) for place, name, value in PARTS[part]]
    kept = [(owner, name, getattr(owner, name)) for owner, name, _ in before]
    for owner, name, value in before:
        setattr(owner, name, value)
    _forget_analyzers()
    try:
        yield
    finally:
        for owner, name, value in kept:
            setattr(owner, name, value)
        _forget_analyzers()


def _owner(place: str) -> Any:
    module, _, inside = place.partition(":")
    owner = importlib.import_module(module)
    return getattr(owner, inside) if inside else owner


def _forget_analyzers() -> None:
    importlib.import_module("recall.index.stemmers").analyzer.cache_clear()
