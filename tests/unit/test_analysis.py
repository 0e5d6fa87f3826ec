"""Text to terms, without an index."""

import time

import pytest

from recall.engine.analysis import MAX_TERM_CHARS, Analyzer
from recall.engine.english import STOP_WORDS, asks_for_time, tells_time
from recall.index import analyzer

ENGLISH = analyzer("en")
PLAIN = Analyzer()


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("The valves were leaking", "valve leaks"),
        ("Ada bought two gauges", "who buys gauges"),
        ("Ada has written it down", "what did Ada write"),
        ("Part BENCH-100821 is on order", "BENCH-100821"),
        ("Part BENCH-100821 is on order", "bench"),
        ("Part BENCH-100821 is on order", "100821"),
        ("Entry point is src/main.py", "src/main.py"),
        ("Entry point is src/main.py", "main"),
        ("Written in C++ mostly", "c++"),
        ("Written in C# mostly", "C#"),
        ("Release v1.2.3 is out", "v1.2.3"),
        ("Call kilnTemperature() first", "temperature"),
        ("Call kilnTemperature() first", "kilntemperature"),
        ("set MAX_FLOW=3", "max_flow"),
        ("set MAX_FLOW=3", "flow"),
        ("Nora O\u2019Brien runs the kiln", "o'brien"),
        ("The pump\u2019s seal", "pump"),
        ("\uff30\uff35\uff2d\uff30 \uff11\uff12", "pump 12"),
        ("Weighs 1,250 kg", "1250"),
        ("soft\u00adware", "software"),
        ("Straße", "STRASSE"),
        ("\u0130tfaiye dolab\u0131", "\u0130TFA\u0130YE DOLABI"),
        ("non\u2011return valve", "non-return"),
    ],
)
def test_a_memory_is_found_by_the_words_of_a_query(text: str, query: str) -> None:
    wanted = ENGLISH.terms(query)
    assert wanted
    assert set(wanted) <= set(ENGLISH.terms(text))


def test_c_plus_plus_is_not_found_by_another_language() -> None:
    assert set(ENGLISH.terms("C++")).isdisjoint(ENGLISH.terms("C# or plain C"))


# field case A09
@pytest.mark.parametrize("query", ["点検", "水曜", "空気弁", "弁"])
def test_a_word_inside_an_unspaced_run_is_found(query: str) -> None:
    assert set(PLAIN.terms(query)) <= set(PLAIN.terms("空気弁の点検は毎週水曜です"))


def test_latin_words_and_unspaced_runs_part_without_a_space() -> None:
    assert PLAIN.terms("Python製の弁") == ["python", "製", "の", "製の", "弁", "の弁"]


def test_a_korean_word_is_found_with_its_particle() -> None:
    assert "서울" in PLAIN.terms("서울에서 만났다")


@pytest.mark.parametrize("word", ["हिन्दी", "தமிழ்", "বাংলা"])
def test_marks_stay_inside_their_word(word: str) -> None:
    assert PLAIN.terms(f"x {word} y") == ["x", word, "y"]


def test_a_thai_word_inside_an_unspaced_run_shares_its_clusters() -> None:
    assert "น้ำ" not in PLAIN.terms("ปั๊ม")
    inside = PLAIN.terms("ซ่อมปั๊มวันนี้")
    assert {term for term in PLAIN.terms("ปั๊มวัน") if len(term) < 7} <= set(inside)


@pytest.mark.parametrize("text", ["", "   ", "\u3000", "-", "()[]*", "don't", "what is this?"])
def test_text_without_content_has_no_terms(text: str) -> None:
    assert ENGLISH.terms(text) == []


def test_the_month_of_may_is_no_stop_word() -> None:
    assert "may" not in STOP_WORDS


def test_a_verb_of_english_changes_no_word_of_another_language() -> None:
    assert analyzer("de").terms("Er fell") == ["fell"]


@pytest.mark.parametrize(
    "text",
    ["When did the kiln crack?", "tell me when", "How long is the purge", "what day is the audit"],
)
def test_a_question_can_ask_for_a_time(text: str) -> None:
    assert asks_for_time(text)


@pytest.mark.parametrize("text", ["It fails when I start it", "What broke when the kiln ran?", ""])
def test_a_word_of_time_alone_asks_for_none(text: str) -> None:
    assert not asks_for_time(text)


@pytest.mark.parametrize(
    "text", ["It broke last week.", "Audit on 2026-05-04", "at 14:30", "the 3rd of May", "Sundays"]
)
def test_a_memory_can_tell_a_time(text: str) -> None:
    assert tells_time(text)


@pytest.mark.parametrize("text", ["Valve 7 may leak.", "Part 2000123 is blasted", "They march in"])
def test_a_number_or_another_word_is_no_time(text: str) -> None:
    assert not tells_time(text)


def test_terms_are_cut_alike_whatever_follows() -> None:
    long = "x" * 500
    assert PLAIN.terms(long) == PLAIN.terms(long + "y") == ["x" * MAX_TERM_CHARS]
    assert max(map(len, PLAIN.terms("/".join(["part"] * 50)))) == MAX_TERM_CHARS


@pytest.mark.parametrize("unit", ["a", "a-", "++", "ab/", "弁", "ป", "aB", "'s", "\u0301", "._"])
def test_reading_takes_time_linear_in_the_length(unit: str) -> None:
    def cost_s(size: int) -> float:
        started = time.process_time()
        PLAIN.terms(unit * size)
        return time.process_time() - started

    small = min(cost_s(2_000) for _ in range(3))
    # 16 times the text: linear is 16 times the time, quadratic 256 times.
    assert min(cost_s(32_000) for _ in range(3)) < 80 * small + 0.1


def test_a_possessive_leaves_nothing_behind() -> None:
    assert ENGLISH.terms("The pump's seal") == ["pump", "seal"]


def test_a_word_that_its_stemmer_eats_is_no_term() -> None:
    assert Analyzer("xx", stem=lambda word: word.removeprefix("ge")).terms("ge gear") == ["ar"]


@pytest.mark.parametrize("language", ["none", "ja", "xx", ""])
def test_a_language_without_stemmer_leaves_words_as_they_are(language: str) -> None:
    assert analyzer(language).terms("The valves") == ["the", "valves"]


@pytest.mark.parametrize(
    ("language", "text", "query"),
    [
        ("de", "Die Ventile der Öfen", "ventil"),
        ("fr", "les vannes de l'usine", "usine vanne"),
        ("es", "las bombas nuevas", "bomba"),
        ("ru", "старые насосы", "насос"),
        ("ar", "مضخة جديدة", "مضخة"),
        ("en-GB", "two kilns", "kiln"),
    ],
)
def test_each_language_brings_its_own_stemmer(language: str, text: str, query: str) -> None:
    found = analyzer(language).terms(text)
    assert set(analyzer(language).terms(query)) <= set(found)
