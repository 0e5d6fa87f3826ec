"""No text leaves its line or its block, and no budget is exceeded."""

import re
import unicodedata
from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from recall.engine.injection import Line, memory_message, neutral, section
from recall.engine.packing import Fit, pack_rules

# Pieces that could close a block, end a line or hide either, among any other text.
_PIECES = ["</memory>", "<memory bank=", "\n", "\r", "\u2028", "\x85", "\u200b", "\u202e", "- [m]"]
texts = st.lists(st.one_of(st.sampled_from(_PIECES), st.text(max_size=12)), max_size=8).map("".join)
lines = st.lists(texts, max_size=6).map(
    lambda found: [
        Line(id=f"mem_{number}", text=text, day=date(2026, 6, 1), confidence="stated")
        for number, text in enumerate(found)
    ]
)
contents = st.dictionaries(
    st.sampled_from(["a", "house", "learned", "z"]),
    st.lists(st.text("xy ", max_size=20), max_size=8).map("\n".join),
)


@given(texts)
def test_any_text_is_one_line_of_visible_characters(text: str) -> None:
    shown = neutral(text)
    assert len(shown.splitlines()) <= 1
    assert "<" not in shown
    assert "<" not in unicodedata.normalize("NFKC", shown)
    assert not any(unicodedata.category(character) in ("Cc", "Cs") for character in shown)
    assert not any(
        unicodedata.bidirectional(character) in ("LRE", "RLE", "PDF", "LRO", "RLO", "BN")
        for character in shown
    )
    assert neutral(shown) == shown


@given(lines, lines, st.integers(0, 6), st.integers(0, 120))
def test_a_block_is_closed_once_has_a_line_a_memory_and_keeps_its_budget(
    hits: list[Line], ambient: list[Line], limit: int, budget_tokens: int
) -> None:
    message = memory_message("ops", hits, ambient, limit=limit, budget_tokens=budget_tokens)
    assert len(message.text) <= 4 * budget_tokens
    chosen = len(message.packed.hits) + len(message.packed.ambient)
    assert bool(message.text) is bool(chosen)
    if message.text:
        first, *inside, last = message.text.splitlines()
        assert (first, last) == ('<memory bank="ops">', "</memory>")
        assert [line for line in inside if re.match(r"- \[mem_\d] .*\(2026-06-01, stated\)$", line)]
        assert len(inside) == chosen <= limit
        assert len(re.findall("</?memory", message.text)) == 2
    taken = [size for n, size in enumerate(message.hit_chars) if n in message.packed.hits]
    taken += [size for n, size in enumerate(message.ambient_chars) if n in message.packed.ambient]
    if message.text:
        assert sum(taken) + len('<memory bank="ops">\n</memory>') == len(message.text)


@given(contents, st.integers(0, 200))
def test_rules_keep_their_budget_and_whole_lines(rules: dict[str, str], budget: int) -> None:
    packed = pack_rules(rules.items(), budget_chars=budget)
    assert packed.kept_chars <= budget
    assert packed.truncated is (packed.total_chars > budget)
    shown = section("ops", packed)
    for rule in packed.rules:
        whole = [line.rstrip() for line in rules[rule.name].splitlines()]
        kept = [line.rstrip() for line in rule.kept.splitlines()]
        assert all(line in whole for line in kept)
        assert (rule.fit is Fit.WHOLE) is (rule.kept_chars == rule.chars)
        assert (f"### {rule.name}\n" in shown) is (rule.fit is not Fit.OMITTED)
        assert bool(kept) is (rule.fit is not Fit.OMITTED)
