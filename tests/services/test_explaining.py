"""Why a memory is where it is in an answer, or is not in it; and what is like it."""

from datetime import UTC, datetime

import pytest

from banks import errors
from banks.access import Principal
from banks.queries import Filters
from banks.services import entries
from banks.store.types import Category, Kind
from recall.engine import scoring
from recall.services import Explained, explain, recall
from tests.builders import World, save


def why(world: World, query: str, key: str, **options: object) -> Explained:
    return explain(world.viewer, world.bank, query, key, **options)  # type: ignore[arg-type]  # options by name


def test_a_hit_is_explained_as_the_recall_ranks_it(world: World) -> None:
    save(world, "The kiln is hot.")
    wanted = save(
        world, "It cracked on Sunday.", session="s1", tags=("kiln",), entities=("kiln 4",)
    ).memory
    save(world, "The oven was new.", session="s1")
    query = "when did the kiln 4 and its oven crack today"
    hits = recall(world.viewer, world.bank, query).memories
    for place, hit in enumerate(hits, start=1):
        told = why(world, query, hit.memory.id)
        assert (told.is_hit, told.reasons, told.rank) == (True, [], place)
        assert (told.score, told.signals) == (hit.score, hit.signals)
    told = why(world, query, wanted.id)
    assert told.terms == {
        "kiln": ["tags", "entities"],
        "4": ["entities"],
        "oven": ["session"],
        "crack": ["text", "summary"],
        "today": [],
    }
    assert told.named == ["kiln 4"]
    assert told.asks_for == ["newest", "time"]
    assert (told.retrieval, told.index.state) == ("bm25-entity", "ok")


def test_the_day_of_a_memory_is_a_part_of_it(world: World) -> None:
    key = save(world, "Kiln 4 is hot.").memory.id
    today = datetime.now(UTC)
    parts = why(world, f"{today:%d %B %Y}", key).terms
    assert parts[f"{today:%Y-%m-%d}"] == parts[f"--{today:%m-%d}"] == ["day"]


@pytest.mark.parametrize(
    ("query", "options", "reasons"),
    [
        ("kiln", {"filters": Filters(kind=Kind.EPISODIC)}, ["kind"]),
        ("kiln", {"filters": Filters(category=Category.EVENTS, tags=("x",))}, ["category", "tags"]),
        ("kiln", {"limit": 0}, ["limit"]),
        ("is it?", {}, ["no_terms"]),
        ("crane", {}, ["no_match"]),
        ("crane", {"filters": Filters(tags=("x",))}, ["tags", "no_match"]),
    ],
)
def test_what_keeps_a_memory_out_is_named(
    world: World, query: str, options: dict[str, object], reasons: list[str]
) -> None:
    key = save(world, "The kiln is hot.").memory.id
    told = why(world, query, key, **options)
    assert (told.is_hit, told.reasons) == (False, reasons)
    assert (told.rank, told.score, told.signals) == (None, None, None)


def test_a_retired_memory_says_so_unless_it_is_asked_for(world: World) -> None:
    key = save(world, "The kiln is hot.").memory.id
    entries.delete(world.editor, world.bank, key)
    assert why(world, "kiln", key).reasons == ["retired"]
    assert why(world, "kiln", key, filters=Filters(include_superseded=True)).is_hit


def test_a_memory_below_the_last_hit_has_its_rank(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    best = save(world, "The kiln.").memory.id
    second = save(world, "The kiln is hot, the kiln is old.").memory.id
    last = save(world, "The kiln, the crane, the fan, the oven and the pump are new.").memory.id
    told = why(world, "kiln", last, limit=2)
    assert (told.reasons, told.rank, told.limit) == (["limit"], 3, 2)
    assert told.score
    monkeypatch.setattr(scoring, "MIN_POOL", 2)
    monkeypatch.setattr("recall.services.recalling.pool_size", lambda limit: 2)
    assert why(world, "kiln", last, limit=2).reasons == ["outranked"]
    assert {why(world, "kiln", key, limit=2).rank for key in (best, second)} == {1, 2}


def test_what_is_not_in_the_bank_is_not_found(world: World) -> None:
    with pytest.raises(errors.MemoryNotFound):
        why(world, "kiln", "mem_20260101_000000")
    token = Principal(handle="token:x", token_id=1, is_admin=True, scopes=frozenset())
    with pytest.raises(errors.ScopeMissing):
        explain(token, world.bank, "kiln", "mem_20260101_000000")
