"""Whatever stands where messages should be is read without a fault, and no message twice."""

from hypothesis import given
from hypothesis import strategies as st

from recall.learning.transcript import after, kept, read, stored

WORD = st.sampled_from(["user", "assistant", "system", "text", "tool_result", "e1", "yes"])
SCALAR = st.none() | st.booleans() | st.integers() | st.floats() | WORD | st.text(max_size=5)
KEY = st.sampled_from(["role", "id", "text", "content", "type"]) | st.text(max_size=3)
JSON = st.recursive(
    SCALAR,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEY, inner, max_size=5),
    max_leaves=20,
)
MESSAGE = st.dictionaries(KEY, JSON, max_size=5) | JSON


@given(st.lists(MESSAGE, max_size=6) | JSON)
def test_any_json_is_read(messages: object) -> None:
    said = read(messages)
    assert all(each.text.strip() for each in said)
    assert stored(kept(said))[: len(said)] or not said


PLAIN = st.lists(
    st.builds(
        lambda role, text: {"role": role, "text": text},
        st.sampled_from(["user", "assistant"]),
        st.sampled_from(["yes", "no", "open it", "close it"]),
    ),
    max_size=12,
)


@given(PLAIN, PLAIN, st.booleans(), st.booleans())
def test_what_is_told_again_is_not_new(
    old: list[dict[str, str]], new: list[dict[str, str]], was_named: bool, is_named: bool
) -> None:
    def told(messages: list[dict[str, str]], *, named: bool) -> list[dict[str, str]]:
        more = ({"id": f"e{number}"} if named else {} for number in range(len(messages)))
        return [{**each, **name} for each, name in zip(messages, more, strict=False)]

    known = [each.mark for each in read(told(old, named=was_named))]
    fresh = after(read(told(old + new, named=is_named)), known[-6:])
    assert len(fresh) <= len(new) or not old
    if was_named and is_named:
        assert [each.text for each in fresh] == [each["text"] for each in new]
