"""What one would do without a recipe: the whole question as a substring; BM25 over plain words."""

import math
from collections import Counter

from bench.quality.sets import Bank, Ranking, plain_words

BEST = 10
K1, B = 1.2, 0.75


class Substring:
    """Memories that hold the whole question, newest first."""

    def __init__(self, bank: Bank) -> None:
        self._texts = [(said.key, said.text.casefold()) for said in reversed(bank.said)]

    def __call__(self, question: str) -> Ranking:
        return [key for key, text in self._texts if question.casefold() in text][:BEST]


class PlainBm25:
    """BM25 1.2 / 0.75 over the words of the text, without stemming or stop words."""

    def __init__(self, bank: Bank) -> None:
        self._counts = {said.key: Counter(plain_words(said.text)) for said in bank.said}
        self._lengths = {key: counts.total() for key, counts in self._counts.items()}
        self._average = sum(self._lengths.values()) / len(self._lengths)
        self._holders = Counter(word for counts in self._counts.values() for word in counts)

    def __call__(self, question: str) -> Ranking:
        scores = {key: self._score(key, question) for key in self._counts}
        found = [key for key in sorted(scores, key=lambda key: -scores[key]) if scores[key]]
        return found[:BEST]

    def _score(self, key: str, question: str) -> float:
        counts, norm = self._counts[key], 1 - B + B * self._lengths[key] / self._average
        return sum(
            self._rarity(word) * counts[word] * (K1 + 1) / (counts[word] + K1 * norm)
            for word in dict.fromkeys(plain_words(question))
            if counts[word]
        )

    def _rarity(self, word: str) -> float:
        held = self._holders[word]
        return math.log(1 + (len(self._counts) - held + 0.5) / (held + 0.5))
