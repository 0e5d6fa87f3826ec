"""Laws of names and texts."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from banks.store import names
from banks.store.errors import InvalidContent, InvalidName

any_text = st.text(st.characters(exclude_categories=[]))
clean_chars = st.text(st.characters(exclude_categories=["Cc", "Cs"]))


@given(any_text)
def test_a_name_is_either_refused_or_one_safe_component(value: str) -> None:
    try:
        names.bank_name(value)
    except InvalidName:
        return
    assert value.isascii()
    assert not set(value) & set("/\\. \n\x00")
    assert names.is_entry_id(value)


@given(any_text)
def test_cleaning_a_text_twice_changes_nothing(value: str) -> None:
    try:
        once = names.clean_text(value)
    except InvalidContent:
        return
    assert names.clean_text(once) == once
    assert once.encode("utf-8").decode("utf-8") == once
    assert not set(once) & set("\r\x00\x1b\x85\u2028\u2029")
    assert "---" not in once.split("\n")


@given(st.lists(clean_chars, max_size=16))
def test_cleaning_labels_twice_changes_nothing(values: list[str]) -> None:
    try:
        once = names.clean_labels(values, "tags")
    except InvalidContent:
        return
    assert names.clean_labels(once, "tags") == once
    assert len(set(once)) == len(once)
    assert all(unicodedata.is_normalized("NFC", label) for label in once)


@given(any_text)
def test_a_first_sentence_is_a_clean_line_that_stands_for_itself(value: str) -> None:
    try:
        text = names.clean_text(value)
    except InvalidContent:
        return
    sentence = names.first_sentence(text)
    assert names.clean_line(sentence, "summary", names.SENTENCE_LENGTH) == sentence
    assert bool(sentence) == bool(text)


@given(st.lists(any_text, max_size=12))
def test_slugs_never_meet_and_are_safe_components(titles: list[str]) -> None:
    taken: set[str] = set()
    for title in titles:
        made = names.slug(title, taken.__contains__)
        assert made not in taken
        assert names.is_entry_id(made)
        assert len(made) <= names.SLUG_LENGTH
        taken.add(made)


@given(any_text, st.sampled_from([" ", "\n", "\t", "\u00a0", "  "]))
def test_a_fingerprint_does_not_see_space_around_a_text(value: str, space: str) -> None:
    assert names.fingerprint(space + value + space) == names.fingerprint(value)
