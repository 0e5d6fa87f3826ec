"""Whatever a model answers, consolidation does no harm."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from banks import queries
from banks.models import Entry
from banks.store.types import Category, Trust
from tests.builders import World, save
from tests.chat import Scripted
from tests.services.passes import consolidated, episode, mode

_IDS = st.sampled_from(["e1", "e2", "k1", "pin", "mem_2026-01-01_000000"])
_WORDS = st.text(max_size=12) | _IDS | st.sampled_from(["facts", "rules", "procedure"])
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | _WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=3),
    max_leaves=4,
)
_GARBAGE = {"text": _VALUES, "category": _VALUES, "title": _VALUES, "sources": _VALUES}
_FITTING = st.fixed_dictionaries(
    {
        "text": st.integers(0, 999).map("Pump {} was primed again.".format),
        "sources": st.lists(_IDS, min_size=1, max_size=3),
        "supersedes": st.lists(_IDS, max_size=2) | _VALUES,
    },
    optional={"category": _VALUES, "title": _VALUES, "tags": _VALUES},
)
_ELEMENTS = st.fixed_dictionaries({}, optional=_GARBAGE) | _FITTING
_REPLIES = (
    st.text(max_size=40) | _VALUES.map(json.dumps) | st.lists(_ELEMENTS, max_size=4).map(json.dumps)
)


def garbage(world: World, model: Scripted, examples: int) -> None:
    """Whatever a model says, no memory is lost, no rule is planted, and the bank goes on."""
    mode(world.bank, "apply")
    ids = {
        "k1": save(world, "Pumps are primed by air.", trust=Trust.LOW).memory.id,
        "pin": save(world, "Pumps are blue.", pinned=True).memory.id,
    }

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(reply=_REPLIES)
    def check(reply: str) -> None:
        count = Entry.objects.filter(bank=world.bank).count()
        happened = {
            key: episode(world, f"{key}: pump {count} was primed by air and painted blue.").id
            for key in ("e1", "e2")
        }
        for key, value in (ids | happened).items():
            reply = reply.replace(f'"{key}"', f'"{value}"')
        dead = Entry.objects.filter(bank=world.bank, live=False).count()
        before = Entry.objects.filter(bank=world.bank, live=True).count()
        model.script = [reply]
        run = consolidated(world)
        made = Entry.objects.filter(bank=world.bank).count() - count - 2
        gone = Entry.objects.filter(bank=world.bank, live=False)
        assert run.state in ("done", "failed")
        assert not gone.filter(superseded_by="").exists()
        now = Entry.objects.filter(bank=world.bank, live=True).count()
        assert now + gone.count() - dead == before + made
        assert not Entry.objects.filter(bank=world.bank, category=Category.RULES.value).exists()
        assert queries.rules(world.bank) == []
        assert queries.memory(world.bank, ids["pin"]).revision == 0

    check()
    model.script = []
    assert consolidated(world).state == "done"


def test_no_answer_does_harm(world: World, model: Scripted) -> None:
    garbage(world, model, 8)


@pytest.mark.wide
@pytest.mark.slow
def test_no_answer_of_very_many_does_harm(world: World, model: Scripted) -> None:
    """Slow: hundreds of passes over a bank."""
    garbage(world, model, 300)
