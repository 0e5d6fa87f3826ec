"""Turns that have ended become memories and proposals, once, whatever model and queue do."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pytest_django import Settings

from banks import errors, jobs, queries, seams, sync
from banks.access import Principal, Role, Scope
from banks.jobs import queue
from banks.models import AccessToken, Bank, Change
from banks.outbox import Job
from banks.queries import Filters, Memory
from banks.services import banks, configuration, entries, members, rules, sessions, tokens
from banks.store.types import Category, Trust
from recall import doctor
from recall.learning import extraction, llm, proposals, turns
from recall.learning.llm import prompts
from recall.learning.turns import Ended
from recall.models import Listening, Proposal, Turn
from recall.services import Step, pre_generate
from tests import byhand
from tests.builders import World, save
from tests.chat import Scripted, array, element

KILN = "The purge of kiln 4 takes 20 minutes."
RULE = "Always answer in bar."


@pytest.fixture
def model() -> Iterator[Scripted]:
    """A model that answers as scripted."""
    scripted = Scripted()
    with llm.replaced(scripted), seams.replaced(chance=lambda: 0.5):
        yield scripted


@pytest.fixture
def who(world: World) -> Principal:
    """The editor, whose sessions use the bank `ops`."""
    sessions.select(world.editor, "chat", world.bank)
    return world.editor


def user(text: str, key: str) -> dict[str, str]:
    return {"id": key, "role": "user", "text": text}


def ended(*messages: dict[str, Any], turn: object = "t1", **more: Any) -> Ended:
    return Ended(session_id="chat", turn_id=turn, messages=list(messages) or None, **more)


def learn(who: Principal, *messages: dict[str, Any], **more: Any) -> Job:
    """Tell of a turn and run its job."""
    turns.completed(who, ended(*messages, **more))
    jobs.work_off()
    return Job.objects.latest("pk")


def known(bank: Bank) -> dict[str, Memory]:
    """Live memories by their text."""
    return {each.text: each for each in queries.list_memories(bank, Filters(), limit=100).memories}


def learned(bank: Bank) -> str:
    return next((each.content for each in queries.rules(bank) if each.name == "learned"), "")


class KilledError(BaseException):
    """The worker is no more: nothing catches it."""


def killed(*_: object, **__: object) -> None:
    raise KilledError


def set_up(bank: Bank, text: str) -> None:
    """Lines of the bank's own bank.yaml."""
    byhand.write("bank.yaml", text)
    sync.reload(bank)


def test_a_turn_becomes_memories_with_their_source(
    world: World, who: Principal, model: Scripted
) -> None:
    model.script = [
        array(
            element(KILN, tags=["Kiln"], entities=["Kiln 4"]),
            element("Valve 2 sticks.", "errors", quote="valve 2 is stuck"),
            element("Ana repairs pumps.", "nonsense", quote="nobody said so"),
        )
    ]
    job = learn(who, user(KILN, "e1"), {"id": "e2", "role": "tool", "text": "valve 2 is stuck"})
    assert (job.state, job.outcome) == (Job.State.DONE, "done")
    memories = known(world.bank)
    kiln, valve, ana = memories[KILN], memories["Valve 2 sticks."], memories["Ana repairs pumps."]
    assert kiln.source is not None
    assert (kiln.source.session_id, kiln.source.entry_id) == ("chat", "e1")
    assert (kiln.confidence, kiln.origin, kiln.tags) == ("extracted", "user_message", ["kiln"])
    assert (valve.category, valve.confidence, valve.origin) == ("errors", "inferred", "tool_result")
    assert (ana.category, ana.confidence, ana.origin) == ("facts", "inferred", "agent")
    assert not Turn.objects.exists()
    assert Change.objects.latest("pk").actor == who.handle


# field case A33
def test_the_model_is_asked_for_the_language_of_the_source(
    world: World, who: Principal, model: Scripted
) -> None:
    text = "O forno 3 deve ficar a 860 graus até sexta-feira."
    model.script = [array(element(text))]
    learn(who, user(text, "e1"))
    assert "in the language of the message" in prompts.EXTRACTION
    assert list(known(world.bank)) == [text]


def test_a_known_memory_is_reinforced_and_a_pinned_or_dead_one_left_alone(
    world: World, who: Principal, model: Scripted
) -> None:
    texts = ["Pump 1 is new.", "Pump 2 is new.", "Pump 3 is new.", "Pump 4 is new."]
    first, pinned, dead, old = (save(world, text).memory for text in texts)
    entries.pin(world.editor, world.bank, pinned.id, pinned=True)
    entries.delete(world.editor, world.bank, dead.id)
    entries.supersede(world.editor, world.bank, old.id, first.id)
    low = save(world, "Pump 5 is new.", trust=Trust.LOW).memory
    model.script = [array(*map(element, [*texts, "Pump 5 is new."]))]
    learn(who, user(" ".join([*texts, "Pump 5 is new."]), "e1"))
    now = {key: queries.memory(world.bank, key) for key in (pinned.id, dead.id, old.id, low.id)}
    assert queries.memory(world.bank, first.id).corroboration == 1
    assert now[pinned.id].revision == pinned.revision + 1
    assert now[dead.id].invalid_at
    assert now[old.id].superseded_by == first.id
    assert (now[low.id].corroboration, now[low.id].confidence) == (1, "inferred")
    assert len(known(world.bank)) == 3


def test_every_message_is_read_once_in_windows(
    world: World, who: Principal, model: Scripted
) -> None:
    configuration.change(world.admin, {"extraction_window": 4})
    messages = [user(f"Reading number {n}.", f"e{n}") for n in range(10)]
    learn(who, *messages[:7])
    learn(who, *messages, turn="t2")
    learn(who, *messages, turn="t3")
    assert [len(window) for window in model.asked] == [4, 3, 3]
    assert model.texts == [each["text"] for each in messages]


def test_a_turn_is_queued_once_and_teaches_so_much_at_most(
    world: World, who: Principal, model: Scripted
) -> None:
    configuration.change(world.admin, {"extraction_window": 1, "max_memories_per_turn": 3})
    texts = [f"Reading number {n}." for n in range(6)]
    model.script = [array(*map(element, texts[:2])), array(*map(element, texts[2:]))]
    sent = ended(*(user(text, text[-2]) for text in texts))
    assert [turns.completed(who, sent), turns.completed(who, sent)] == ["queued", "nothing new"]
    assert Job.objects.count() == 1
    jobs.work_off()
    assert sorted(known(world.bank)) == texts[:3]
    assert len(model.asked) == 2


# field case A32
def test_a_model_that_fails_is_asked_again_and_nothing_is_lost(
    world: World, who: Principal, model: Scripted
) -> None:
    clock = datetime(2026, 11, 30, 12, tzinfo=UTC)
    model.script = [
        errors.ModelUnavailable("Too many.", retry_after_s=120),
        errors.ModelUnavailable("Too slow."),
        array(element(KILN)),
    ]
    with seams.replaced(now=lambda: clock):
        job = learn(who, user(KILN, "e1"))
        assert (job.state, job.error) == (Job.State.READY, "ModelUnavailable: Too many.")
        assert job.run_at == clock + timedelta(seconds=120)
        for _ in range(2):
            clock += timedelta(minutes=10)
            jobs.work_off()
    assert list(known(world.bank)) == [KILN]


# field case A30
def test_an_answer_that_cannot_be_used_ends_as_a_dead_letter_that_runs_again(
    world: World, who: Principal, model: Scripted
) -> None:
    model.script = ["", "Nothing.", "[1]", array(element(KILN))]
    job = learn(who, user(KILN, "e1"))
    for _ in range(3):
        Job.objects.update(run_at=seams.now())
        jobs.work_off()
    job.refresh_from_db()
    assert (job.state, job.attempts) == (Job.State.DEAD, 3)
    assert job.error == "ReplyUnusable: The model's list holds no memories."
    assert known(world.bank) == {}
    assert queue.revive(job.pk)
    jobs.work_off()
    assert list(known(world.bank)) == [KILN]


def test_what_cannot_be_kept_costs_itself_and_not_the_turn(
    world: World, who: Principal, model: Scripted, caplog: pytest.LogCaptureFixture
) -> None:
    model.script = [array({"text": "x" * 501, "quote": KILN})]
    with caplog.at_level("INFO", extraction.__name__):
        job = learn(who, user(KILN, "e1"))
    assert (job.state, job.error, len(model.asked)) == (Job.State.DONE, "", 1)
    assert known(world.bank) == {}
    assert "found=0 rejected=1 too long created=0" in caplog.text
    model.script = [array({"text": "ab"}, "x" * 501, element(KILN), {"text": "x" * 502})]
    turns.completed(who, ended(user(KILN, "e2"), turn="t2"))
    with caplog.at_level("INFO", extraction.__name__):
        told = extraction.run_now(replace(who, is_admin=True), "chat")
    assert (told.state, told.created, told.left) == ("done", 1, 3)
    assert "found=1 rejected=1 too short, 2 too long created=1" in caplog.text


def test_a_refused_key_is_no_matter_of_patience(
    world: World, who: Principal, model: Scripted
) -> None:
    model.script = [errors.ModelRefused(401)]
    job = learn(who, user(KILN, "e1"))
    assert job.state == Job.State.DEAD
    assert "status 401" in job.error


def test_a_job_that_died_before_it_noted_its_progress_writes_nothing_twice(
    world: World, who: Principal, model: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.script = [array(element(KILN), element(RULE, "rules")), array(element("Else."))]

    turns.completed(who, ended(user(f"{KILN} {RULE} Else.", "e1")))
    for module, name in ((proposals, "propose"), (extraction, "_advance")):
        with monkeypatch.context() as patched:
            patched.setattr(module, name, killed)
            with pytest.raises(KilledError):
                jobs.work_off()
        Job.objects.update(leased_until=seams.now())
    jobs.work_off()
    assert (list(known(world.bank)), Turn.objects.count()) == ([KILN], 0)
    assert [each.text for each in Proposal.objects.all()] == [RULE]
    assert known(world.bank)[KILN].corroboration == 0


def test_the_same_observation_again_counts_nothing(
    world: World, who: Principal, model: Scripted
) -> None:
    save(world, KILN)
    model.script = [array(element(KILN))] * 2
    learn(who, user(KILN, "e1"))
    Listening.objects.update(cursor="")
    learn(who, user(KILN, "e1"))
    assert known(world.bank)[KILN].corroboration == 1


def test_what_steps_have_shown_is_read_when_the_turn_brings_nothing(
    world: World, who: Principal, model: Scripted
) -> None:
    secret = "sk-test-0000000000000000000000000000"
    save(world, KILN)
    said = [{"role": "user", "content": f"use key {secret} for kiln 4"}]
    step = Step(session_id="chat", turn_id="t1", messages=said)
    given = pre_generate(who, step)
    assert given.mutations
    said += given.mutations.append_messages
    said += [{"role": "assistant", "content": "Which valve?"}]
    pre_generate(who, replace(step, step=1, messages=said))
    assert secret not in str(Listening.objects.values_list("messages", flat=True))
    learn(who, turn="t1")
    said += [{"role": "user", "content": "Valve 2."}]
    pre_generate(who, Step(session_id="chat", turn_id="t2", messages=said))
    learn(who, turn="t2")
    masked = "use key [redacted:api-key] for kiln 4"
    assert model.texts == [masked, "Which valve?", "Valve 2."]
    assert Listening.objects.get().messages == []


def test_a_turn_uses_the_bank_it_was_given_and_a_foreign_one_teaches_nothing(
    world: World, who: Principal, model: Scripted
) -> None:
    lab, _ = banks.create(world.admin, "lab")
    members.set_role(world.admin, lab, "editor", Role.EDITOR)
    for name, turn in (("lab", "t1"), ("none", "t2"), (None, "t3")):
        metadata = {"memory_bank": name} if name else None
        said = [user(f"Turn {turn} is here.", turn)]
        step = Step(session_id="chat", turn_id=turn, messages=said, metadata=metadata)
        pre_generate(who, step)
        model.script = [array(element(f"Turn {turn} is here."))]
        learn(who, *said, turn=turn)
    assert list(known(lab)) == ["Turn t1 is here."]
    assert list(known(world.bank)) == ["Turn t3 is here."]


def test_a_bank_in_the_trash_is_not_replaced_by_one_of_its_name(
    world: World, model: Scripted
) -> None:
    sessions.select(world.admin, "chat", world.bank)
    turns.completed(world.admin, ended(user(KILN, "e1")))
    banks.trash(world.admin, world.bank)
    banks.create(world.admin, "ops")
    jobs.work_off()
    assert (Job.objects.get().outcome, model.asked) == ("skipped: no bank", [])


def test_who_may_not_write_the_bank_any_more_teaches_nothing(world: World, model: Scripted) -> None:
    token, _ = tokens.create(
        world.editor, "agent", [Scope.HOOKS.value], owner_id=world.editor.user_id
    )
    mine = replace(world.editor, token_id=token.id, scopes=frozenset({Scope.HOOKS}))
    sessions.select(mine, "chat", world.bank)
    model.script = [array(element(KILN))]
    assert learn(mine, user(KILN, "e1")).outcome == "done"
    members.set_role(world.admin, world.bank, "editor", Role.VIEWER)
    assert learn(mine, user(KILN, "e2"), turn="t2").outcome == "skipped: no bank"
    AccessToken.objects.update(revoked_at=seams.now())
    assert learn(mine, user(KILN, "e3"), turn="t3").outcome == extraction.NOT_ALLOWED
    assert len(model.asked) == 1
    assert not Turn.objects.exists()


def test_a_sub_agent_teaches_its_parents_bank_and_makes_no_rule(
    world: World, who: Principal, model: Scripted
) -> None:
    links: list[dict[str, Any]] = [
        {"parent": {"session_id": "chat", "turn_id": "t1"}},
        {"parent_session_id": "chat"},
        {"parent": "chat"},
    ]
    for number, link in enumerate(links):
        text = f"Never open valve {number}."
        model.script = [array(element(text, "rules"))]
        sent = ended(user(text, f"e{number}"), turn=number, **link)
        turns.completed(who, replace(sent, session_id=f"below-{number}"))
        jobs.work_off()
    found = known(world.bank).values()
    assert {(each.category, each.confidence) for each in found} == {("facts", "inferred")}
    assert (len(found), Proposal.objects.count()) == (3, 0)


@pytest.mark.parametrize(
    ("lines", "rule", "asked", "remembered"),
    [
        ("", "", 1, []),
        ("learned_rules: nonsense\n", "", 1, []),
        ("learned_rules: auto\n", f"- Ask first.\n- {RULE}\n", 0, []),
        ("learned_rules: off\n", "", 0, [RULE]),
        ("rule_learning_enabled: false\nlearned_rules: auto\n", "", 0, [RULE]),
    ],
)
def test_a_standing_instruction_goes_where_the_bank_says(
    world: World, who: Principal, model: Scripted, lines: str, rule: str, asked: int,
    remembered: list[str],
) -> None:  # fmt: skip
    set_up(world.bank, lines)
    rules.set_rule(world.maintainer, world.bank, "house", "Close the valves.")
    if rule:
        rules.set_rule(world.maintainer, world.bank, "learned", "- Ask first.")
    model.script = [array(element(RULE, "rules"), element(RULE.lower(), "rules"))] * 2
    learn(who, user(RULE, "e1"))
    learn(who, user(RULE, "e2"), turn="t2")
    assert learned(world.bank) == rule
    assert Proposal.objects.count() == asked
    assert list(known(world.bank)) == remembered
    kept = {each.name: each.content for each in queries.rules(world.bank)}
    assert kept["house"] == "Close the valves."


def test_a_bank_can_be_left_out_of_learning(world: World, who: Principal, model: Scripted) -> None:
    set_up(world.bank, "extraction_enabled: false\n")
    job = learn(who, user(KILN, "e1"))
    assert (job.state, job.outcome) == (Job.State.DONE, "skipped: extraction is off")
    assert model.asked == []


def test_without_a_model_nothing_is_kept_and_everything_says_so(
    world: World, who: Principal
) -> None:
    said = [user(KILN, "e1")]
    pre_generate(who, Step(session_id="chat", turn_id="t1", messages=said))
    assert not Listening.objects.exists()
    assert turns.completed(who, ended(*said)) == "skipped: no model"
    assert Turn.objects.get().messages == []
    jobs.work_off()
    job = Job.objects.get()
    assert (job.state, job.outcome) == (Job.State.DONE, "skipped: no model")
    check = next(each for each in doctor.checks() if each.name == "model")
    assert (check.ok, check.required) == (False, False)
    assert "nothing is learned" in check.detail


def test_the_first_turn_makes_the_default_bank_for_who_may(
    world: World, settings: Settings, model: Scripted
) -> None:
    model.script = [array(element(KILN))]
    pre_generate(world.admin, Step(session_id="chat", messages=[user(KILN, "e1")]))
    assert learn(world.admin, turn=None).outcome == "done"
    assert list(known(Bank.objects.get(name="main"))) == [KILN]


def test_a_session_that_is_forgotten_takes_what_was_said_with_it(
    world: World, who: Principal, model: Scripted
) -> None:
    turns.completed(who, ended(user(KILN, "e1")))
    sessions.forget(who, "chat")
    jobs.work_off()
    assert (Job.objects.get().outcome, model.asked) == ("nothing new", [])


def test_a_reading_is_one_deed(world: World, who: Principal, model: Scripted) -> None:
    set_up(world.bank, "learned_rules: auto\n")
    model.script = [array(element(KILN), element("Pump 1 is new."), element(RULE, "rules"))]
    before = world.bank.head
    learn(who, user(f"{KILN} Pump 1 is new. {RULE}", "e1"))
    changes = Change.objects.filter(bank=world.bank, seq__gt=before, operation__act="learn")
    assert len({each.operation_id for each in changes}) == 1
    assert sorted(each.target for each in changes) == ["entry", "entry", "rule"]
    assert Category.RULES not in {each.category for each in known(world.bank).values()}
