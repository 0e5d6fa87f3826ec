"""From rankings to figures."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from bench.quality.sets import Question, Ranking

ALL = "all"


@dataclass(frozen=True, slots=True)
class Figures:
    """Means over questions: of the share of the wanted memories among the first five and ten, of
    their places (nDCG), of whether one came first; and how often a forbidden one came at all."""

    count: int
    first: float
    at_5: float
    at_10: float
    ndcg: float
    never: int


def by_kind(asked: Iterable[Question], ask: Callable[[str], Ranking]) -> dict[str, Figures]:
    """Figures of each kind of question, and of all."""
    kinds: dict[str, list[tuple[Question, Ranking]]] = defaultdict(list)
    for question in asked:
        answered = (question, ask(question.text))
        kinds[question.kind].append(answered)
        kinds[ALL].append(answered)
    return {kind: _figures(answers) for kind, answers in kinds.items()}


def pooled(answers: Iterable[dict[str, Figures]]) -> dict[str, Figures]:
    """Figures of several banks as if their questions were of one."""
    kinds: dict[str, list[Figures]] = defaultdict(list)
    for each in answers:
        for kind, figures in each.items():
            kinds[kind].append(figures)
    return {kind: _together(several) for kind, several in kinds.items()}


def _figures(answers: list[tuple[Question, Ranking]]) -> Figures:
    def mean(measure: Callable[[Question, Ranking], float]) -> float:
        return sum(measure(question, ranking) for question, ranking in answers) / len(answers)

    return Figures(
        count=len(answers),
        first=mean(lambda question, ranking: float(bool(question.gold & {*ranking[:1]}))),
        at_5=mean(lambda question, ranking: _share(question, ranking[:5])),
        at_10=mean(lambda question, ranking: _share(question, ranking[:10])),
        ndcg=mean(_ndcg),
        never=sum(bool(question.never & {*ranking}) for question, ranking in answers),
    )


def _share(question: Question, ranking: Ranking) -> float:
    return len(question.gold & {*ranking}) / len(question.gold)


def _ndcg(question: Question, ranking: Ranking) -> float:
    gain = sum(
        1 / math.log2(place + 2) for place, key in enumerate(ranking[:10]) if key in question.gold
    )
    return gain / sum(1 / math.log2(place + 2) for place in range(min(10, len(question.gold))))


def _together(several: list[Figures]) -> Figures:
    count = sum(each.count for each in several)

    def mean(name: str) -> float:
        return sum(getattr(each, name) * each.count for each in several) / count

    return Figures(
        count=count,
        first=mean("first"),
        at_5=mean("at_5"),
        at_10=mean("at_10"),
        ndcg=mean("ndcg"),
        never=sum(each.never for each in several),
    )
