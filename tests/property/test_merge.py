"""The merge of two edits of one text: nothing that somebody typed is lost."""

from hypothesis import given
from hypothesis import strategies as st

from memoryconsole.console.merge import conflict, merge, merge_labels

words = st.sampled_from(["pump", "kiln", "leaks", "at", "the", "seal", ".", "[", "é", "\U0001f525"])
space = st.sampled_from([" ", "\n", "\n\n", "  "])
texts = st.lists(st.tuples(words, space), max_size=12).map(
    lambda pairs: "".join(word + gap for word, gap in pairs)
)


@given(texts, texts)
def test_where_one_side_changed_nothing_the_other_stands(was: str, changed: str) -> None:
    for merged in (merge(was, was, changed), merge(was, changed, was)):
        assert (merged.text, merged.is_clean) == (changed, True)


@given(texts, texts)
def test_where_both_did_the_same_it_is_done_once(was: str, changed: str) -> None:
    merged = merge(was, changed, changed)
    assert (merged.text, merged.is_clean) == (changed, True)


@given(texts, texts, texts)
def test_every_word_that_one_side_added_is_in_the_merge(was: str, mine: str, theirs: str) -> None:
    merged = merge(f"{was} end", f"{was} vent end", f"{was} flue end")
    assert not merged.is_clean
    assert "[yours: vent] [theirs: flue]" in merged.text
    both = merge(was, f"mine9 {mine}", f"{theirs} theirs9")
    assert "mine9" in both.text
    assert "theirs9" in both.text
    assert both.is_clean == ("[yours: " not in both.text)


@given(texts, texts, texts)
def test_edits_of_different_lines_are_both_there(first: str, middle: str, last: str) -> None:
    was = f"a1\n{middle}\nz1"
    mine, theirs = f"a2 {first}\n{middle}\nz1", f"a1\n{middle}\nz2 {last}"
    merged = merge(was, mine, theirs)
    assert "a2" in merged.text
    assert "z2" in merged.text


def test_edits_of_different_lines_merge_cleanly() -> None:
    was = "Kiln 1 is full.\nKiln 2 is cold.\nKiln 3 is worn."
    merged = merge(was, was.replace("full", "empty"), was.replace("worn", "new"))
    assert merged.text == "Kiln 1 is empty.\nKiln 2 is cold.\nKiln 3 is new."
    assert merged.is_clean


def test_words_that_both_changed_stand_side_by_side() -> None:
    was = "Pump 1 leaks at the seal."
    merged = merge(was, "Pump 1 leaks at the inlet.", "Pump 1 leaks at the flange.")
    assert merged.text == "Pump 1 leaks at the [yours: inlet] [theirs: flange]."
    assert merged.clashes == 1


def test_what_one_took_away_and_the_other_changed_is_a_clash() -> None:
    merged = merge("Oil the fan twice.", "Oil the fan.", "Oil the fan daily.")
    assert merged.text == "Oil the fan [yours: (nothing)] [theirs: daily]."


def test_by_lines_no_line_has_words_of_both() -> None:
    was = "Oil the fan.\nPush the red knob."
    mine, theirs = was.replace("red", "blue"), was.replace("knob", "lever")
    merged = merge(was, mine, theirs, by_lines=True)
    assert merged.text == (
        "Oil the fan.\n[yours: Push the blue knob.] [theirs: Push the red lever.]"
    )


def test_long_texts_are_merged_by_lines() -> None:
    lines = [f"step {number} of the firing\n" for number in range(1_000)]
    mine, theirs = list(lines), list(lines)
    mine[3], theirs[900] = "open the damper\n", "close the damper\n"
    merged = merge("".join(lines), "".join(mine), "".join(theirs))
    assert merged.is_clean
    assert merged.text.count("the damper") == 2


@given(texts, texts)
def test_without_the_state_before_both_texts_are_still_there(now: str, mine: str) -> None:
    met = conflict(None, f"{now} flue", f"{mine} vent")
    assert "flue" in met.merged.text
    assert "vent" in met.merged.text


def test_labels_of_both_are_kept_and_what_one_took_away_is_gone() -> None:
    merged = merge_labels(["a", "b", "c"], ["a", "c", "mine"], ["b", "c", "theirs"])
    assert merged == ["c", "theirs", "mine"]
