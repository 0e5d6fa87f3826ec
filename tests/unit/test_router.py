"""Rows of router tables: read, set, dropped, described."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from banks.store import router
from banks.store.router import Row
from banks.store.types import Category, Entry

HEAD = b"| File | Description | Tags | Updated |\n| --- | --- | --- | --- |\n"
PUMPS = Row("pumps.md", "Pump two leaks", ("pump", "leak"), "2026-08-24")
PUMPS_LINE = b"| pumps.md | Pump two leaks | pump, leak | 2026-08-24 |\n"
KILNS = Row("kilns.md", "Kiln is hot", (), "2026-08-20")
KILNS_LINE = b"| kilns.md | Kiln is hot |  | 2026-08-20 |\n"


def test_rows_of_a_table_within_other_text() -> None:
    data = (
        b"# Title\n\nWords | with pipes.\n\n"
        + HEAD
        + KILNS_LINE
        + PUMPS_LINE
        + b"\nBelow.\n| x |\n"
    )
    assert router.rows(data) == (KILNS, PUMPS)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"# Only a title\n",
        b"| File | Description | Tags | Updated |",
        b"| File | Description | Tags | Updated |\n",
        b"| File | Description | Tags | Updated |\n| --- | --- | --- |\n| a.md | b | c | d |\n",
        b"| File | Description | Tags | Updated |\n| --- | --- | --- | x |\n| a.md | b | c | d |\n",
        b"| File | Description | Tags | Updated |\n| --- | --- | --- | : |\n| a.md | b | c | d |\n",
        b"| File | Size |\n| --- | --- |\n| a.md | b |\n",
    ],
)
def test_there_are_no_rows_without_the_head_of_a_router(data: bytes) -> None:
    assert router.rows(data) == ()


def test_rows_reads_forms_that_other_hands_write() -> None:
    data = (
        b"\xef\xbb\xbf|file|DESCRIPTION |Tags|Updated|\r\n"
        b"|:--|:-:|--:|---|\r\n"
        b"  |a.md|one \\| two\\|| x ,, y|\r\n"
        b"| b.md\r\n"
        b"|  | no file | | |\r\n"
        b"| c.md | bad \xff byte | | 2026-01-01"
    )
    assert router.rows(data) == (
        Row("a.md", "one | two|", ("x", "y"), ""),
        Row("b.md", "", (), ""),
        Row("c.md", "bad \ufffd byte", (), "2026-01-01"),
    )


def test_a_table_in_a_code_block_is_an_example() -> None:
    example = b"```\n" + HEAD + PUMPS_LINE + b"~~~\n```\n"
    assert router.rows(example) == ()
    assert router.rows(example.rstrip(b"\n")) == ()
    assert router.rows(example + HEAD + KILNS_LINE) == (KILNS,)


def test_a_code_fence_that_is_never_closed_hides_nothing() -> None:
    data = router.set_row(b"```\nunclosed\n", PUMPS)
    assert router.rows(data) == (PUMPS,)
    assert router.set_row(data, PUMPS) == data
    assert router.rows(data + b"\n" + HEAD + KILNS_LINE) == (PUMPS,)


def test_set_row_replaces_one_line_and_nothing_else() -> None:
    before, after = b"# Title \r\n\n" + HEAD, KILNS_LINE + b"| z.md |\n\n* keep \xff\r\n"
    old = b"|pumps.md|old|a|2026-01-01|\n"
    assert router.set_row(before + old + after, PUMPS) == before + PUMPS_LINE + after


def test_set_row_leaves_a_row_that_says_the_same_in_other_spacing() -> None:
    data = HEAD + b"|  pumps.md |Pump two leaks|pump,leak   | 2026-08-24|\n"
    assert router.set_row(data, PUMPS) == data


def test_set_row_inserts_sorted_by_path() -> None:
    data = HEAD + PUMPS_LINE + b"\nBelow.\n"
    assert router.set_row(data, KILNS) == HEAD + KILNS_LINE + PUMPS_LINE + b"\nBelow.\n"
    data = HEAD + KILNS_LINE + b"\nBelow.\n"
    assert router.set_row(data, PUMPS) == HEAD + KILNS_LINE + PUMPS_LINE + b"\nBelow.\n"


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_set_row_keeps_the_kind_of_line_ends(newline: bytes) -> None:
    def ended(data: bytes) -> bytes:
        return data.replace(b"\n", newline)

    assert router.set_row(ended(HEAD + KILNS_LINE), PUMPS) == ended(HEAD + KILNS_LINE + PUMPS_LINE)
    whole = ended(HEAD + KILNS_LINE)
    assert router.set_row(whole.removesuffix(newline), PUMPS) == ended(
        HEAD + KILNS_LINE + PUMPS_LINE
    )
    bare = ended(HEAD).removesuffix(newline)
    assert router.set_row(bare, PUMPS) == ended(HEAD + PUMPS_LINE)
    assert router.set_row(ended(b"# T\n"), PUMPS) == ended(b"# T\n\n" + HEAD + PUMPS_LINE)


def test_set_row_in_a_last_line_without_an_end_adds_none() -> None:
    data = HEAD + b"| pumps.md | old |  |  |"
    assert router.set_row(data, PUMPS) == HEAD + PUMPS_LINE.removesuffix(b"\n")


@pytest.mark.parametrize(
    ("text", "gap"),
    [
        (b"", b""),
        (b"\n", b""),
        (b"\xef\xbb\xbf", b""),
        (b"# T", b"\n\n"),
        (b"# T\n", b"\n"),
        (b"# T\n\n", b""),
        (b"# T\r\n\r\n", b""),
        (b"| other | table |\n| --- | --- |\n", b"\n"),
    ],
)
def test_set_row_creates_a_missing_table_at_the_end(text: bytes, gap: bytes) -> None:
    made = router.set_row(text, PUMPS)
    assert made.startswith(text + gap + b"| File")
    assert router.rows(made) == (PUMPS,)


def test_set_row_keeps_columns_that_a_person_added() -> None:
    head = b"| File | Description | Tags | Updated | Owner |\n|---|---|---|---|---|\n"
    data = head + b"| pumps.md | old | | | ana \\| bo |\n"
    line = PUMPS_LINE.removesuffix(b"\n")
    assert router.set_row(data, PUMPS) == head + line + b" ana \\| bo |\n"


def test_set_row_takes_away_second_rows_of_the_same_file() -> None:
    data = HEAD + b"| pumps.md | one | | |\n" + KILNS_LINE + b"| pumps.md | two | | |"
    assert router.set_row(data, PUMPS) == HEAD + PUMPS_LINE + KILNS_LINE


def test_cells_are_escaped_and_kept_on_one_line() -> None:
    odd = Row("a|b.md", "x | y\\|z \\\nand\x1b\ttwo 👩‍🔧\u2028", ("p|q",), "2026-08-24")
    data = router.set_row(b"", odd)
    assert data.count(b"\n") == 3
    assert b"\x1b" not in data
    assert router.rows(data) == (
        Row("a|b.md", "x | y\\|z \\ and\ufffd two 👩‍🔧", ("p|q",), "2026-08-24"),
    )
    assert router.set_row(data, odd) == data


def test_set_row_needs_a_file() -> None:
    with pytest.raises(ValueError, match="file"):
        router.set_row(HEAD, Row(" \n", "", (), ""))


def test_drop_row_takes_its_line_and_nothing_else() -> None:
    data = b"# T\r\n" + HEAD + KILNS_LINE + PUMPS_LINE + b"\n| kilns.md | not in the table |\n"
    assert router.drop_row(data, "kilns.md") == data.replace(KILNS_LINE, b"")
    assert router.drop_row(data, "other.md") == data
    assert router.drop_row(b"no table\n", "kilns.md") == b"no table\n"
    assert router.drop_row(HEAD + KILNS_LINE.removesuffix(b"\n"), "kilns.md") == HEAD


NOON = datetime(2026, 8, 24, 12, tzinfo=UTC)


def entry(hours: int, *, tags: tuple[str, ...] = (), summary: str = "", text: str = "") -> Entry:
    return Entry(
        id=f"mem_2026-08-24_{hours:06x}",
        created=NOON + timedelta(hours=hours),
        category=Category.FACTS,
        tags=tags,
        summary=summary,
        text=text,
    )


def test_describe_takes_the_summary_of_the_latest_stated_entry() -> None:
    old, new = entry(1, summary="Old"), entry(2, summary="New")
    assert router.describe("facts.md", [new, old]).description == "New"
    assert router.describe("facts.md", [old, new]).description == "New"


def test_describe_takes_the_lower_of_two_stated_at_the_same_time() -> None:
    made = router.describe(
        "facts.md", [entry(1, summary="Upper", tags=("u",)), entry(1, summary="Lower", tags=("l",))]
    )
    assert (made.description, made.tags) == ("Lower", ("l", "u"))


def test_describe_joins_tags_latest_first_up_to_forty() -> None:
    entries = [entry(n, tags=("pump", f"t{n}")) for n in range(50)]
    made = router.describe("facts.md", entries)
    assert made.tags[:3] == ("pump", "t49", "t48")
    assert len(made.tags) == 40


def test_describe_gives_the_utc_day_of_the_latest_change() -> None:
    east = timezone(timedelta(hours=9))
    changed = Entry(
        id="a",
        created=NOON,
        category=Category.FACTS,
        updated=datetime(2026, 9, 2, 3, tzinfo=east),
        summary="Old but edited",
    )
    made = router.describe("facts.md", [changed, entry(1, summary="Newer")])
    assert made == Row("facts.md", "Newer", (), "2026-09-01")


def test_describe_without_a_summary_takes_the_first_sentence() -> None:
    made = router.describe("facts.md", [entry(1, text="Valve four sticks. Oil it.")])
    assert made.description == "Valve four sticks."


def test_describe_keeps_a_hand_written_summary_readable() -> None:
    made = router.describe("facts.md", [entry(1, summary="long\x00 " * 100)])
    assert made.description.endswith("…")
    assert "\x00" not in made.description
    exact, longer = "k" * 200, "k" * 201
    assert router.describe("facts.md", [entry(1, summary=exact)]).description == exact
    assert router.describe("facts.md", [entry(1, summary=longer)]).description == "k" * 199 + "…"


def test_describe_a_file_without_entries() -> None:
    assert router.describe("facts.md", []) == Row("facts.md", "No entries yet", (), "")
