"""Text to terms: one function for memories and for queries, so that both always agree.

Nothing here knows the index: the stemmer and the stop words of a language are passed in.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache

MAX_TERM_CHARS = 64
"""Longest term, in characters; longer ones are cut on both sides alike."""

_PUNCTUATION = str.maketrans(
    {
        "\u2018": "'",
        "\u2019": "'",
        "\u02bc": "'",
        "\u2010": "-",
        "\u2011": "-",
        "\u2212": "-",
        # Turkish has two of this letter; folding the case keeps a dot that nobody types.
        "\u0130": "I",
        "\u0131": "i",
        # Invisible inside a word: what a person types does not hold them.
        "\u00ad": None,
        "\u200b": None,
        "\u200c": None,
        "\u200d": None,
        "\u2060": None,
        "\ufeff": None,
    }
)

# Scripts written without spaces; Hangul has spaces, but its particles stick to the word.
_IDEOGRAPHS = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HIRAGANA = "\u3040-\u309f"
_KATAKANA = "\u30a0-\u30ff\u31f0-\u31ff"
_OTHER_CJK = "\u1100-\u11ff\u3100-\u312f\u3130-\u318f\uac00-\ud7af"
_CJK_RUN = re.compile(f"[{_IDEOGRAPHS}{_HIRAGANA}{_KATAKANA}{_OTHER_CJK}]+")
_SYLLABIC_RUN = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+")
_ONLY_HIRAGANA = re.compile(f"[{_HIRAGANA}\u30fc]+")


@cache
def _word_class() -> str:
    """Inside of a character class: letters, digits and the marks that `\\w` leaves out.

    Without the marks a vowel sign would end a Hindi or Thai word.
    """
    ranges: list[str] = []
    first = last = -2
    for point in range(0x300, 0x11FFF):
        if not unicodedata.category(chr(point)).startswith("M"):
            continue
        if point != last + 1:
            if first > 0:
                ranges.append(f"{chr(first)}-{chr(last)}")
            first = point
        last = point
    ranges.append(f"{chr(first)}-{chr(last)}")
    return "".join(ranges)


_WORD = f"(?:[^\\W_]|[{_word_class()}])+"
_TOKEN = re.compile(f"{_WORD}(?:[-_./\\\\:@'&+#]{{1,3}}{_WORD})*(?:\\+\\+|#)?")
_PART = re.compile(_WORD)
_DIGIT_GROUP = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_POSSESSIVE = re.compile(r"'[sS]$")


def _unchanged(word: str) -> str:
    return word


@dataclass(frozen=True, slots=True)
class Analyzer:
    """What a bank's language brings: a stemmer and the words that carry no meaning."""

    language: str = "none"
    stem: Callable[[str], str] = _unchanged
    stop_words: frozenset[str] = field(default_factory=frozenset)

    def terms(self, text: str) -> list[str]:
        """Terms of `text` in order, with repeats; never an empty string.

        An identifier or path comes whole and by its parts, a run of an unspaced script as
        characters and bigrams. Time is linear in the length of the text.
        """
        return list(self._terms(fold(text)))

    def _terms(self, text: str) -> Iterator[str]:
        for match in _TOKEN.finditer(text):
            token = _POSSESSIVE.sub("", match.group())
            whole = token.casefold()
            if whole in self.stop_words:
                continue
            parts = _PART.findall(token)
            if len(parts) > 1 or token[-1] in "+#":
                yield whole[:MAX_TERM_CHARS]
            if token[-1] in "+#" and len(parts) == 1:
                # "C" alone is another language than "C++".
                continue
            for part in parts:
                yield from self._part(part)

    def _part(self, part: str) -> Iterator[str]:
        if part.isascii():
            yield from self._word(part)
            humps = _HUMP.split(part)
            if len(humps) > 1:
                for hump in humps:
                    yield from self._word(hump)
            return
        place = 0
        for run in _CJK_RUN.finditer(part):
            yield from self._spaced(part[place : run.start()])
            yield from _grams(list(run.group()), singles=True)
            place = run.end()
        yield from self._spaced(part[place:])

    def _spaced(self, part: str) -> Iterator[str]:
        if not part:
            return
        yield from self._word(part)
        if _SYLLABIC_RUN.fullmatch(part):
            yield from _grams(_clusters(part), singles=False)

    def _word(self, word: str) -> Iterator[str]:
        folded = word.casefold()
        if folded in self.stop_words:
            return
        stemmed = self.stem(folded[:MAX_TERM_CHARS])
        if stemmed:
            yield stemmed[:MAX_TERM_CHARS]


def fold(text: str) -> str:
    """`text` in NFKC with plain quotes and hyphens, without invisible characters; case is kept."""
    plain = unicodedata.normalize("NFKC", text).translate(_PUNCTUATION)
    return _DIGIT_GROUP.sub("", plain)


def is_weak(term: str) -> bool:
    """Whether a term of an unspaced script is grammar rather than content (hiragana only)."""
    return _ONLY_HIRAGANA.fullmatch(term) is not None


def is_single(term: str) -> bool:
    """Whether a term is one character of an unspaced script, covered by a bigram beside it."""
    return len(term) == 1 and _CJK_RUN.fullmatch(term) is not None


def _grams(characters: list[str], *, singles: bool) -> Iterator[str]:
    for place, character in enumerate(characters):
        if singles:
            yield character
        if place:
            yield characters[place - 1] + character


def _clusters(word: str) -> list[str]:
    """Characters of `word` with their marks: a vowel sign never stands alone."""
    clusters: list[str] = []
    for character in word:
        if clusters and unicodedata.category(character).startswith("M"):
            clusters[-1] += character
        else:
            clusters.append(character)
    return clusters
