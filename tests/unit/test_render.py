"""Entry → bytes of a new block."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
import yaml

from banks.store import parse, render
from banks.store.errors import InvalidContent
from banks.store.types import Category, Entry, Origin, Trust

CREATED = datetime(2026, 4, 5, 6, 7, 8, tzinfo=UTC)
ENTRY = Entry(
    id="mem_2026-04-05_ab12cd",
    created=CREATED,
    category=Category.FACTS,
    summary="Kiln two is hot",
    text="Kiln two is hot.",
)


def test_ordinary_entry_has_the_ten_keys_of_the_layout_and_no_more() -> None:
    entry = replace(
        ENTRY,
        origin=Origin.USER_MESSAGE,
        trust=Trust.HIGH,
        tags=("kiln", "north side"),
        supersedes="mem_2026-04-01_000000",
        superseded_by="mem_2026-04-09_111111",
    )
    assert render.entry(entry).decode() == (
        "---\n"
        "id: mem_2026-04-05_ab12cd\n"
        "created: 2026-04-05T06:07:08+00:00\n"
        "type: semantic\n"
        "category: facts\n"
        "source: user_message\n"
        "confidence: high\n"
        "tags: [kiln, north side]\n"
        "supersedes: mem_2026-04-01_000000\n"
        "superseded_by: mem_2026-04-09_111111\n"
        "summary: Kiln two is hot\n"
        "---\n"
        "\n"
        "Kiln two is hot."
    )


def test_further_keys_follow_the_summary_in_their_order() -> None:
    later = CREATED + timedelta(days=1, milliseconds=40)
    entry = replace(
        ENTRY,
        category=Category.PROCEDURE,
        title="Light the kiln",
        entities=("kiln-2",),
        pinned=True,
        corroboration=2,
        revision=3,
        updated=later,
        stated=later,
        invalidated=later,
        session="s",
        entry="e",
        agent="a",
        former_id="f",
    )
    lines = render.entry(entry).decode().partition("tags: []\n")[2].partition("---")[0]
    assert lines.split("\n") == [
        "summary: Kiln two is hot",
        "title: Light the kiln",
        "entities: [kiln-2]",
        "pinned: true",
        "corroboration: 2",
        "revision: 3",
        "updated: 2026-04-06T06:07:08.040+00:00",
        "stated: 2026-04-06T06:07:08.040+00:00",
        "invalidated: 2026-04-06T06:07:08.040+00:00",
        "session: s",
        "entry: e",
        "agent: a",
        "former_id: f",
        "",
    ]
    assert parse.block(render.entry(entry)).entry == entry


def test_values_equal_to_their_defaults_are_left_out() -> None:
    entry = replace(ENTRY, title=ENTRY.summary, updated=CREATED, stated=CREATED, session="")
    assert render.entry(entry) == render.entry(ENTRY)


def test_entry_without_text_or_summary_ends_with_its_fence() -> None:
    data = render.entry(replace(ENTRY, summary="", text=""))
    assert data.endswith(b'summary: ""\n---')


def test_windows_line_ends_are_used_throughout() -> None:
    data = render.entry(replace(ENTRY, text="One\n\ntwo"), b"\r\n")
    assert data.count(b"\n") == data.count(b"\r\n") == 13
    assert parse.block(data).entry == replace(ENTRY, text="One\n\ntwo")


# field case A11
@pytest.mark.parametrize(
    "value",
    [
        "no", "On", "YES", "y", "true", "null", "~", "2026-08-24", "2026-08-24T10:15:00Z", "0x1F",
        "010", "1_000", "1e3", ".5", "+7", "-2", ".inf", "-.INF", "NaN", "12:30:45", "0o17", "a: b",
        "x #y", "#x", "[a]", "{a}", "- a", "? a", "*a", "&a", "!a", "|", ">", "%a", "@a", "`a`",
        "'a'", '"a"', "a:", "<<", "=", "", "#it's \"so\"", '#a"b', "#back\\slash",
        "\ufeffa", "a\uffff",
        "--- a",
    ],
)  # fmt: skip
def test_value_that_another_reader_would_mistake_is_quoted(value: str) -> None:
    written = render.scalar(value)
    assert written[0] in "\"'"
    assert yaml.safe_load(f"key: {written}") == {"key": value}
    assert yaml.safe_load(f"key: {render.labels([value, 'b'])}") == {"key": [value, "b"]}


@pytest.mark.parametrize(
    "value",
    [
        "Kiln two",
        "40 seats",
        "a#b",
        "a:b",
        "it's",
        "r\u00e9gl\u00e9",
        "C++",
        "a, b",
        "100 %",
        "b\\s",
        'so "it"',
    ],
)
def test_value_that_every_reader_takes_as_it_stands_is_plain(value: str) -> None:
    assert render.scalar(value) == value
    assert yaml.safe_load(f"key: {value}") == {"key": value}


@pytest.mark.parametrize("word", ["a,b", "a:b", "c#", "it's", 'a"b', "[x", "a}b", "\u0301a"])
def test_label_with_a_mark_of_lists_is_quoted(word: str) -> None:
    assert yaml.safe_load(f"key: {render.labels([word, 'b'])}") == {"key": [word, "b"]}


@pytest.mark.parametrize("value", ["a\nb", "a\x00", "a\tb", "a\x85b", "a\u2028b", "\ud800"])
def test_value_that_fits_no_line_is_refused(value: str) -> None:
    with pytest.raises(InvalidContent):
        render.scalar(value)


def test_time_is_in_utc_with_milliseconds_only_when_there_are_some() -> None:
    berlin = timezone(timedelta(hours=2))
    assert render.time(datetime(2026, 1, 2, 3, tzinfo=berlin)) == "2026-01-02T01:00:00+00:00"
    assert render.time(datetime(2026, 1, 2, 3, 0, 0, 5000, tzinfo=UTC)).endswith("00.005+00:00")


# field case A15
@pytest.mark.parametrize("text", ["a\n---\nb", "---", "---\na: b", "a\n---"])
def test_text_with_a_fence_is_refused(text: str) -> None:
    with pytest.raises(InvalidContent) as caught:
        render.entry(replace(ENTRY, text=text))
    assert caught.value.field == "text"


# field case A15
@pytest.mark.parametrize("text", ["--- a", "x\n  ---\ny", "-----", "x\n--- \ny"])
def test_text_with_almost_a_fence_survives(text: str) -> None:
    entry = replace(ENTRY, text=text)
    assert parse.block(render.entry(entry)).entry == entry


# field case A14
@pytest.mark.parametrize(
    "entry",
    [
        replace(ENTRY, text="red \x1b[31m"),
        replace(ENTRY, text="a\r\nb"),
        replace(ENTRY, text="\ud800"),
        replace(ENTRY, text=" \n\nabc"),
        replace(ENTRY, text="abc\n"),
        replace(ENTRY, summary=" a"),
        replace(ENTRY, summary="a\x00"),
        replace(ENTRY, tags=("Kiln",)),
        replace(ENTRY, tags=("a", "a")),
        replace(ENTRY, supersedes="null"),
        replace(ENTRY, id="a/b"),
        replace(ENTRY, revision=-1),
        replace(ENTRY, created=CREATED.replace(microsecond=1)),
        replace(ENTRY, summary="x" * 16_000),
    ],
)
def test_entry_that_would_not_read_back_the_same_is_refused(entry: Entry) -> None:
    with pytest.raises(InvalidContent):
        render.entry(entry)


def test_entry_beyond_the_limits_of_a_call_is_written() -> None:
    entry = replace(ENTRY, text="x" * 3000, summary="y" * 300)
    assert parse.block(render.entry(entry)).entry == entry
