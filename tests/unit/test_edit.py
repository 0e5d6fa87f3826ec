"""Changes by bytes: only the lines that must."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from banks.store import edit, parse, render
from banks.store.errors import InvalidContent
from banks.store.types import Category, Entry, Trust

PLAIN = (
    "---\n"
    "id: m1\n"
    "created: 2026-03-04T05:06:07+00:00\n"
    "type: semantic\n"
    "category: facts\n"
    "source: agent\n"
    "confidence: medium\n"
    "tags: [pump]\n"
    "summary: Pump note\n"
    "---\n"
    "\n"
    "The pump hums."
)
UPDATED = datetime(2026, 3, 5, tzinfo=UTC)


def entry_of(block: bytes) -> Entry:
    entry = parse.block(block).entry
    assert entry is not None
    return entry


def amended(block: str, **changes: Any) -> str:
    data = block.encode()
    before = entry_of(data)
    after = replace(before, **changes)
    result = edit.amend(data, before, after)
    assert entry_of(result) == render.canonical(after)
    assert edit.amend(result, after, after) == result
    return result.decode()


def test_appended_leaves_one_blank_line_above() -> None:
    for tail, gap in {
        b"": b"",
        b"\xef\xbb\xbf": b"",
        b"\n": b"",
        b"\r\n": b"",
        b"end.": b"\n\n",
        b"nd.\n": b"\n",
        b"d.\n\n": b"",
        b"d\n \n": b"",
        b"\n\t\r\n": b"",
    }.items():
        assert edit.appended(tail, b"BLOCK") == gap + b"BLOCK\n"


def test_appended_uses_the_line_end_of_the_file() -> None:
    assert edit.appended(b"d.\r\n", b"B", b"\r\n") == b"\r\nB\r\n"
    assert edit.appended(b"end.", b"B", b"\r\n") == b"\r\n\r\nB\r\n"
    assert edit.appended(b"d.\r\n\r\n"[-4:], b"B", b"\r\n") == b"B\r\n"


def test_appended_keeps_a_lone_carriage_return_in_its_line() -> None:
    data = PLAIN.encode() + b"\r"
    longer = data + edit.appended(data[-4:], PLAIN.replace("m1", "m2").encode())
    assert parse.spans(longer)[:1] == parse.spans(data)
    assert len(parse.spans(longer)) == 2


# field case A16
def test_appending_behind_a_damaged_block_leaves_it_as_it_was() -> None:
    data = f"{PLAIN}\n\n---\nid: m2\nsummary: half\n\n{PLAIN.replace('m1', 'm3')}".encode()
    block = PLAIN.replace("m1", "m4").encode()
    document = parse.document(data + edit.appended(data[-4:], block))
    assert [each.entry and each.entry.id for each in document.blocks] == ["m1", None, "m3", "m4"]


# field case A17
def test_splice_changes_nothing_but_its_block() -> None:
    bad = "---\nid: m2\nsummary: pump: north side\n---\n\nDamaged"
    data = f"# Pumps\r\n\n{PLAIN}\n\n{bad}\n\n\n{PLAIN.replace('m1', 'm3')} \n".encode()
    span = parse.spans(data)[2]
    block = data[span.start : span.end]
    pinned = edit.amend(block, entry_of(block), replace(entry_of(block), pinned=True))
    changed = edit.splice(data, span, pinned)
    assert changed.replace(b"pinned: true\n", b"") == data
    assert bad.encode() in changed


def test_changed_key_is_the_only_changed_line() -> None:
    assert amended(PLAIN, tags=("pump", "oil")) == PLAIN.replace("[pump]", "[pump, oil]")
    assert amended(PLAIN, trust=Trust.HIGH) == PLAIN.replace("medium", "high")
    assert amended(PLAIN) == PLAIN


def test_new_keys_come_at_their_places() -> None:
    changed = amended(PLAIN, supersedes="m0", invalidated=UPDATED, pinned=True, updated=UPDATED)
    expected = PLAIN.replace("[pump]\n", "[pump]\nsupersedes: m0\n").replace(
        "note\n",
        "note\npinned: true\nupdated: 2026-03-05T00:00:00+00:00\n"
        "invalidated: 2026-03-05T00:00:00+00:00\n",
    )
    assert changed == expected
    assert amended(changed, supersedes=None, invalidated=None, pinned=False, updated=None) == PLAIN


def test_keys_in_another_order_stay_there() -> None:
    block = "---\nsummary: s\ncategory: facts\ncreated: 2026-03-04\nid: m1\n---\n\nText"
    changed = amended(block, superseded_by="m2", pinned=True)
    assert changed == block.replace("facts\n", "facts\nsuperseded_by: m2\n").replace(
        "summary: s\n", "summary: s\npinned: true\n"
    )


def test_changed_category_moves_its_type_along() -> None:
    changed = amended(PLAIN, category=Category.EVENTS)
    assert changed == PLAIN.replace("facts", "events").replace("semantic", "episodic")


# field case A18
def test_unknown_keys_and_comments_survive_every_change() -> None:
    extra = (
        "# for the night shift\nowner_team: kiln\nreview: {every: 90d, by: [qa, ops]}  # later\n"
        "score: 0.10\nlog: |\n  # not a comment\n  line\n# last\n"
    )
    block = PLAIN.replace("summary", extra + "summary").replace("[pump]", "[pump]  # by hand")
    assert amended(block, pinned=True).replace("pinned: true\n", "") == block
    assert amended(block, tags=()) == block.replace("[pump]", "[]")
    assert amended(block, text="Other").replace("Other", "The pump hums.") == block
    assert amended(block, superseded_by="m9").replace("superseded_by: m9\n", "") == block


def test_comment_behind_a_quoted_value_stays() -> None:
    block = PLAIN.replace("Pump note", '"Pump: note"\t# why')
    assert amended(block, summary="Other") == PLAIN.replace("Pump note", "Other\t# why")


@pytest.mark.parametrize(
    "lines",
    ["tags:\n- pump\n# after\n", "tags: [pump,\n  oil]\n# after\n", "tags:\n  - &x\n# after\n"],
)
def test_value_over_several_lines_goes_as_a_whole(lines: str) -> None:
    block = PLAIN.replace("tags: [pump]\n", lines)
    if "&" in lines:
        assert parse.block(block.encode()).entry is None
        return
    assert amended(block, tags=("new",)) == PLAIN.replace("[pump]\n", "[new]\n# after\n")


def test_block_scalar_and_explicit_key_are_replaced_as_a_whole() -> None:
    folded = PLAIN.replace("summary: Pump note\n", "summary: >\n  Pump\n  note\n# after\n")
    assert amended(folded, summary="x") == PLAIN.replace("Pump note\n", "x\n# after\n")
    explicit = PLAIN.replace("summary: Pump note\n", "? summary\n: Pump note\n")
    assert amended(explicit, summary="x") == PLAIN.replace("Pump note", "x")


def test_key_that_said_the_default_goes_when_it_would_say_something_else() -> None:
    block = PLAIN.replace("note\n", "note\ntitle: Pump note\n")
    assert amended(block, summary="Other") == PLAIN.replace("Pump note", "Other")


# field case A15
def test_changed_text_leaves_the_frontmatter_and_its_gap_alone() -> None:
    block = PLAIN.replace("\n\n", "\n \n\n")
    assert amended(block, text="One\n\n  ---\ntwo") == block.replace(
        "The pump hums.", "One\n\n  ---\ntwo"
    )
    bare = PLAIN.replace("\n\n", "\n")
    assert amended(bare, text="Other") == bare.replace("The pump hums.", "Other")


def test_text_comes_and_goes() -> None:
    empty = amended(PLAIN, text="")
    assert empty == PLAIN.removesuffix("\n\nThe pump hums.")
    assert amended(empty, text="The pump hums.") == PLAIN


# field case A19
def test_windows_line_ends_stay() -> None:
    windows = PLAIN.replace("\n", "\r\n")
    changed = amended(windows, tags=("a",), pinned=True, text="One\n\ntwo")
    assert changed == (
        PLAIN.replace("[pump]", "[a]")
        .replace("note\n", "note\npinned: true\n")
        .replace("The pump hums.", "One\n\ntwo")
        .replace("\n", "\r\n")
    )
    assert amended(amended(windows, text=""), text="The pump hums.") == windows


@pytest.mark.parametrize(
    "changes",
    [
        {"text": "a\n---\nb"},
        {"text": "red \x1b"},
        {"text": "\n\na"},
        {"summary": "a\nb"},
        {"tags": ("Big",)},
        {"updated": UPDATED.replace(microsecond=7)},
        {"id": "a/b"},
    ],
)
def test_change_that_would_not_read_back_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidContent):
        amended(PLAIN, **changes)


def test_text_that_would_turn_into_an_entry_is_refused() -> None:
    bare = PLAIN.replace("\n\nThe pump hums.", "\n ---\nid: x\n---")
    with pytest.raises(InvalidContent):
        amended(bare, text="id: x\n---")


def test_block_that_says_something_else_is_not_touched() -> None:
    before = entry_of(PLAIN.encode())
    for block in (PLAIN.replace("note", "word"), PLAIN.replace("m1", "[m1]"), "---\nid: m1\n"):
        with pytest.raises(InvalidContent):
            edit.amend(block.encode(), before, replace(before, pinned=True))


def test_bytes_around_a_block_are_refused() -> None:
    block = PLAIN.encode() + b"\n\n"
    before = entry_of(block)
    with pytest.raises(InvalidContent):
        edit.amend(block, before, replace(before, pinned=True))


def test_bank_key_changes_one_line() -> None:
    data = b"\xef\xbb\xbf# ours\n\nformat: 1\nlanguage: no  # Norwegian\nteam: {a: 1}\n"
    assert edit.set_yaml_key(data, "language", "en") == data.replace(b"no  #", b"en  #")
    assert edit.set_yaml_key(data, "recall_limit", "7") == data + b"recall_limit: 7\n"
    assert edit.set_yaml_key(data, "format", None) == data.replace(b"format: 1\n", b"")
    assert edit.set_yaml_key(data, "absent", None) == data
    assert edit.set_yaml_key(b"a: b\r\nk: v", "k", None) == b"a: b"
    assert edit.set_yaml_key(data, "rules_off", "[a, b]").endswith(b"}\nrules_off: [a, b]\n")


def test_bank_key_comes_last_whatever_the_file_ends_with() -> None:
    for data, expected in {
        b"": b"k: v\n",
        b"# c": b"# c\nk: v",
        b"# c\n": b"# c\nk: v\n",
        b"a: b": b"a: b\nk: v",
        b"a: b\r\n": b"a: b\r\nk: v\r\n",
        b"a: b\r\nc: d": b"a: b\r\nc: d\r\nk: v",
        b"a:\n- b\n# c\n": b"a:\n- b\nk: v\n# c\n",
    }.items():
        assert edit.set_yaml_key(data, "k", "v") == expected


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"a: [\n", "v"),
        (b"\xff\n", "v"),
        (b"  a: b\n", "v"),
        (b"", "a: b"),
        (b"", "[a"),
        (b"", "a\nb: c"),
        (b"", "|\n  a"),
    ],
)
def test_bank_key_that_cannot_be_set_is_refused(data: bytes, value: str) -> None:
    with pytest.raises(InvalidContent):
        edit.set_yaml_key(data, "k", value)
