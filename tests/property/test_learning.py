"""Whatever a model answers: the honest error at most, and no rule but in the words of the user."""

import json
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from banks import errors
from banks.store import names
from banks.store.types import Category, Trust
from recall.learning.judging import judged
from recall.learning.llm import replies
from recall.learning.promotion import Episode, Known, read
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
        found = replies.read(reply).elements
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


IDS = st.sampled_from(["e1", "e2", "k1", "k2", "none"])
WISH = st.fixed_dictionaries(
    {
        "text": SENTENCE | st.just("Valve 2 sticks."),
        "sources": st.lists(IDS, max_size=3),
        "supersedes": st.lists(IDS, max_size=2) | IDS,
        "category": st.sampled_from(["facts", "rules", "preferences", "procedure", "events", 3]),
    },
    optional={"title": SENTENCE},
)
EPISODES = [
    Episode(key, row, "events", datetime(2026, 1, 2, tzinfo=UTC), "It rained.", trust, f"fp-{key}")
    for row, (key, trust) in enumerate({"e1": Trust.HIGH, "e2": Trust.LOW}.items())
]
KNOWN = [
    Known(key, Category.FACTS, f"v-{key}", "", "Valve 2 is open.", Trust.HIGH, key == "k2")
    for key in ("k1", "k2")
]


@given(st.lists(WISH, min_size=5, max_size=12))
def test_any_answer_to_episodes_touches_only_what_was_shown_and_may_be_touched(
    reply: list[object],
) -> None:
    try:
        found = read(json.dumps(reply), EPISODES, KNOWN)
    except errors.ReplyUnusable:
        return
    for wish in found.wishes:
        change, sources = wish.change, {each.id for each in wish.change.sources}
        assert sources
        assert sources <= {"e1", "e2"}
        assert {each.id for each in change.retires} <= {"k1"}
        assert change.draft.trust is (Trust.LOW if "e2" in sources else Trust.MEDIUM)
        assert wish.waits or change.draft.category is not Category.RULES
        assert wish.waits or not (change.retires and change.draft.trust is Trust.LOW)
