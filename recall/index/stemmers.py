"""The analyzer of a language, from the stemmers and stop words that come with Whoosh."""

from collections.abc import Callable, Mapping
from functools import lru_cache

from whoosh.lang import (
    NoStemmer,
    NoStopWords,
    stemmer_for_language,
    stopwords_for_language,
    two_letter_code,
)

from recall.engine.analysis import Analyzer
from recall.engine.english import IRREGULAR, STOP_WORDS

_CACHED_WORDS = 65_536

# Its patterns do not compile since Python 3.7.
_BROKEN = frozenset({"ar"})


def language_code(language: str) -> str:
    """The ISO 639-1 code of a language given by code, tag (`en-GB`) or English name.

    Another word comes back in lower case: `none`, or a language that nobody here knows.
    """
    plain = language.strip().lower()
    code: str | None = two_letter_code(plain) or two_letter_code(plain.partition("-")[0])
    return code or plain


@lru_cache(maxsize=32)
def analyzer(language: str = "en") -> Analyzer:
    """The analyzer of a `language`; `none` and unknown ones leave words as they are.

    A language that Whoosh knows only half (no stemmer, no stop words) gets that half.
    """
    code = language_code(language)
    stop_words = _stop_words(code)
    if code in _BROKEN:
        return Analyzer(code, stop_words=stop_words)
    try:
        stem = stemmer_for_language(code)
    except NoStemmer:
        return Analyzer(code, stop_words=stop_words)
    if code == "en":
        stem = _knowing(IRREGULAR, stem)
    return Analyzer(code, lru_cache(maxsize=_CACHED_WORDS)(stem), stop_words)


def _knowing(irregular: Mapping[str, str], stem: Callable[[str], str]) -> Callable[[str], str]:
    return lambda word: stem(irregular.get(word, word))


def _stop_words(code: str) -> frozenset[str]:
    if code == "en":
        return STOP_WORDS
    try:
        return frozenset(stopwords_for_language(code))
    except NoStopWords:
        return frozenset()
