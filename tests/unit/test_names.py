"""Names, ids, texts and labels: what is let in, and what is derived from them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from banks.store import names
from banks.store.errors import InvalidContent, InvalidName
from banks.store.types import Category

# field case A22
OUTSIDE = ["../escape", "a/../../x", "/etc/x", "..", ".", ".trash", "-rf", "a\\b", "a/b", ""]


@pytest.mark.parametrize("name", ["main", "a", "0", "pump-house_2", "x" * 64])
def test_bank_and_rule_names_of_the_alphabet_come_back_unchanged(name: str) -> None:
    assert names.bank_name(name) == name
    assert names.rule_name(name) == name


# field case A21: a name in capitals is refused on every disk, so no two names differ only in case
# field case A47
@pytest.mark.parametrize(
    "name",
    [
        *OUTSIDE,
        "Harbor",
        "HARBOR ",
        "harbor ",
        " harbor",
        "harbor\n",
        "aux.md",
        "notes.",
        "_x",
        "ü",
        "x" * 65,
        "x" * 300,
        "規" * 200,
        "a\x00",
        "٣",
    ],
)
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(InvalidName) as bank:
        names.bank_name(name)
    with pytest.raises(InvalidName) as rule:
        names.rule_name(name)
    assert bank.value.field == "bank"
    assert rule.value.field == "name"
    assert "64" in bank.value.message
    if name.strip("."):
        assert name not in bank.value.message


# field case A20: names that some stores fold into one are different here, or refused
def test_rule_names_are_never_folded_into_one() -> None:
    assert names.rule_name("ops_db") != names.rule_name("ops-db")
    with pytest.raises(InvalidName):
        names.rule_name("ops.db")


@pytest.mark.parametrize("value", ["mem_2026-08-24_9f3a1c", "fp0cdea4ad27055e64", "A.b-c", "7"])
def test_entry_ids_of_one_harmless_component_are_taken(value: str) -> None:
    assert names.is_entry_id(value)


@pytest.mark.parametrize(
    "value", [*OUTSIDE, "a..b", "_a", ".a", "a b", "a\n", "é", "x" * 129, "a:b"]
)
def test_other_entry_ids_are_not_taken(value: str) -> None:
    assert not names.is_entry_id(value)


def test_the_longest_entry_id_is_taken() -> None:
    assert names.is_entry_id("x" * 128)


def test_mint_uses_the_utc_day() -> None:
    late = datetime(2026, 8, 24, 23, 30, tzinfo=timezone(timedelta(hours=-2)))
    assert names.mint(late, "00ff1a") == "mem_2026-08-25_00ff1a"
    assert names.is_entry_id(names.mint(late, "00ff1a"))


@pytest.mark.parametrize("suffix", ["", "00ff1", "00ff1aa", "00FF1A", "../../"])
def test_mint_refuses_another_suffix(suffix: str) -> None:
    with pytest.raises(ValueError, match="suffix"):
        names.mint(datetime(2026, 8, 24, tzinfo=UTC), suffix)


def test_mint_refuses_a_naive_time() -> None:
    with pytest.raises(ValueError, match="aware"):
        names.mint(datetime(2026, 8, 24), "00ff1a")  # noqa: DTZ001


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The API port is 3000", "fp0cdea4ad27055e64"),
        ("Kündigungsfrist ist drei Monate zum Quartalsende", "fp5b6a1281298b264f"),
        ("", "fpcbf29ce484222325"),
        ("a", "fpaf63dc4c8601ec8c"),
    ],
)
def test_fingerprint_is_the_published_hash(text: str, expected: str) -> None:
    assert names.fingerprint(text) == expected


def test_fingerprint_ignores_case_spacing_and_composition() -> None:
    assert names.fingerprint("The  api\n\tPORT is 3000 ") == "fp0cdea4ad27055e64"
    assert names.fingerprint("Kiln caf\u00e9") == names.fingerprint("kiln cafe\u0301")
    assert names.fingerprint("STRASSE") == names.fingerprint("straße")
    assert names.fingerprint("valve 1") != names.fingerprint("valve 2")


def test_normalise_gives_single_spaces_and_folded_case() -> None:
    assert names.normalise(" Pump\u00a0 A\n\nruns ") == "pump a runs"


def test_clean_text_turns_every_line_end_into_a_line_feed() -> None:
    given = "\n one\r\ntwo\rthree\x85four\u2028five\u2029six\tend \n\n"
    assert names.clean_text(given) == "one\ntwo\nthree\nfour\nfive\nsix\tend"


def test_clean_text_keeps_emoji_and_joiners() -> None:
    assert names.clean_text("👩‍🔧 checks the kiln\u00ad") == "👩‍🔧 checks the kiln\u00ad"


# field case A14
@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("ok\x1b[31mred", 1),
        ("one\ntwo\x00", 2),
        ("\n\none\n\x7f", 4),
        ("\x1cat the edge", 1),
        ("one\r\n\ttwo\x9f", 2),
        ("half \ud800 here", 1),
    ],
)
def test_clean_text_names_the_line_of_a_control_character(text: str, line: int) -> None:
    with pytest.raises(InvalidContent) as caught:
        names.clean_text(text)
    assert caught.value.field == "text"
    assert caught.value.data["line"] == line
    assert f"Line {line} " in caught.value.message
    assert "U+" in caught.value.message


# field case A15
@pytest.mark.parametrize(
    ("text", "line"),
    [("---", 1), ("a\n---\nb", 2), ("\n\na\r\n---", 4), ("  ---\na", 1), ("a\n---  ", 2)],
)
def test_clean_text_names_the_line_of_a_fence(text: str, line: int) -> None:
    with pytest.raises(InvalidContent) as caught:
        names.clean_text(text)
    assert caught.value.data["line"] == line


def test_clean_text_keeps_lines_that_only_resemble_a_fence() -> None:
    text = "a\n----\n ---\n--- b\n-- -"
    assert names.clean_text(text) == text


def test_clean_line_trims_and_keeps_inner_spaces() -> None:
    assert names.clean_line("\u00a0 two  words \n", "summary", 200) == "two  words"
    assert names.clean_line("  ", "title", 5) == ""


# field case A14
@pytest.mark.parametrize("value", ["a\x00b", "a\tb", "a\nb", "a\u2028b", "a\x85b", "a\udc00"])
def test_clean_line_refuses_what_is_not_one_line(value: str) -> None:
    with pytest.raises(InvalidContent) as caught:
        names.clean_line(value, "summary", 200)
    assert caught.value.field == "summary"


def test_clean_line_counts_characters_not_bytes() -> None:
    assert names.clean_line("窯" * 5, "title", 5) == "窯" * 5
    with pytest.raises(InvalidContent, match="6 characters; 5"):
        names.clean_line("窯" * 6, "title", 5)


def test_a_bad_label_is_told_as_one_of_several() -> None:
    with pytest.raises(InvalidContent, match=r"^One of the tags has 65 characters; 64 "):
        names.clean_labels(["valve", "x" * 65], "tags")
    with pytest.raises(InvalidContent, match=r"^One of the entities holds the control character"):
        names.clean_labels(["a\tb"], "entities")


def test_clean_labels_folds_trims_and_drops_repeats_in_order() -> None:
    given = [" Pump", "kiln", "", "PUMP ", "Cafe\u0301", "caf\u00e9", "  "]
    assert names.clean_labels(given, "tags") == ("pump", "kiln", "café")


def test_clean_labels_takes_sixteen_of_sixty_four() -> None:
    given = [f"{number:02}".ljust(64, "x") for number in range(16)]
    assert names.clean_labels([*given, given[0]], "tags") == tuple(given)


# field case A14
@pytest.mark.parametrize(
    "given", [["x\x1by"], ["x" * 65], [str(number) for number in range(17)], ["a\nb"]]
)
def test_clean_labels_refuses_bad_and_too_many(given: list[str]) -> None:
    with pytest.raises(InvalidContent) as caught:
        names.clean_labels(given, "entities")
    assert caught.value.field == "entities"


@pytest.mark.parametrize(
    ("category", "longest"),
    [
        (Category.FACTS, 2_000),
        (Category.RULES, 2_000),
        (Category.PREFERENCES, 2_000),
        (Category.EVENTS, 20_000),
        (Category.FEEDBACKS, 20_000),
        (Category.ERRORS, 20_000),
        (Category.PROCEDURE, 20_000),
    ],
)
def test_check_length_knows_the_limits_of_each_category(category: Category, longest: int) -> None:
    names.check_length("abc", category)
    names.check_length("é" * longest, category)
    for text in ("ab", "x" * (longest + 1)):
        with pytest.raises(InvalidContent) as caught:
            names.check_length(text, category)
        assert caught.value.data["limit"] == longest


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        (" \n ", ""),
        ("One line without a stop", "One line without a stop"),
        ("The pump runs. It hums.", "The pump runs."),
        ("Is it hot? Yes.", "Is it hot?"),
        ('It said "stop!" Then it stopped.', 'It said "stop!"'),
        ("Set it to 3.5 bar, e.g. at night. Then wait.", "Set it to 3.5 bar, e.g. at night."),
        ("See no. 5 and Dr. Kiln first. Then go.", "See no. 5 and Dr. Kiln first."),
        ("Ask J. Valve. Then go.", "Ask J. Valve."),
        ("It stops... and starts. End.", "It stops... and starts."),
        ("1. Open the valve. 2. Wait.", "1. Open the valve."),
        ("Closed at 5. Open at 6.", "Closed at 5."),
        ("The line\nis wrapped here. Next.", "The line is wrapped here."),
        ("Heading-less\n\nSecond paragraph.", "Heading-less"),
        ("## Steps\n\n1. Open it", "Steps"),
        ("#\n\nAfter an empty heading.", "After an empty heading."),
        ("Intro\n# Heading", "Intro"),
        ("Intro\n- item", "Intro"),
        ("- item one\n- item two", "- item one"),
        ("###", "###"),
        ("#hash is a word", "#hash is a word"),
        ("窯は熱い。水は冷たい。", "窯は熱い。"),
    ],
)
def test_first_sentence_is_the_first_on_one_line(text: str, expected: str) -> None:
    assert names.first_sentence(text) == expected


def test_first_sentence_is_cut_between_words_with_an_ellipsis() -> None:
    short = names.first_sentence("valves " * 40)
    assert short == "valves " * 16 + "valves…"
    assert len(short) <= 120


def test_first_sentence_of_one_endless_word_keeps_accents_whole() -> None:
    assert names.first_sentence("窯" * 300) == "窯" * 119 + "…"
    cut = names.first_sentence("x" * 118 + "e\u0301\u0302" + "y" * 50)
    assert cut == "x" * 118 + "…"
    assert names.first_sentence("x" * 120) == "x" * 120
    assert names.first_sentence("x" * 119 + " y") == "x" * 119 + "…"
    assert names.first_sentence("x" * 120 + " y") == "x" * 119 + "…"


def never(_: str) -> bool:
    return False


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("Restart the Pump", "restart-the-pump"),
        ("  Öffne die Straße: Café №5!  ", "offne-die-strasse-cafe-no5"),
        ("Æther & Łódź", "aether-lodz"),
        ("Don't panic", "dont-panic"),
        ("../../etc/passwd", "etc-passwd"),
        ("notes.", "notes"),
        ("v1.2_beta", "v1-2-beta"),
    ],
)
def test_slug_is_ascii_words_joined_by_hyphens(title: str, expected: str) -> None:
    assert names.slug(title, never) == expected


# field case A47
def test_slug_of_a_long_title_ends_between_words() -> None:
    made = names.slug("kiln " * 1_000, never)
    assert made == "-".join(["kiln"] * 16)
    assert names.slug("k" * 5_000, never) == "k" * 80
    assert names.slug("k" * 80 + " x", never) == "k" * 80
    assert names.slug("k" * 81 + " x", never) == "k" * 80


def test_slug_without_ascii_is_a_short_hash_of_the_title() -> None:
    kiln, water = names.slug("窯" * 200, never), names.slug("水", never)
    assert kiln != water
    assert len(kiln) == 8
    assert names.slug("\ud800", never)


# field case A47
@pytest.mark.parametrize("title", ["Index", "con", "AUX", "lpt1"])
def test_slug_never_is_a_reserved_name(title: str) -> None:
    made = names.slug(title, never)
    assert made.startswith(f"{title.lower()}-")
    assert made != title.lower()


# field case A20
def test_slug_steps_aside_for_a_taken_one_until_it_is_free() -> None:
    taken: set[str] = set()
    for _ in range(4):
        made = names.slug("Start the kiln " * 20, taken.__contains__)
        assert made not in taken
        assert len(made) <= 80
        taken.add(made)
    one = names.slug("Start the kiln!", {"start-the-kiln"}.__contains__)
    other = names.slug("Start the kiln?", {"start-the-kiln"}.__contains__)
    assert one != other
