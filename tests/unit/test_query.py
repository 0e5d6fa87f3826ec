"""What is looked up for a query, and what a memory is indexed under."""

from collections.abc import Callable, Collection
from datetime import date

import pytest

from recall.engine.dates import date_terms
from recall.engine.query import (
    MAX_QUERY_TERMS,
    USER,
    asking,
    asks_for_newest,
    document_terms,
    named_entities,
    query_terms,
    subjects,
)
from recall.index import analyzer

ENGLISH = analyzer("en")


def knows(*entities: str) -> Callable[[Collection[str]], frozenset[str]]:
    return lambda labels: frozenset(entities).intersection(labels)


# field case A10
@pytest.mark.parametrize("text", ["", "   ", "\u3000", '"', "(", "*", "**", "-", "NOT", "don't"])
def test_a_query_without_content_looks_up_nothing(text: str) -> None:
    assert query_terms(text, ENGLISH) == ()


# field case A10
@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("NOT pump", ("pump",)),
        ("[a TO]", ()),
        ("title:(", ("titl",)),
        ("h52.1 - x", ("h52.1", "h52", "1", "x")),
        ("don't restart", ("restart",)),
        ("pump* OR valve~2", ("pump", "valv", "2")),
    ],
)
def test_operators_are_text(text: str, terms: tuple[str, ...]) -> None:
    assert query_terms(text, ENGLISH) == terms


def test_terms_are_different_and_the_first_ones() -> None:
    words = [f"w{number}" for number in range(100)]
    terms = query_terms(" ".join(["w0", *words]), ENGLISH)
    assert terms == tuple(words[:MAX_QUERY_TERMS])


def test_only_the_beginning_of_a_very_long_query_is_read() -> None:
    assert query_terms("the " * 1_000 + "valve", ENGLISH) == ()


# field case A09
def test_characters_give_way_to_their_bigrams() -> None:
    assert query_terms("点検", ENGLISH) == ("点検",)
    assert query_terms("弁", ENGLISH) == ("弁",)


# field case A09
def test_grammar_of_an_unspaced_script_is_not_looked_up() -> None:
    assert "です" not in query_terms("点検はいつですか", ENGLISH)
    assert query_terms("りんご", ENGLISH) == ("りん", "んご")


def test_own_text_weighs_three_times_its_surroundings() -> None:
    terms = document_terms(
        "Valve seven leaks, valve eight holds",
        analyzer=ENGLISH,
        summary="Valve seven needs grease",
        day=date(2026, 8, 24),
        neighbours=[ENGLISH.terms("The leak was found early")],
        labels=["hydraulics", "valve"],
    )
    assert terms == {
        "valv": 6,
        "seven": 3,
        "leak": 4,
        "eight": 3,
        "hold": 3,
        "need": 3,
        "greas": 3,
        "find": 1,
        "earli": 1,
        "2026-08-24": 1,
        "2026-": 1,
        "--08": 1,
        "--08-24": 1,
        "hydraul": 1,
    }


# field case A10
def test_a_number_in_a_name_is_no_day() -> None:
    written = document_terms("Pump 9 runs", analyzer=ENGLISH, day=date(2026, 12, 1)).keys()
    for text in ["h52.1", "INC-2026-12", "v2026.12", "port 1", "1", "12", "build 2026/12/1"]:
        assert not written & set(query_terms(text, ENGLISH)), text


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("What ran on 8 May, 2026?", ["2026-05-08", "2026-", "--05", "--05-08"]),
        ("on the 1st of december", ["--12", "--12-01"]),
        ("01 December", ["--12", "--12-01"]),
        ("Dec 31 and Dec 4", ["--12", "--12-31", "--12", "--12-04"]),
        ("December 31st", ["--12", "--12-31"]),
        ("since Sep 2026", ["2026-", "--09"]),
        ("on 2026-12-01", ["2026-12-01", "2026-", "--12", "--12-01"]),
        ("in 2026-12", ["2026-", "--12"]),
        ("in 2026", ["2026-"]),
        ("in May", ["--05"]),
        ("may we march", []),
        ("3.5 Mar 40", ["--03"]),
        ("at 2026-12-01T10:15", ["2026-12-01", "2026-", "--12", "--12-01"]),
        ("2026-13-01", []),
    ],
)
def test_a_date_is_looked_up_however_it_is_written(text: str, terms: list[str]) -> None:
    assert date_terms(text) == terms
    assert set(terms) <= document_terms(text, analyzer=ENGLISH).keys()


def test_a_title_counts_beside_the_text() -> None:
    assert document_terms("Open it", analyzer=ENGLISH, title="Open vent")["open"] == 6


# field case A34
@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("When does Boreal West open?", ("boreal west",)),
        ("boreal", ("boreal",)),
        ("Boreal's plan", ("boreal",)),
        ("Boreal West and Boreal East", ("boreal west", "boreal east")),
        ("rdx", ("rdx",)),
        ('"RDX",', ("rdx",)),
        ("nothing known", ()),
    ],
)
def test_the_longest_name_is_the_one_meant(text: str, named: tuple[str, ...]) -> None:
    known = knows("boreal", "boreal west", "boreal east", "rdx")
    assert named_entities(text, known) == named


def test_names_are_looked_for_at_the_beginning_of_a_long_text_only() -> None:
    assert named_entities("... word " * 300 + "rdx", knows("rdx")) == ()
    assert named_entities("... word " * 200 + "rdx", knows("rdx")) == ("rdx",)


def test_a_first_person_means_the_user_unless_somebody_is_named() -> None:
    assert named_entities("what is my shift?", knows("kiln crew")) == (USER,)
    assert named_entities("what did the kiln crew tell me", knows("kiln crew")) == ("kiln crew",)


@pytest.mark.parametrize("text", ["User prefers brass", "The user's shift is late", "- User is in"])
def test_a_memory_about_the_user_says_so(text: str) -> None:
    assert USER in subjects(text, ())


@pytest.mark.parametrize("text", ["Users prefer brass", "Tell the user", "username is x"])
def test_a_memory_that_merely_holds_the_word_is_not_about_the_user(text: str) -> None:
    assert subjects(text, ["Kiln"]) == {"kiln"}


def test_a_question_can_ask_for_the_newest() -> None:
    assert asks_for_newest("What is the current pressure?")
    assert not asks_for_newest("What was the pressure in May?")


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("Who fixed it?", 1.0),
        ("It leaks. Why?", 4 / 13),
        ("Open src/main.py?x=1 first.", 0.0),
        ("Is v1.2 out?", 1.0),
        ("It holds.", 0.0),
        ("\u5f01\u306f\uff1f\u9589\u3002", 3 / 5),
        ("Open?\nYes", 5 / 8),
        ("?", 1.0),
        ("  \n ", 0.0),
    ],
)
def test_a_memory_asks_by_its_share_of_questions(text: str, share: float) -> None:
    assert asking(text) == pytest.approx(share)


def test_only_the_beginning_of_a_long_memory_is_read_for_questions() -> None:
    assert asking("It holds. " * 400 + "Does it?") == 0.0
