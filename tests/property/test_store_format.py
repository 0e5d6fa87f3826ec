"""What holds for every entry, every edit and any bytes whatsoever."""

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import yaml
from hypothesis import assume, example, given
from hypothesis import strategies as st

from banks.store import edit, frontmatter, names, parse, render
from banks.store.types import Category, Entry, Origin, Severity, Trust

LINE_BREAKS = "\x85\u2028\u2029"
CHARACTERS = st.characters(exclude_categories=("Cs", "Cc"), exclude_characters=LINE_BREAKS)
AWKWARD = st.sampled_from(
    ["no", "y", "~", "null", "a: b", "x #y", "- a", "it's", '"', "'", "\\", "[", "]", "{", ",",
     "2026-08-24", "0x1", "1_0", ":", "#", "---", "\ufeff", "\u200d", "<<", "=", " "]
)  # fmt: skip
LINE = st.lists(st.one_of(AWKWARD, st.text(CHARACTERS, max_size=6)), max_size=5).map(
    lambda parts: "".join(parts).strip()
)
IDS = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,20}", fullmatch=True).filter(
    lambda value: value.lower() != "null"
)
TIMES = st.integers(0, 4_000_000_000_000).map(
    lambda ms: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
)
LABELS = st.lists(LINE.filter(lambda line: len(line) <= 64), max_size=4).map(
    lambda words: names.clean_labels(words, "tags")
)
TEXTS = (
    st.text(st.one_of(CHARACTERS, st.sampled_from("\n\t-a:")), min_size=3, max_size=200)
    .filter(lambda text: "---" not in text.strip().split("\n"))
    .map(names.clean_text)
)


def maybe(values: st.SearchStrategy[str]) -> st.SearchStrategy[str | None]:
    return st.none() | values.filter(
        lambda value: value not in {"", "~"} and value.lower() != "null"
    )


ENTRIES = st.builds(
    Entry,
    id=IDS,
    created=TIMES,
    category=st.sampled_from(Category),
    origin=st.sampled_from(Origin),
    trust=st.sampled_from(Trust),
    tags=LABELS,
    supersedes=maybe(IDS),
    superseded_by=maybe(IDS),
    summary=LINE,
    title=maybe(LINE),
    entities=LABELS,
    pinned=st.booleans(),
    corroboration=st.integers(0, 999_999_999),
    revision=st.integers(0, 999_999_999),
    updated=st.none() | TIMES,
    stated=st.none() | TIMES,
    invalidated=st.none() | TIMES,
    session=maybe(LINE),
    entry=maybe(LINE),
    agent=maybe(LINE),
    former_id=maybe(IDS),
    text=TEXTS,
).map(render.canonical)
NEWLINES = st.sampled_from([b"\n", b"\r\n"])

# Pieces that meet in files, so that fences and keys come together often.
PIECES = st.sampled_from(
    [b"---", b"---\n", b"\n---\n", b"\r\n", b"\n", b"\n\n", b"\r", b" ", b"\t", b"id: m1\n",
     b"id: m2\n", b"created: 2026-01-01\n", b"category: facts\n", b"tags: [a, b]\n", b"tags: [\n",
     b"key:\n", b"- a\n", b"# c\n", b"text\n", b"\xff", b"\xef\xbb\xbf", b"\x00", b"&a ", b"*a ",
     b'"', b"x: y: z\n", b"https://a\n", "\u00e9: \u2028\n".encode()]
)  # fmt: skip
FILES = st.one_of(st.lists(PIECES, max_size=40).map(b"".join), st.binary(max_size=300))

FRONT = st.lists(
    st.sampled_from(
        ["owner: kiln", "# note", "tags: [a, b]  # c", "tags:\n- a\n# in\n- b", "pinned: false",
         "pinned: yes # why", "revision: 3", "summary: >\n  one\n  two", "score: 0.10",
         'title: "a\n # b"', "? agent\n: bot", "session: 'it''s'",
         "review: {every: 90d,\n by: [qa]}",
         "title:", "updated: 2026-01-01", "stated: 2026-02-03 04:05 +0100", '"entry": e1']
    ),
    max_size=6,
)  # fmt: skip
BLOCKS = st.builds(
    lambda lines, body, newline: (
        (
            "\n".join(["---", "id: m1", "created: 2026-01-01", *lines, "category: facts", "---"])
            + body
        )
        .encode()
        .replace(b"\n", newline)
    ),
    FRONT,
    st.sampled_from(["", "\ntext", "\n\ntext", "\n \n\n  text\n\n---\nmore  ", "\n\nNote: x"]),
    NEWLINES,
)


@given(ENTRIES, NEWLINES)
def test_entry_reads_back_as_it_was_written(entry: Entry, newline: bytes) -> None:
    data = render.entry(entry, newline)
    block = parse.block(data)
    assert block.entry == entry
    assert all(each.severity is Severity.WARNING for each in block.problems)
    assert parse.spans(data)[0].end == len(data)


@given(ENTRIES)
def test_stock_yaml_reader_sees_the_same_strings(entry: Entry) -> None:
    data = render.entry(entry)
    start, close, _ = parse.cut(data) or (0, 0, 0)
    loaded = yaml.safe_load(data[start:close].decode())
    assert loaded["summary"] == entry.summary
    assert loaded["tags"] == list(entry.tags)
    assert loaded.get("title") == entry.title
    assert str(loaded["id"]) == entry.id


@given(LINE)
def test_scalar_is_the_same_string_to_every_reader(value: str) -> None:
    line = f"key: {render.scalar(value)}"
    assert yaml.safe_load(line) == {"key": value}
    assert frontmatter.read(line) == frontmatter.structured(line) == {"key": value}


@given(
    st.one_of(
        st.lists(
            st.builds("{}:{}{}".format, st.sampled_from(["a", "b", "c-d"]), st.just(" "), LINE),
            max_size=4,
        ).map("\n".join),
        st.lists(
            st.sampled_from(
                ["a", "b", ":", ": ", " ", "\n", "[", "]", ", ", "'", '"', "#", "-", "0", "\t", "{",
                 "|", ">", "\u00e9", "\xa0", ".", "/"]
            ),
            max_size=14,
        ).map("".join),
    )
)  # fmt: skip
@example("a: [b -c, d]")
@example("a: 'b' 'c'")
def test_plain_reader_agrees_with_yaml(front: str) -> None:
    plain = frontmatter.plain(front)
    if plain is not None:
        assert list(plain.items()) == list(frontmatter.structured(front).items())


@given(FILES)
@example(b"------\n")
@example(b"---\r")
@example(b"---\nid: a\n---\r")
def test_any_bytes_read_without_an_exception(data: bytes) -> None:
    document = parse.document(data)
    at = 0
    joined = b""
    for span in document.spans:
        assert at <= span.start < span.end
        assert span.line == data.count(b"\n", 0, span.start) + 1
        assert span.body is None or span.start < span.body <= span.end
        block = data[span.start : span.end]
        # A block means the same by itself as in its file.
        seams = parse.cut(block)
        assert (seams is None) == (span.body is None)
        assert seams is None or span.start + seams[2] == span.body
        joined += data[at : span.start] + block
        at = span.end
    assert joined + data[at:] == data
    parse.bank_yaml(data)
    parse.block(data)


@given(FILES, ENTRIES, NEWLINES)
def test_append_moves_no_block_and_adds_one(data: bytes, entry: Entry, newline: bytes) -> None:
    block = render.entry(entry, newline)
    longer = data + edit.appended(data[-4:], block, newline)
    *older, last = parse.spans(longer)
    assert tuple(older) == parse.spans(data)
    assert longer[last.start : last.end] == block


@given(FILES, ENTRIES, ENTRIES, NEWLINES)
def test_edit_leaves_every_byte_outside_its_block_alone(
    around: bytes, before: Entry, after: Entry, newline: bytes
) -> None:
    start = around + edit.appended(around[-4:], render.entry(before, newline), newline)
    data = start + edit.appended(start[-4:], b"---\nid: next\n---\n\nend", newline)
    *older, span, following = parse.spans(data)
    amended = edit.amend(data[span.start : span.end], before, after)
    changed = edit.splice(data, span, amended)
    *same, moved, behind = parse.spans(changed)
    assert same == older
    assert changed[: span.start] == data[: span.start]
    assert changed[moved.end :] == data[span.end :]
    assert changed[behind.start : behind.end] == data[following.start : following.end]
    assert parse.block(changed[moved.start : moved.end]).entry == after


@given(ENTRIES, ENTRIES, NEWLINES, st.booleans())
def test_amend_gives_exactly_what_was_wanted_and_a_repeat_changes_nothing(
    before: Entry, after: Entry, newline: bytes, extras: bool
) -> None:
    block = render.entry(before, newline)
    mark = newline + b"owner: {a: [b, 0.10]}  # ours" + newline
    if extras:
        block = block.replace(newline + b"type: ", mark + b"type: ", 1)
    amended = edit.amend(block, before, after)
    assert parse.block(amended).entry == after
    assert edit.amend(amended, after, after) == amended
    assert (mark in amended) == extras
    assert edit.amend(amended, after, before) == block


@given(BLOCKS, ENTRIES)
def test_amend_of_a_hand_written_block_changes_what_was_asked_and_no_more(
    block: bytes, other: Entry
) -> None:
    before = parse.block(block).entry
    assume(before is not None and "---" not in before.text)
    assert before is not None
    pinned = replace(before, pinned=not before.pinned, revision=7)
    changed = edit.amend(block, before, pinned)
    assert parse.block(changed).entry == pinned
    old, new = block.splitlines(), changed.splitlines()
    assert len([line for line in new if line not in old]) <= 2
    assert len([line for line in old if line not in new]) <= 2
    changed = edit.amend(block, before, other)
    assert parse.block(changed).entry == other
    for kept in (b"owner: kiln", b"score: 0.10", b"# note", b"# c"):
        assert (kept in block) <= (kept in changed)


@given(
    st.lists(st.sampled_from([b"a: b", b"k: v # c", b"# c", b"", b"l:", b"- x"]), max_size=6),
    NEWLINES,
    st.sampled_from(["v", "[a, b]", "true"]) | LINE.map(render.scalar) | st.none(),
)
def test_bank_key_is_set_and_the_others_stay(
    lines: list[bytes], newline: bytes, value: str | None
) -> None:
    data = newline.join(lines)
    before, problems = parse.bank_yaml(data)
    assume(not problems)
    after, _ = parse.bank_yaml(edit.set_yaml_key(data, "k", value))
    assert {key: node for key, node in before.items() if key != "k"} == {
        key: node for key, node in after.items() if key != "k"
    }
    assert ("k" in after) == (value is not None)


def test_time_to_find_blocks_grows_with_the_size_and_no_faster() -> None:
    """Shapes that a careless reader would go through again for each fence."""
    for piece in (
        b"---\nid: a\n",
        b"---\n",
        b"---\nid: a\n---\n",
        b"---\nid: a\n\n",
        b"\n\n---",
        b"---\n---\nid: a\n ",
        b"word" * 3,
    ):
        small, large = (_seconds(piece * (size // len(piece))) for size in (20_000, 160_000))
        # Eight times the bytes; forty leaves room for a busy machine, quadratic would be 64.
        assert large < max(40 * small, 0.25)


def _seconds(data: bytes) -> float:
    best = 9.9
    for _ in range(3):
        begun = time.perf_counter()
        parse.spans(data)
        best = min(best, time.perf_counter() - begun)
    return best
