"""Bytes → spans, entries and problems."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from banks.store import fields, frontmatter, parse, render
from banks.store.types import Block, Category, Document, Entry, Origin, Problem, Severity, Trust

GOLDEN = Path(__file__).parents[1] / "golden" / "seed_format"
HEAD = "id: {id}\ncreated: 2026-03-04T05:06:07+00:00\ntype: semantic\ncategory: facts\n"


def block_text(
    id: str = "m1",
    *,
    more: str = "summary: Valve note\n",
    text: str = "The valve is open.",
) -> str:
    return f"---\n{HEAD.format(id=id)}{more}---\n\n{text}\n"


def only(data: str | bytes) -> Block:
    raw = data.encode() if isinstance(data, str) else data
    found = parse.document(raw)
    assert len(found.blocks) == 1
    return found.blocks[0]


def read(data: str | bytes) -> Entry:
    entry = only(data).entry
    assert entry is not None
    return entry


def codes(problems: tuple[Problem, ...]) -> list[str]:
    return [problem.code for problem in problems]


def ids(document: Document) -> list[str | None]:
    return [block.entry.id if block.entry else None for block in document.blocks]


def test_block_gives_every_field() -> None:
    more = (
        "source: tool_result\nconfidence: high\ntags: [Pump, kiln , pump, '']\nsupersedes: m0\n"
        "superseded_by: m2\nsummary: Pump three\ntitle: How to start\nentities: [E\u0301]\n"
        "pinned: true\ncorroboration: 2\nrevision: 3\nupdated: 2026-03-05T00:00:00+00:00\n"
        "stated: 2026-03-06\ninvalidated: 2026-03-07T00:00:00Z\nsession: s1\nentry: e1\n"
        "agent: bot\nformer_id: old\n"
    )
    assert read(block_text(more=more, text="  Two\n\nparts.")) == Entry(
        id="m1",
        created=datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC),
        category=Category.FACTS,
        origin=Origin.TOOL_RESULT,
        trust=Trust.HIGH,
        tags=("pump", "kiln"),
        supersedes="m0",
        superseded_by="m2",
        summary="Pump three",
        title="How to start",
        entities=("\u00e9",),
        pinned=True,
        corroboration=2,
        revision=3,
        updated=datetime(2026, 3, 5, tzinfo=UTC),
        stated=datetime(2026, 3, 6, tzinfo=UTC),
        invalidated=datetime(2026, 3, 7, tzinfo=UTC),
        session="s1",
        entry="e1",
        agent="bot",
        former_id="old",
        text="  Two\n\nparts.",
    )


def test_values_equal_to_their_defaults_read_as_absent() -> None:
    created = "2026-03-04T05:06:07+00:00"
    more = (
        f"summary: Same\ntitle: Same\nupdated: {created}\nstated: {created}\nsupersedes: null\n"
        "invalidated: ~\ntags:\nentities: null\npinned:\nrevision:\nsession:\nsource:\n"
        "confidence:\n"
    )
    assert read(block_text(more=more)) == read(block_text(more="summary: Same\n"))


def test_seed_format_reads_without_a_problem_and_renders_to_the_same_bytes() -> None:
    count = 0
    for file in sorted(GOLDEN.rglob("*.md")):
        data = file.read_bytes()
        document = parse.document(data, path=file.relative_to(GOLDEN).as_posix())
        assert document.problems == ()
        at, joined = 0, b""
        for span, block in zip(document.spans, document.blocks, strict=True):
            assert block.entry is not None
            joined += data[at : span.start] + render.entry(block.entry)
            at = span.end
            count += 1
        assert joined + data[at:] == data
    assert count == 5


# field case A11
def test_words_that_yaml_takes_for_booleans_stay_words() -> None:
    assert read(block_text(more="tags: [no, on, yes, off, true]\n")).tags == (
        "no", "on", "yes", "off", "true",
    )  # fmt: skip
    assert read(block_text(more="tags:\n- no\n- 010\nsummary: on\n")).tags == ("no", "010")


# field case A12
def test_times_are_read_in_every_usual_spelling_and_impossible_ones_are_problems() -> None:
    spellings = {
        "2026-08-24": datetime(2026, 8, 24, tzinfo=UTC),
        "2026-08-24T10:15:00": datetime(2026, 8, 24, 10, 15, tzinfo=UTC),
        '"2026-08-24T10:15:00Z"': datetime(2026, 8, 24, 10, 15, tzinfo=UTC),
        "2026-08-24 10:15:00 +0200": datetime(2026, 8, 24, 8, 15, tzinfo=UTC),
        "2026-08-24t10:15:00z": datetime(2026, 8, 24, 10, 15, tzinfo=UTC),
        "2026-08-24T10:15:00.1239Z": datetime(2026, 8, 24, 10, 15, 0, 123000, tzinfo=UTC),
    }
    for spelling, instant in spellings.items():
        data = f"---\nid: m1\ncreated: {spelling}\ncategory: facts\n---\n\nText\n"
        created = read(data).created
        assert created == instant
        assert created.tzinfo is UTC


# field case A12
@pytest.mark.parametrize(
    "spelling",
    ["2026-02-30", "soon", "2026-08-24T25:00", "1782123100000", "0001-01-01T00:00+14:00", "[a]"],
)
def test_impossible_time_hides_its_own_block_only(spelling: str) -> None:
    bad = f"---\nid: bad\ncreated: {spelling}\ncategory: facts\n---\n\nText\n"
    document = parse.document((block_text("m1") + "\n" + bad + "\n" + block_text("m2")).encode())
    assert ids(document) == ["m1", None, "m2"]
    assert codes(document.problems) == ["bad_value" if spelling == "[a]" else "bad_time"]
    assert document.problems[0].line == 13


# field case A24
def test_times_with_and_without_an_offset_compare() -> None:
    spellings = [
        "2026-03-31T23:30:00Z",
        "2026-04-01T00:30:00+02:00",
        "2026-03-31T23:59:59",
        "2026-04-01T00:00:00Z",
    ]
    moments = [fields.moment(spelling) for spelling in spellings]
    assert [moments.index(each) for each in sorted(moments)] == [1, 0, 2, 3]


# field case A13
def test_repeated_key_is_a_problem_on_its_line_and_takes_no_second_id() -> None:
    data = "---\nid: m1\ntags: [x]\ntags: [y]\nid: m2\n---\n\nText\n"
    document = parse.document((block_text("m0") + "\n" + data).encode())
    assert ids(document) == ["m0", None]
    assert [(each.code, each.line) for each in document.problems] == [("duplicate_key", 14)]


# field case A14
def test_control_character_in_a_text_is_a_warning_and_in_a_key_a_problem() -> None:
    data = "\n".join(
        [
            block_text("m1", text="red \x1b[31m\tlamp"),
            block_text("m2", more="summary: a\x1bb\n"),
            block_text("m3"),
        ]
    )
    document = parse.document(data.encode())
    assert ids(document) == ["m1", None, "m3"]
    assert [(each.code, each.line, each.severity) for each in document.problems] == [
        ("control_character", 9, Severity.WARNING),
        ("bad_yaml", 16, Severity.PROBLEM),
    ]


def test_escaped_control_character_counts_as_a_space() -> None:
    block = only(block_text(more='summary: "a\\x00b\\n"\ntags: ["x\\x1by"]\n'))
    assert block.entry is not None
    assert (block.entry.summary, block.entry.tags) == ("a b", ("x y",))
    assert codes(block.problems) == ["control_character", "control_character"]


def test_folded_summary_is_one_line() -> None:
    assert read(block_text(more="summary: >\n  one\n  two\n")).summary == "one two"


# field case A15
@pytest.mark.parametrize("line", ["---", "--- ", "  ---", "-----", "---\r", "- ---"])
def test_rule_across_the_page_stays_text_of_its_entry(line: str) -> None:
    block = only(block_text(text=f"Before\n\n{line}\n\nopen valve 3"))
    assert block.entry is not None
    assert block.entry.text == f"Before\n\n{line.removesuffix(chr(13))}\n\nopen valve 3"
    stray = [("stray_fence", 11, Severity.WARNING)] if line.rstrip("\r") == "---" else []
    assert [(each.code, each.line, each.severity) for each in block.problems] == stray


def test_fence_above_an_address_opens_nothing() -> None:
    assert read(block_text(text="See\n---\nhttps://example.org")).text.endswith("example.org")


def test_stray_fence_above_the_first_entry_is_a_warning() -> None:
    document = parse.document(("# Pumps\n\n---\n\n" + block_text()).encode())
    assert [(each.code, each.line) for each in document.problems] == [("stray_fence", 3)]
    assert codes(parse.document(b"# Pumps\n\n---\n").problems) == ["stray_fence"]


# field case A16
@pytest.mark.parametrize("gap", ["\n\nText two\n\n", "\n", "\n \t\r\n---\n\nText\n"])
def test_missing_closing_fence_hides_its_own_block_only(gap: str) -> None:
    broken = f"---\nid: m2\nsummary: two{gap}"
    first, last = block_text("m1"), block_text("m3")
    data = (first + "\n" + broken + last).encode()
    document = parse.document(data)
    assert ids(document) == ["m1", None, "m3"]
    assert [(each.code, each.line) for each in document.problems] == [("unclosed_fence", 11)]
    span = document.spans[1]
    assert data[span.start : span.end].decode() == broken.rstrip()
    assert span.body is None


def test_missing_closing_fence_at_the_end_of_a_file() -> None:
    for tail in ("", "\n", "\n\nText", "\n---x"):
        document = parse.document(("---\nid: m1" + tail).encode())
        assert codes(document.problems) == ["unclosed_fence"]


def test_text_that_begins_like_a_key_right_below_the_fence_is_text() -> None:
    data = "---\n" + HEAD.format(id="m1") + "---\nNote: open\n---\nNext: shut\n"
    first = parse.document(data.encode())
    assert ids(first)[0] == "m1"
    assert read("---\n" + HEAD.format(id="m1") + "---\nNote: open\n").text == "Note: open"
    assert read("---\n" + HEAD.format(id="m1") + "---\nNote: a\n\n---\nz").text.endswith("z")


# field case A17
def test_bad_yaml_between_good_blocks_is_named_with_its_line() -> None:
    bad = block_text("m2", more="summary: pump: north side\n")
    document = parse.document("\n".join([block_text("m1"), bad, block_text("m3")]).encode())
    assert ids(document) == ["m1", None, "m3"]
    problem = document.problems[0]
    assert (problem.code, problem.line) == ("bad_yaml", 16)
    assert "mapping values are not allowed" in problem.message
    assert "north" not in problem.message


# field case A18
def test_unknown_keys_are_no_problem() -> None:
    extra = "owner_team: kiln\nreview: {every: 90d, by: [qa, ops]}\nscore: 0.10\n"
    block = only(block_text(more=extra))
    assert block.entry is not None
    assert block.problems == ()


# field case A19
def test_windows_line_ends_read_like_others() -> None:
    data = block_text("m1", more="tags: [a]\n", text="One\n\ntwo") + "\n" + block_text("m2")
    windows = parse.document(data.replace("\n", "\r\n").encode())
    assert [each.entry for each in windows.blocks] == [
        each.entry for each in parse.document(data.encode()).blocks
    ]
    mixed = data.replace("\n", "\r\n", 9).encode()
    assert ids(parse.document(mixed)) == ["m1", "m2"]
    assert parse.newline(data.replace("\n", "\r\n").encode()) == b"\r\n"


# field case A19
def test_closing_fence_at_the_end_of_a_file_needs_no_line_end() -> None:
    data = ("---\n" + HEAD.format(id="m1") + "---").encode()
    document = parse.document(data)
    assert ids(document) == ["m1"]
    assert document.spans[0].body == document.spans[0].end == len(data)
    assert read(data + b"\n \n").text == ""
    assert parse.spans(data + b"\n \n") == document.spans


def test_byte_order_mark_is_skipped() -> None:
    data = parse.BOM + block_text().encode()
    document = parse.document(data)
    assert ids(document) == ["m1"]
    assert document.spans[0].start == 3


# field case A06
def test_pointers_are_read_as_they_stand() -> None:
    data = "\n".join(
        block_text(mine, more=f"superseded_by: {other}\n")
        for mine, other in (("m1", "m2"), ("m2", "m1"), ("m3", "m3"), ("m4", "mem_missing"))
    )
    document = parse.document(data.encode())
    assert [each.entry and each.entry.superseded_by for each in document.blocks] == [
        "m2", "m1", "m3", "mem_missing",
    ]  # fmt: skip
    assert document.problems == ()


def test_second_block_with_an_id_is_a_problem() -> None:
    document = parse.document((block_text() + "\n" + block_text()).encode())
    assert ids(document) == ["m1", None]
    assert [(each.code, each.line) for each in document.problems] == [("duplicate_id", 11)]


def test_category_that_the_file_does_not_expect_is_a_warning() -> None:
    data = block_text().encode()
    assert parse.document(data, path="semantic_memory/facts-2.md").problems == ()
    found = parse.document(data, path="preferences.md").problems
    assert [(each.code, each.severity) for each in found] == [("wrong_file", Severity.WARNING)]


@pytest.mark.parametrize(
    ("more", "code", "line"),
    [
        ("revision: x\n", "bad_value", 6),
        ("corroboration: -1\n", "bad_value", 6),
        ("revision: 99999999999\n", "bad_value", 6),
        ("summary: s\npinned: maybe\n", "bad_value", 7),
        ("tags: pump\n", "bad_value", 6),
        ("tags: [[pump]]\n", "bad_value", 6),
        ("summary: [a]\n", "bad_value", 6),
        ("title: {a: b}\n", "bad_value", 6),
        ("updated: soon\n", "bad_time", 6),
        ("note: &a x\n", "bad_yaml", 6),
        ("note: *a\n", "bad_yaml", 6),
        ("note: !x y\n", "bad_yaml", 6),
        ("note: [&a [b]]\n", "bad_yaml", 6),
        ("? &a b\n: c\n", "bad_yaml", 6),
        ("? [a]\n: b\n", "bad_yaml", 6),
        ("note: {a: b, a: c}\n", "duplicate_key", 6),
        ("note: [[[[[[[[[a]]]]]]]]]\n", "bad_yaml", 6),
        ("...\na: b\n", "bad_yaml", 7),
        ("--- x\n", "bad_yaml", 6),
        ("\u2028: x\n", "bad_yaml", 6),
        (f"note: {'x' * 16_000}\n", "front_too_large", 2),
    ],
)
def test_value_of_the_wrong_kind_makes_the_block_a_problem(more: str, code: str, line: int) -> None:
    block = only(block_text(more=more))
    assert block.entry is None
    assert [(each.code, each.line) for each in block.problems] == [(code, line)]


@pytest.mark.parametrize(
    ("front", "expected"),
    [
        ("created: 2026-01-01\ncategory: facts", ["missing_id"]),
        ("id:\ncreated: 2026-01-01\ncategory: facts", ["missing_id"]),
        ("id: a/b\ncreated: 2026-01-01\ncategory: facts", ["bad_id"]),
        ("id: [a]\ncreated: 2026-01-01\ncategory: facts", ["bad_id"]),
        ("id: a\ncategory: facts", ["missing_created"]),
        ("id: a\ncreated: null\ncategory: facts", ["missing_created"]),
        ("id: a\ncreated: 2026-01-01", ["unknown_category"]),
        ("id: a\ncreated: 2026-01-01\ncategory:", ["unknown_category"]),
        ("id: a\ncreated: 2026-01-01\ncategory: [facts]", ["unknown_category"]),
        ("id: a\ncreated: never\ncategory: other", ["bad_time", "unknown_category"]),
    ],
)
def test_required_keys_must_be_there_and_sound(front: str, expected: list[str]) -> None:
    block = only(f"---\n{front}\n---\n\nText\n")
    assert block.entry is None
    assert codes(block.problems) == expected


def test_odd_words_are_read_with_a_warning() -> None:
    block = only(
        block_text(more="source: robot\nconfidence: sure\n").replace("semantic", "episodic")
    )
    assert block.entry is not None
    assert (block.entry.origin, block.entry.trust) == (Origin.AGENT, Trust.LOW)
    assert [(each.code, each.line) for each in block.problems] == [
        ("unknown_source", 6),
        ("unknown_confidence", 7),
        ("type_mismatch", 4),
    ]
    assert {each.severity for each in block.problems} == {Severity.WARNING}


def test_what_passes_a_limit_is_live_with_a_warning() -> None:
    tags = ", ".join(f"t{number}" for number in range(17))
    more = f"summary: {'s' * 201}\ntags: [{tags}]\nentities: [{'e' * 65}]\n"
    block = only(block_text(more=more, text="x" * 2001))
    assert block.entry is not None
    assert codes(block.problems) == ["over_limit"] * 4
    assert codes(only(block_text(text="ok")).problems) == ["over_limit"]


def test_bytes_that_are_not_utf8_hide_their_block_only() -> None:
    front = block_text("m1").encode().replace(b"Valve", b"\xff")
    text = block_text("m2").encode().replace(b"valve", b"\xff")
    document = parse.document(b"\n".join([front, text, block_text("m3").encode()]))
    assert ids(document) == [None, None, "m3"]
    assert [(each.code, each.line) for each in document.problems] == [
        ("not_utf8", 6),
        ("not_utf8", 19),
    ]


@pytest.mark.parametrize("data", [b"", b"---", b"x\n---\nid: a\n---", b"----\nid: a\n---", b"-\n"])
def test_bytes_that_are_no_block_are_a_problem(data: bytes) -> None:
    assert parse.cut(data) is None
    assert codes(parse.block(data).problems) == ["unclosed_fence"]


def test_blank_lines_around_a_text_are_not_part_of_it() -> None:
    data = ("---\n" + HEAD.format(id="m1") + "---\n\n \t\n  first\n\nlast  \n \n\n# no").encode()
    assert read(data).text == "  first\n\nlast  \n \n\n# no"
    shorter = data.removesuffix(b"\n\n# no")
    assert read(shorter).text == "  first\n\nlast  "
    span = parse.spans(shorter)[0]
    assert shorter[span.start : span.end].endswith(b"last  ")


def test_lone_carriage_return_ends_no_line() -> None:
    data = block_text(text="one\rtwo\r").encode().removesuffix(b"\n")
    assert parse.spans(data)[0].end == len(data)
    assert read(data).text == "one\rtwo\r"
    # The fence of this one is not exactly a fence.
    assert codes(parse.document(b"---\nid: m\n---\r").problems) == ["unclosed_fence"]


def test_version_is_sixteen_hex_digits_of_the_bytes() -> None:
    assert parse.version(b"abc") == "ba7816bf8f01cfea"


def test_newline_is_that_of_the_first_line() -> None:
    assert parse.newline(b"") == parse.newline(b"\na\r\n") == parse.newline(b"a") == b"\n"
    assert parse.newline(b"a\r\nb\n") == b"\r\n"


def test_bank_yaml_is_typed_and_keeps_unknown_keys() -> None:
    data = (
        b"\xef\xbb\xbf# ours\nformat: 1\n\ndescription: Kilns  # north\ncreated: 2026-01-02\n"
        b"language: no\nextraction_enabled: off\nrecall_limit: 7\nrules_off: [Style, on]\n"
        b"rule_learning_enabled:\nteam: {a: 1}\n"
    )
    assert parse.bank_yaml(data) == (
        {
            "format": 1,
            "description": "Kilns",
            "created": datetime(2026, 1, 2, tzinfo=UTC),
            "language": "no",
            "extraction_enabled": False,
            "recall_limit": 7,
            "rules_off": ["Style", "on"],
            "team": {"a": "1"},
        },
        (),
    )
    assert parse.bank_yaml(b"") == parse.bank_yaml(b"# nothing\n") == ({}, ())
    assert parse.bank_yaml(b"rules_off: null\n") == ({"rules_off": []}, ())


def test_bank_yaml_leaves_out_a_key_of_the_wrong_type() -> None:
    values, problems = parse.bank_yaml(b"language: en\nrecall_limit: many\nrules_off: x\n")
    assert values == {"language": "en"}
    assert [(each.code, each.line) for each in problems] == [("bad_value", 2), ("bad_value", 3)]


@pytest.mark.parametrize("data", [b"- a\n", b"{a: b}\n", b"a: b\n---\nc: d\n", b"a: [\n", b"\xff"])
def test_bank_yaml_that_cannot_be_read_gives_a_problem(data: bytes) -> None:
    values, problems = parse.bank_yaml(data)
    assert values == {}
    assert len(problems) == 1


@pytest.mark.parametrize(
    "line",
    [
        "k: v", "k:", "k: ", "k:  v  ", "k: []", "k: [a, b]", "k: [a,b c]", 'k: "a: b"', "k: 'a'",
        "k: a:b", "k: a#b", "k: 2026-01-01T00:00:00+00:00", "k: \u00e9",
        "k: \U0001f469\u200d\U0001f527",
        "k: [a, ]x", "k: 'a'b'", "k:v",
    ],
)  # fmt: skip
def test_plain_reader_and_yaml_agree(line: str) -> None:
    plain = frontmatter.plain(line)
    try:
        expected = frontmatter.structured(line)
    except frontmatter.Unreadable:
        assert plain is None
    else:
        assert plain in (None, expected)
