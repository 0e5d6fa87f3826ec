"""Laws of router tables: what is set is read, and the rest stays byte for byte."""

from hypothesis import assume, given
from hypothesis import strategies as st

from banks.store import router
from banks.store.router import Row

pieces = st.sampled_from(
    [
        b"# Title",
        b"words",
        b"",
        b"\xff",
        b"```",
        b"~~~",
        b"| File | Description | Tags | Updated |",
        b"| --- | --- | --- | --- |",
        b"| File | Description | Tags | Updated |\n| --- | --- | --- | --- |",
        b"| File | Description | Tags | Updated | More |\r\n|---|---|---|---|---|",
        b"|---|---|---|---|",
        b"| a.md | one | x | 2026-01-01 |",
        b"| b.md | two |",
        b"|b.md|twice|",
        b"| c \\| d |  |  |  |",
        b"|",
        b"| \\",
    ]
)
files = st.lists(st.tuples(pieces, st.sampled_from([b"\n", b"\r\n"])), max_size=14).map(
    lambda lines: b"".join(text + end for text, end in lines)
)
documents = st.one_of(files, st.tuples(files, pieces).map(b"".join), st.binary(max_size=60))
words = st.text(st.characters(exclude_categories=["Cc", "Cs", "Z"]), min_size=1, max_size=6)
labels = words.filter(lambda word: "," not in word)
rows = st.builds(
    Row,
    file=st.sampled_from(["a.md", "b.md", "bb.md", "z.md", "a|b.md"]),
    description=st.lists(words, max_size=4).map(" ".join),
    tags=st.lists(labels, max_size=3).map(tuple),
    updated=st.sampled_from(["", "2026-08-24"]),
)


@given(documents, rows)
def test_a_row_that_was_set_is_read_back_once(data: bytes, row: Row) -> None:
    made = router.set_row(data, row)
    assert [found for found in router.rows(made) if found.file == row.file] == [row]
    assert router.set_row(made, row) == made


@given(documents, rows)
def test_setting_a_row_changes_no_other_line(data: bytes, row: Row) -> None:
    made = router.set_row(data, row)
    others = [found for found in router.rows(data) if found.file != row.file]
    assert [found for found in router.rows(made) if found.file != row.file] == others
    kept = router.drop_row(data, row.file).rstrip(b"\r\n")
    assert made.startswith(data) or router.drop_row(made, row.file).rstrip(b"\r\n") == kept


@given(documents, documents, rows)
def test_dropping_a_new_row_gives_the_table_back(above: bytes, below: bytes, row: Row) -> None:
    above = above.replace(b"```", b"").replace(b"~~~", b"")  # nothing hides the table
    data = above + b"\n| File | Description | Tags | Updated |\n|---|---|---|---|\n" + below
    assume(row.file not in {found.file for found in router.rows(data)})
    made = router.drop_row(router.set_row(data, row), row.file)
    assert made in (data, data + b"\n", data + b"\r\n")


@given(documents, st.sampled_from(["a.md", "b.md", "none.md"]))
def test_a_dropped_row_is_gone_and_the_others_are_not(data: bytes, file: str) -> None:
    made = router.drop_row(data, file)
    assert router.rows(made) == tuple(row for row in router.rows(data) if row.file != file)
