"""From a person's text to what is looked up, and from a memory to what is indexed.

A query has no operators: every character is text.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date

from recall.engine.analysis import Analyzer, fold, is_single, is_weak
from recall.engine.dates import date_terms, day_terms

MAX_QUERY_CHARS = 4_000
"""Characters of a query that are read (spec: recall, Languages)."""

MAX_QUERY_TERMS = 32
"""Different terms of a query that are looked up, the first ones (spec: recall, Languages)."""

TEXT_WEIGHT = 3
"""Occurrences that one occurrence in a memory's own text counts for (recipe A)."""

DATE_WEIGHT = 1
NEIGHBOUR_WEIGHT = 1
"""Occurrences that a word of the day or of a neighbouring memory counts for (recipe A)."""

LABEL_WEIGHT = 1
"""A tag or an entity is found by its words, at the lowest weight."""

USER = "user"
"""The subject that a first person in a query and "User …" in a memory both mean."""

_FIRST_PERSON = frozenset(("i", "i'm", "i've", "i'd", "i'll", "me", "my", "mine", "myself"))
_NEWEST = frozenset(("latest", "newest", "current", "currently", "now", "nowadays", "today"))
_SPOKEN = re.compile(r"\S+")
_EDGES = "\"'`.,;:!?()[]{}<>*\u3001\u3002\u300c\u300d\u00ab\u00bb\u201c\u201d\u2026"
_SENTENCE = re.compile(r"\S.*?(?:(?<=[.!?])(?=\s)|(?<=[\u3002\uff01\uff1f])|$)", re.MULTILINE)
_QUESTION_MARKS = ("?", "\uff1f", "\u061f")
_MAX_LABEL_WORDS = 4
_MAX_SPOKEN_WORDS = 256
_ABOUT_USER = re.compile(r"\W*(?:the\s+)?user(?:'s)?\b", re.IGNORECASE)


def query_terms(text: str, analyzer: Analyzer) -> tuple[str, ...]:
    """Different terms to look up, in order of first appearance, at most `MAX_QUERY_TERMS`.

    Empty for a text without content: blank, punctuation or stop words only. Characters of an
    unspaced script give way to their bigrams, and hiragana to whatever else there is, since
    either would match nearly every text of that script.
    """
    text = text[:MAX_QUERY_CHARS]
    found = list(dict.fromkeys([*analyzer.terms(text), *date_terms(text)]))
    paired = {character for term in found if len(term) > 1 for character in term}
    found = [term for term in found if not (is_single(term) and term in paired)]
    strong = [term for term in found if not is_weak(term)]
    return tuple((strong or found)[:MAX_QUERY_TERMS])


def document_terms(
    text: str,
    *,
    analyzer: Analyzer,
    title: str = "",
    summary: str = "",
    day: date | None = None,
    neighbours: Iterable[Sequence[str]] = (),
    labels: Iterable[str] = (),
) -> Mapping[str, int]:
    """Weighted term frequencies of one memory (recipe A).

    `neighbours` are the terms of the memories around it in its session; `labels` its tags and
    entities. Words of the summary that the text has too count once: a summary is
    nearly always a piece of the text.
    """
    own = Counter(analyzer.terms(text))
    own.update(analyzer.terms(title))
    own.update(set(analyzer.terms(summary)) - own.keys())
    own.update(set(date_terms(text[:MAX_QUERY_CHARS])))
    weighted: Counter[str] = Counter({term: TEXT_WEIGHT * count for term, count in own.items()})
    for neighbour in neighbours:
        _add(weighted, neighbour, NEIGHBOUR_WEIGHT)
    if day is not None:
        _add(weighted, day_terms(day), DATE_WEIGHT)
    missing = {term for label in labels for term in analyzer.terms(label)} - weighted.keys()
    _add(weighted, missing, LABEL_WEIGHT)
    return dict(weighted)


def named_entities(
    text: str, known: Callable[[Collection[str]], AbstractSet[str]]
) -> tuple[str, ...]:
    """Entities named in `text`, in order; of overlapping names the longest.

    `known` gives those of some lower-case labels that are entities of the bank. A first person
    stands for `USER`, but only where no other entity is named.
    """
    spoken = _spoken(text)
    spans = {
        " ".join(spoken[start : start + size]): None
        for size in range(1, _MAX_LABEL_WORDS + 1)
        for start in range(len(spoken) - size + 1)
    }
    entities = known(spans.keys())
    named: dict[str, None] = {}
    place = 0
    while place < len(spoken):
        for size in range(_MAX_LABEL_WORDS, 0, -1):
            label = " ".join(spoken[place : place + size])
            if label in entities:
                named[label] = None
                place += size
                break
        else:
            place += 1
    if not named and not _FIRST_PERSON.isdisjoint(spoken):
        return (USER,)
    return tuple(named)


def subjects(text: str, entities: Iterable[str]) -> frozenset[str]:
    """Whom or what a memory is about: its entities, and `USER` when it says so itself."""
    about = {entity.casefold() for entity in entities}
    if _ABOUT_USER.match(text):
        about.add(USER)
    return frozenset(about)


def asking(text: str) -> float:
    """Which share of a memory is questions, 0..1; of a long one the beginning counts."""
    beginning = text[:MAX_QUERY_CHARS]
    if not any(mark in beginning for mark in _QUESTION_MARKS):
        return 0.0
    sentences = _SENTENCE.findall(beginning)
    asked = sum(len(each) for each in sentences if each.endswith(_QUESTION_MARKS))
    return asked / sum(map(len, sentences))


def asks_for_newest(text: str) -> bool:
    """Whether the question itself asks for the newest state of things."""
    return not _NEWEST.isdisjoint(_spoken(text))


def _spoken(text: str) -> list[str]:
    """Words as a person separates them, folded, without the punctuation around them."""
    words = []
    for match in _SPOKEN.finditer(fold(text[:MAX_QUERY_CHARS]).casefold()):
        word = match.group().strip(_EDGES).removesuffix("'s")
        if word:
            words.append(word)
        if len(words) == _MAX_SPOKEN_WORDS:
            break
    return words


def _add(weighted: Counter[str], terms: Iterable[str], weight: int) -> None:
    for term in terms:
        weighted[term] += weight
