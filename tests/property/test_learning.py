"""Whatever a model answers: the honest error at most, and no rule but in the words of the user."""

import json

from hypothesis import given
from hypothesis import strategies as st

from banks import errors
from banks.store import names
from banks.store.types import Trust
from recall.learning.judging import judged
from recall.learning.llm.replies import elements
from recall.learning.transcript import Said

WORDS = st.lists(st.sampled_from(["always", "close", "valve", "2", "never", "ask"]), max_size=8)
SENTENCE = WORDS.map(" ".join)
ELEMENT = st.fixed_dictionaries(
    {"text": SENTENCE},
    optional={"quote": SENTENCE, "category": st.sampled_from(["rules", "facts", "x"])},
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | ELEMENT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=20,
)
GARBAGE = st.text(st.sampled_from('[]{}",:\\ ntext`<>think/\ud800ü0')) | st.text()
REPLY = st.one_of(
    GARBAGE,
    JSON.map(json.dumps),
    st.lists(ELEMENT, max_size=5).map(json.dumps),
    st.tuples(GARBAGE, JSON.map(json.dumps), GARBAGE).map("".join),
    st.tuples(JSON.map(json.dumps), st.integers(0, 200)).map(lambda pair: pair[0][: pair[1]]),
)
WINDOW = st.lists(
    st.builds(Said, st.just("e"), st.sampled_from(["user", "assistant", "tool"]), SENTENCE),
    min_size=1,
    max_size=4,
)


@given(REPLY, WINDOW)
def test_any_answer_is_read_or_refused_and_only_users_make_rules(
    reply: str, window: list[Said]
) -> None:
    try:
        found = elements(reply)
    except errors.ReplyUnusable:
        return
    spoken = [names.normalise(each.text) for each in window if each.role == "user"]
    for each in judged(found, window):
        assert 3 <= len(each.text) <= 500
        assert each.trust is not Trust.HIGH
        if each.rule:
            assert any(names.normalise(each.rule).strip(" .,") in text for text in spoken)
        if not spoken:
            assert each.trust is Trust.LOW
