"""Recall: what fits comes, best first; what is dead, foreign or filtered out takes no slot."""

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from banks import config, errors, queries, seams, sync
from banks.access import Principal
from banks.models import Entry
from banks.queries import Filters
from banks.services import entries
from banks.services.drafts import Draft
from banks.store.types import Category, Kind, Origin
from recall import indexer
from recall.engine import scoring
from recall.indexer import IndexState
from recall.services import Recalled, recall
from tests.builders import World, save, save_all


def ask(world: World, query: str, **options: object) -> Recalled:
    return recall(world.viewer, world.bank, query, **options)  # type: ignore[arg-type]  # options by name


def texts(world: World, query: str, **options: object) -> list[str]:
    return [hit.memory.text for hit in ask(world, query, **options).memories]


def chain(world: World, *versions: str) -> list[str]:
    """Save each text and let it replace the one before; ids, oldest first."""
    ids: list[str] = []
    for text in versions:
        ids.append(save(world, text).memory.id)
        if len(ids) > 1:
            entries.supersede(world.editor, world.bank, ids[-2], ids[-1])
    return ids


# field case A05
def test_a_replaced_fact_does_not_come_back(world: World) -> None:
    old, new = chain(world, "Line 2 runs at 40 Hz", "Line 2 runs at 48 Hz")
    assert texts(world, "Line 2 frequency") == ["Line 2 runs at 48 Hz"]
    both = ask(world, "Line 2 frequency", include_superseded=True).memories
    by_id = {hit.memory.id: hit.memory for hit in both}
    assert by_id.keys() == {old, new}
    assert by_id[old].superseded_by == new
    assert by_id[old].invalid_at is not None
    assert by_id[new].invalid_at is None


# field case A05
def test_a_version_that_moved_on_twice_is_answered_with_the_newest(world: World) -> None:
    first, second, third = chain(
        world,
        "The mixer firmware in hall 1 is at release 3.1.",
        "The mixer firmware in hall 1 is at release 3.4.",
        "The mixer firmware in hall 1 is at release 4.0.",
    )
    save(world, "The crane in hall 2 got new firmware as well.")
    query = "which firmware release does the mixer have"
    hits = ask(world, query).memories
    assert hits[0].memory.id == third
    assert not {first, second} & {hit.memory.id for hit in hits}
    shown = {
        hit.memory.id: hit.memory for hit in ask(world, query, include_superseded=True).memories
    }
    assert [shown[key].superseded_by for key in (first, second, third)] == [second, third, None]


def test_history_that_does_not_match_stays_away(world: World) -> None:
    chain(world, "Line 2 runs at 40 Hz", "Line 2 runs at 48 Hz")
    save(world, "The kiln is cold.")
    assert texts(world, "cold kiln", include_superseded=True) == ["The kiln is cold."]


# field case A07
def test_deleted_memories_take_no_slot(world: World) -> None:
    saved = save_all(world, (f"Manifold {number} was cleaned." for number in range(10)))
    assert len(texts(world, "manifold")) == config.current().recall_limit
    for memory in saved[:9]:
        entries.delete(world.editor, world.bank, memory.id)
    assert texts(world, "manifold", limit=5) == [saved[9].text]


# field case A07
def test_an_index_that_lags_lets_no_dead_memory_take_a_slot(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 12
    monkeypatch.setattr(scoring, "MIN_POOL", 4)
    drafts = [Draft(text=f"Manifold {number:02} was cleaned.") for number in range(count)]
    saved = entries.save_many(world.editor, world.bank, drafts)
    indexer.catch_up(world.bank)
    by_score = [hit.memory.id for hit in ask(world, "manifold", limit=count).memories]
    assert len(by_score) == count == len(saved)
    for key in by_score[:-1]:
        entries.delete(world.editor, world.bank, key)
    monkeypatch.setattr(indexer, "catch_up", lambda bank: IndexState("behind", count - 1))
    told = ask(world, "manifold", limit=1)
    assert [hit.memory.id for hit in told.memories] == by_score[-1:]
    assert told.index == IndexState("behind", count - 1)


# field case A09
@pytest.mark.parametrize("query", ["評価", "火曜", "人工知能"])
def test_a_word_inside_unspaced_text_is_found(world: World, query: str) -> None:
    save(world, "人工知能の評価は毎週火曜に行う")
    save(world, "倉庫の鍵は机の上にある")
    assert texts(world, query) == ["人工知能の評価は毎週火曜に行う"]


# field case A10
@pytest.mark.parametrize("query", ["", "   ", "?!", "\n\t", "* AND", "the of and", '"'])
def test_a_query_without_content_finds_nothing(world: World, query: str) -> None:
    save(world, "The purge of kiln 4 takes 20 minutes.")
    told = ask(world, query)
    assert (told.memories, told.retrieval) == ([], "none")


# field case A10
@pytest.mark.wide
@pytest.mark.parametrize(
    "query",
    [
        "purge*",
        "text:purge",
        'purge "',
        "(purge",
        "purge AND NOT kiln",
        "purge~2^9",
        "[purge TO",
        "purge: 50%",
        "\\purge/",
        "purge\x00\ud800",
        "purge " * 600,
    ],
)
def test_punctuation_in_a_query_is_only_punctuation(world: World, query: str) -> None:
    save(world, "The purge of kiln 4 takes 20 minutes.")
    save(world, "The crane is slow.")
    assert texts(world, query) == ["The purge of kiln 4 takes 20 minutes."]


# field case A34
def test_two_things_that_share_a_first_word_are_kept_apart(world: World) -> None:
    for count, text, entity in (
        (3, "Atlas North got pump", "atlas north"),
        (5, "Atlas South got valve", "atlas south"),
        (2, "Atlas is drawn on sheet", "atlas"),
    ):
        save_all(world, (f"{text} {number}." for number in range(count)), entities=(entity,))
    save(world, "DGX stands in hall 3.", entities=("DGX",))
    found = texts(world, "Atlas North", limit=10)
    assert all(text.startswith("Atlas North") for text in found[:3])
    assert not any(text.startswith("Atlas North") for text in found[3:])
    assert texts(world, "dgx") == texts(world, "DGX") == ["DGX stands in hall 3."]


# field case A36
def test_every_filter_applies_before_the_limit(world: World) -> None:
    day = datetime(2026, 3, 1, tzinfo=UTC)
    wanted = Draft(
        text="The pump was checked long ago and by a person, with a lot of words around it.",
        category=Category.EVENTS,
        tags=("pump", "check"),
        origin=Origin.USER_MESSAGE,
        created=day,
        pinned=True,
    )
    memory = entries.save(world.maintainer, world.bank, wanted).memory
    others = [
        Draft(text=f"Pump check {number}: pump checked.", tags=("pump",), origin=Origin.AGENT)
        for number in range(60)
    ]
    entries.save_many(world.editor, world.bank, others)
    assert memory.id not in {hit.memory.id for hit in ask(world, "pump checked").memories}
    for filters in (
        Filters(category=Category.EVENTS),
        Filters(kind=Kind.EPISODIC),
        Filters(tags=("pump", "check")),
        Filters(tags=("check", "never"), any_tag=True),
        Filters(origin=Origin.USER_MESSAGE),
        Filters(until=day + timedelta(milliseconds=1)),
        Filters(since=day, until=day + timedelta(days=1)),
        Filters(pinned=True),
    ):
        hits = ask(world, "pump checked", limit=1, filters=filters).memories
        assert [hit.memory.id for hit in hits] == [memory.id], filters
    for nothing in (
        Filters(tags=("pump", "never")),
        Filters(until=day),
        Filters(kind=Kind.PROCEDURAL),
    ):
        assert ask(world, "pump checked", filters=nothing).memories == []


# field case A45
@pytest.mark.wide
def test_a_recall_costs_the_same_queries_at_every_size(world: World) -> None:
    def cost() -> int:
        # The configuration is one of them, once in a call.
        with config.once(), CaptureQueriesContext(connection) as captured:
            assert ask(world, "valve serviced").memories
        return len(captured)

    save(world, "Valve 0 is serviced.")
    ask(world, "valve")
    few = cost()
    drafts = [Draft(text=f"Valve {number} is serviced.") for number in range(1, 120)]
    entries.save_many(world.editor, world.bank, drafts)
    ask(world, "valve")
    assert cost() == few <= 5


# field case A45
@pytest.mark.wide
@pytest.mark.usefixtures("usual_gc")
def test_open_files_stay_few_over_many_recalls(world: World) -> None:
    def open_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    counts = []
    for number in range(30):
        save(world, f"Valve {number} is serviced.")
        ask(world, "valve")
        counts.append(open_files())
    assert max(counts) - min(counts) < 2 * indexer.TOO_MANY_SEGMENTS
    before = open_files()
    for _ in range(50):
        ask(world, "valve")
    assert open_files() == before


# field case A46
def test_a_save_is_recalled_when_its_call_returns(world: World) -> None:
    for number in range(5):
        memory = save(world, f"Gauge {number} reads {number} bar.").memory
        told = ask(world, f"gauge {number}")
        assert told.memories[0].memory == memory
        assert told.index == IndexState("ok", 0)


def test_signals_add_up_and_say_why(world: World) -> None:
    plain = save(world, "Kiln 4 is hot.").memory
    loved = save(world, "Kiln 5 is hot.", entities=("anna",), pinned=True).memory
    save(world, "Kiln 5 is hot.")
    told = ask(world, "is anna's kiln hot")
    by_id = {hit.memory.id: hit for hit in told.memories}
    assert told.retrieval == "bm25-entity"
    for hit in told.memories:
        assert sum(hit.signals.values()) == pytest.approx(hit.score)
        assert hit.signals.keys() == {
            "text", "entity", "corroboration", "recency", "pin", "meaning",
        }  # fmt: skip
    assert told.memories[0].memory.id == loved.id
    assert by_id[loved.id].signals["entity"] > by_id[plain.id].signals["entity"] == 0
    assert by_id[loved.id].signals["pin"] > by_id[plain.id].signals["pin"] == 0
    assert by_id[loved.id].signals["corroboration"] > 0


def test_the_order_of_equal_memories_is_total(world: World) -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    ids = []
    for number in range(8):
        with seams.replaced(now=lambda: now):
            ids.append(save(world, f"Gauge reads {'bcdefghj'[number]} bar.").memory.id)
    with seams.replaced(now=lambda: now + timedelta(days=1)):
        newest = save(world, "Gauge reads x bar.").memory.id
        found = [hit.memory.id for hit in ask(world, "gauge bar", limit=9).memories]
        lexical = ask(world, "gauge bar", limit=9, mode="lexical")
    assert found == [newest, *sorted(ids)]
    assert [hit.memory.id for hit in lexical.memories] == found


def test_lexical_is_the_score_of_the_text_alone(world: World) -> None:
    save(world, "Kiln 4 is hot.", pinned=True)
    told = ask(world, "kiln", mode="lexical")
    [hit] = told.memories
    assert told.retrieval == "lexical"
    assert hit.score == hit.signals["text"] > 0
    assert sum(hit.signals.values()) == hit.score


def test_without_an_embedder_semantic_says_so(world: World) -> None:
    save(world, "Kiln 4 is hot.")
    told = ask(world, "kiln", mode="semantic")
    assert (told.memories, told.retrieval) == ([], "semantic-unavailable")


def test_the_limit_is_kept(world: World) -> None:
    save_all(world, (f"Kiln {number} is hot." for number in range(8)))
    assert len(texts(world, "kiln")) == config.current().recall_limit
    assert len(texts(world, "kiln", limit=8)) == 8
    assert texts(world, "kiln", limit=0) == []
    for limit in (-1, 101):
        with pytest.raises(errors.Invalid):
            ask(world, "kiln", limit=limit)


def test_a_token_without_the_scope_may_not_recall(world: World) -> None:
    token = Principal(handle="token:x", token_id=1, is_admin=True, scopes=frozenset())
    with pytest.raises(errors.ScopeMissing):
        recall(token, world.bank, "kiln")


def test_reading_changes_nothing(world: World) -> None:
    save(world, "Kiln 4 is hot.")
    before = list(Entry.objects.filter(bank=world.bank).values())
    ask(world, "kiln")
    world.bank.refresh_from_db()
    assert list(Entry.objects.filter(bank=world.bank).values()) == before
    assert indexer.standing(world.bank) == IndexState("ok", 0)


def test_a_question_for_the_newest_prefers_what_was_stated_last(world: World) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    said = [
        "The oven setting of the bakery is a low one, 180 degrees.",
        "The oven setting of the bakery is high, of the bakery on the hill, with two doors.",
    ]
    for number, text in enumerate(said):
        moment = start + timedelta(days=200 * number)
        with seams.replaced(now=lambda moment=moment: moment):  # type: ignore[misc]  # a default binds
            save(world, text)
    with seams.replaced(now=lambda: start + timedelta(days=201)):
        assert texts(world, "oven setting of the bakery, low")[0] == said[0]
        assert texts(world, "latest oven setting of the bakery")[0] == said[1]


def test_a_question_for_a_time_prefers_what_tells_one(world: World) -> None:
    said = [
        "The audit of kiln 4 was passed, the audit.",
        "The audit of kiln 4 took place on Monday.",
    ]
    for text in said:
        save(world, text)
    assert texts(world, "who did the audit of kiln 4")[0] == said[0]
    assert texts(world, "when was the audit of kiln 4")[0] == said[1]


def test_a_statement_is_preferred_to_the_question_that_it_answers(world: World) -> None:
    said = ["Which oil does kiln 4 take?", "Kiln 4 and kiln 5, like the press, take the green oil."]
    for text in said:
        save(world, text)
    assert texts(world, "which oil does kiln 4 take")[0] == said[1]
    assert texts(world, "which oil does kiln 4 take", mode="lexical")[0] == said[0]


def test_the_rows_answer_while_there_is_no_index(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexer, "MOST_ROWS_AT_ONCE", 0)
    save(world, "Leaking valves are closed 100% of the time.", tags=("valve",))
    save(world, "The valve of kiln 4 leaks.")
    gone = save(world, "The valve of kiln 5 leaks.").memory
    save(world, "The crane_3 is slow.")
    entries.delete(world.editor, world.bank, gone.id)
    told = ask(world, "which kiln has leaking valves?")
    assert [hit.memory.text for hit in told.memories] == [
        "The valve of kiln 4 leaks.",
        "Leaking valves are closed 100% of the time.",
    ]
    assert (told.retrieval, told.index.state) == ("lexical", "unavailable")
    assert told.index.lag == world.bank.head
    assert all(sum(hit.signals.values()) == pytest.approx(hit.score) for hit in told.memories)
    assert texts(world, "valve", filters=Filters(tags=("valve",))) == [told.memories[1].memory.text]
    assert texts(world, "%") == []
    assert texts(world, "kiln 5") == ["The valve of kiln 4 leaks."]
    assert "The valve of kiln 5 leaks." in texts(world, "kiln 5", include_superseded=True)


def test_a_hand_edit_is_recalled_after_the_look(world: World) -> None:
    save(world, "Kiln 4 is hot.")
    assert texts(world, "kiln") == ["Kiln 4 is hot."]
    file = Path(settings.DATA_DIR) / "ops" / "semantic_memory" / "facts.md"
    file.write_bytes(file.read_bytes().replace(b"Kiln 4", b"Oven 4"))
    sync.look(world.bank, force=True)
    assert texts(world, "kiln") == []
    assert texts(world, "oven") == ["Oven 4 is hot."]


@pytest.mark.django_db(transaction=True)
def test_threads_share_an_index(world: World) -> None:
    save_all(world, (f"Valve {number} is new." for number in range(20)))
    indexer.catch_up(world.bank)
    index, answers = indexer.index_of(world.bank), []

    def search() -> None:
        for _ in range(20):
            answers.append(len(index.search(["valv"], limit=50)))

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [20] * 80
    assert queries.list_memories(world.bank, Filters()).total == 20
