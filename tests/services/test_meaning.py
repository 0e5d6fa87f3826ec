"""Meaning: what says the same in other words is found, and what is dead, foreign, filtered out or
of another model is not. Nothing waits for it."""

import threading
from collections.abc import Iterator

import pytest

from banks import errors, jobs
from banks.outbox import Job
from banks.queries import Filters
from banks.services import banks, configuration, entries
from banks.services.drafts import Draft, Patch
from banks.store.types import Category
from recall import doctor, indexer, meaning
from recall.indexer import IndexState
from recall.meaning import MeaningState, asking, filling, kept
from recall.meaning.local import LocalEmbedder
from recall.services import Recalled, explain, preview, recall
from tests.builders import World, save
from tests.embeddings import Topical, fill

HOT = "The furnace is hot."


@pytest.fixture(autouse=True)
def embedder() -> Iterator[Topical]:
    """An embedder that knows some words, and nothing of an earlier test."""
    topical = Topical()
    with meaning.replaced(topical):
        yield topical


def ask(world: World, query: str, **options: object) -> Recalled:
    return recall(world.viewer, world.bank, query, **options)  # type: ignore[arg-type]  # options by name


def texts(world: World, query: str, **options: object) -> list[str]:
    return [hit.memory.text for hit in ask(world, query, **options).memories]


def test_what_says_the_same_in_other_words_is_found_and_signals_add_up(world: World) -> None:
    for text in (HOT, "The oven of hall 3 smokes.", "The crane is slow.", "Smoke is bad."):
        save(world, text)
    fill()
    told = ask(world, "kiln smoke")
    assert (told.retrieval, told.meaning) == ("bm25-entity-semantic", MeaningState("ok", 0))
    by_text = {hit.memory.text: hit for hit in told.memories}
    assert told.memories[0].memory.text == "The oven of hall 3 smokes."
    assert by_text.keys() == {HOT, "The oven of hall 3 smokes.", "Smoke is bad."}
    for hit in told.memories:
        assert sum(hit.signals.values()) == pytest.approx(hit.score)
    assert by_text[HOT].signals["text"] == 0 < by_text[HOT].signals["meaning"]
    assert by_text["Smoke is bad."].signals["meaning"] == 0


def test_a_question_about_something_else_brings_nothing(world: World) -> None:
    save(world, HOT)
    fill()
    assert texts(world, "pump pressure") == []
    given = preview(world.viewer, world.bank, "pump pressure").given
    assert [each.ambient for each in given.memories] == [True]


def test_a_turn_is_given_what_is_near_without_a_word_in_common(world: World) -> None:
    save(world, HOT)
    save(world, "The crane is slow.")
    fill()
    given = preview(world.viewer, world.bank, "Which kilns do we have?").given
    [hit] = [each for each in given.memories if not each.ambient]
    assert (hit.memory.text, given.retrieval) == (HOT, "bm25-entity-semantic")


def test_the_mode_semantic_is_the_cosine_alone(world: World) -> None:
    save(world, HOT, pinned=True)
    save(world, "Kiln and crane.")
    fill()
    told = ask(world, "kiln", mode="semantic")
    assert (told.retrieval, told.meaning) == ("semantic", MeaningState("ok", 0))
    assert [hit.memory.text for hit in told.memories] == [HOT, "Kiln and crane."]
    for hit in told.memories:
        assert hit.score == hit.signals["meaning"] == sum(hit.signals.values()) > 0.45
    assert ask(world, "?!", mode="semantic").memories == []
    assert ask(world, "kiln", mode="lexical").meaning is None


def test_dead_filtered_out_and_foreign_memories_take_no_slot(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recall.services.recalling.pool_size", lambda limit: limit + 1)
    other, _ = banks.create(world.admin, "other")
    foreign = entries.save(world.admin, other, Draft(text="A furnace elsewhere."))
    wanted = save(world, "Furnace and pump.", category="events", tags=("x",)).memory.id
    gone = [save(world, f"Furnace {number}.").memory.id for number in range(9)]
    fill()
    for key in gone[:8]:
        entries.delete(world.editor, world.bank, key)

    def found(**options: object) -> list[str]:
        return [hit.memory.id for hit in ask(world, "kiln", **options).memories]

    assert found(limit=1) == [gone[8]]
    assert set(found()) == {gone[8], wanted}
    for filters in (Filters(category=Category.EVENTS), Filters(tags=("x",))):
        assert found(limit=1, filters=filters) == [wanted]
        assert found(limit=1, filters=filters, mode="semantic") == [wanted]
    assert set(found(limit=20, include_superseded=True)) == {*gone, wanted}
    assert foreign.memory.id not in found(limit=20)


def test_a_save_waits_for_no_vector_and_an_answer_says_what_is_missing(
    world: World, embedder: Topical
) -> None:
    save(world, "The kiln is old.")
    fill()
    key = save(world, HOT).memory.id
    assert HOT not in embedder.asked
    told = ask(world, "kiln")
    assert (told.meaning, told.index) == (MeaningState("behind", 1), IndexState("ok", 0))
    assert [hit.memory.text for hit in told.memories] == ["The kiln is old."]
    why = explain(world.viewer, world.bank, "kiln", key)
    assert (why.reasons, why.meaning) == (["no_match"], MeaningState("behind", 1))
    assert fill() == 1
    why = explain(world.viewer, world.bank, "kiln", key)
    assert (why.is_hit, why.rank, why.retrieval) == (True, 2, "bm25-entity-semantic")
    assert why.signals is not None
    assert why.signals["meaning"] > 0


def test_each_text_is_embedded_once(world: World, embedder: Topical) -> None:
    key = save(world, HOT).memory.id
    save(world, HOT, category="events")
    assert fill() == 1
    entries.delete(world.editor, world.bank, key)
    save(world, "The crane is slow.")
    assert fill() == 1
    assert fill() == 0
    assert sorted(embedder.asked) == ["The crane is slow.", HOT]


def test_vectors_of_one_model_are_not_used_for_another(world: World, embedder: Topical) -> None:
    save(world, HOT)
    fill()
    # The same words as numbers in another order: cosines would say that a crane is a kiln.
    with meaning.replaced(Topical(identity="other", order=-1)):
        told = ask(world, "kiln", mode="semantic")
        assert (told.memories, told.meaning) == ([], MeaningState("behind", world_head(world)))
        fill()
        assert texts(world, "kiln", mode="semantic") == [HOT]
    told = ask(world, "kiln", mode="semantic")
    assert (told.memories, told.meaning) == ([], MeaningState("behind", world_head(world)))
    fill()
    assert texts(world, "kiln", mode="semantic") == [HOT]


def world_head(world: World) -> int:
    world.bank.refresh_from_db()
    return world.bank.head


def test_a_server_that_changes_the_size_of_its_vectors_is_asked_for_all_again(
    world: World, embedder: Topical
) -> None:
    save(world, HOT)
    fill()
    embedder.order = 2
    save(world, "The crane is slow.")
    # The job that notices begins anew in the same run of the worker.
    assert fill() == 2
    told = ask(world, "kiln", mode="semantic")
    assert [hit.memory.text for hit in told.memories] == [HOT]
    assert told.meaning == MeaningState("ok", 0)


# field case A48
def test_after_a_change_of_the_vectors_words_answer_and_all_are_made_again(
    world: World, embedder: Topical
) -> None:
    save(world, "The kiln is old.")
    for number in range(20):
        save(world, f"Furnace {number} is hot.")
    fill()
    assert len(texts(world, "kiln", limit=30)) == 21
    embedder.order = 2
    for state in ("unavailable", "behind"):
        told = ask(world, "old kiln", limit=30)
        assert [hit.memory.text for hit in told.memories] == ["The kiln is old."]
        assert told.retrieval == "bm25-entity"
        assert told.meaning is not None
        assert (told.meaning.state, told.meaning.lag) == (state, world_head(world))
        assert ask(world, "old kiln", mode="semantic").retrieval == "semantic-unavailable"
    fill()
    told = ask(world, "old kiln", limit=30)
    assert (len(told.memories), told.meaning) == (21, MeaningState("ok", 0))
    assert told.retrieval == "bm25-entity-semantic"


@pytest.mark.parametrize(
    "error", [errors.ModelUnavailable(), errors.ModelRefused(401, "x"), errors.ReplyUnusable()]
)
def test_an_embedder_that_fails_costs_the_meaning_and_rests(
    world: World, embedder: Topical, error: Exception
) -> None:
    save(world, "The kiln is hot.")
    fill()
    embedder.script = [error]
    for _ in range(2):
        told = ask(world, "kiln")
        assert (told.retrieval, len(told.memories)) == ("bm25-entity", 1)
        assert told.meaning == MeaningState("unavailable", 0)
    told = ask(world, "kiln", mode="semantic")
    assert (told.memories, told.retrieval) == ([], "semantic-unavailable")


def test_an_embedder_that_is_late_is_not_waited_for(
    world: World, embedder: Topical, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(world, "The kiln is hot.")
    fill()
    done, answer = threading.Event(), embedder.embed

    def late(asked: list[str], *, timeout_s: float) -> object:
        done.wait(5)
        return answer(asked, timeout_s=timeout_s)

    monkeypatch.setattr(embedder, "embed", late)
    monkeypatch.setattr(asking, "QUERY_S", 0.01)
    assert ask(world, "kiln").retrieval == "bm25-entity"
    done.set()
    monkeypatch.setattr(asking, "QUERY_S", 5)
    assert ask(world, "kiln").retrieval == "bm25-entity-semantic"


def test_a_fill_that_fails_is_tried_again(world: World, embedder: Topical) -> None:
    save(world, HOT)
    embedder.script = [errors.ModelRefused(401, "its settings")]
    fill()
    job = Job.objects.get()
    assert (job.state, job.kind, "its settings" in job.error) == (Job.State.READY, "meaning", True)
    jobs.hurry("meaning", dedup=str(world.bank.pk))
    jobs.work_off()
    assert texts(world, "kiln") == [HOT]


def test_one_text_that_is_refused_does_not_keep_the_others_out(
    world: World, embedder: Topical, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in (HOT, "x" * 99, "The crane is slow."):
        save(world, text)
    answer = embedder.embed

    def picky(asked: list[str], *, timeout_s: float) -> object:
        if any(len(text) > 50 for text in asked):
            raise errors.ModelRefused(400, "its settings")
        return answer(asked, timeout_s=timeout_s)

    monkeypatch.setattr(embedder, "embed", picky)
    fill()
    assert (texts(world, "kiln"), texts(world, "hoist")) == ([HOT], ["The crane is slow."])


def test_damage_is_made_good(world: World) -> None:
    save(world, HOT)
    fill()
    [path] = (indexer.folder_of(world.bank) / "meaning").glob("*.vectors")
    path.write_bytes(b"\0" * path.stat().st_size)
    told = ask(world, "kiln")
    assert (told.memories, told.meaning) == ([], MeaningState("behind", world_head(world)))
    fill()
    assert texts(world, "kiln") == [HOT]


def test_what_is_gone_is_swept_out(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filling, "SPARE", 0)
    key = save(world, "Kiln 0.").memory.id
    for number in range(1, 5):
        entries.update(world.editor, world.bank, key, Patch(text=f"Kiln {number}."))
        fill()
    current = meaning.current()
    assert current is not None
    assert kept.vectors_of(world.bank, current).count() <= 3
    assert texts(world, "furnace") == ["Kiln 4."]


def test_meaning_can_be_switched_off(world: World) -> None:
    save(world, HOT)
    fill()
    configuration.change(world.admin, {"embeddings_enabled": False})
    told = ask(world, "kiln")
    assert (told.memories, told.retrieval, told.meaning) == ([], "bm25-entity", None)
    assert fill() == 0


def test_without_the_packages_the_local_model_says_what_to_do(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recall.meaning.local._PACKAGE", "gt_none")
    save(world, "The kiln is hot.")
    with meaning.replaced(LocalEmbedder()):
        told = ask(world, "kiln")
        [check] = [each for each in doctor.checks() if each.name == "embedder"]
    assert (told.retrieval, told.meaning) == ("bm25-entity", MeaningState("unavailable", 2))
    assert (check.ok, check.required) == (False, False)
    assert "make setup-semantic" in check.detail
