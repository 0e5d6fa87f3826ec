"""Lines for the rule `learned` wait for a person, who accepts, edits or rejects them."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from banks import errors, queries, seams
from banks.access import Scope
from banks.models import Bank
from banks.services import banks, learning, rules
from recall.learning import claims, proposals
from recall.learning.proposals import Proposed
from recall.models import Proposal
from tests.builders import World

RULE = "Always answer in bar."


@pytest.fixture
def waiting(world: World) -> Proposed:
    """A proposal in the bank `ops`."""
    assert propose(world, RULE) == 1
    return proposals.listed(world.maintainer)[0][0]


def propose(world: World, *lines: str) -> int:
    return proposals.propose(world.bank, lines, session="chat", by=world.editor.handle)


def learned(bank: Bank) -> str:
    return next((each.content for each in queries.rules(bank) if each.name == "learned"), "")


def test_an_accepted_line_is_a_bullet_of_the_rule(world: World, waiting: Proposed) -> None:
    rules.set_rule(world.maintainer, world.bank, "learned", "Mind:\n\n* Ask first.\n\n")
    told = proposals.accept(world.maintainer, waiting.id)
    assert (told.state, told.decided_by) == ("accepted", world.maintainer.handle)
    assert learned(world.bank) == f"Mind:\n\n* Ask first.\n- {RULE}\n"
    assert proposals.listed(world.maintainer)[0] == []
    assert proposals.listed(world.maintainer, state="accepted")[0] == [told]


def test_a_line_can_be_accepted_in_other_words(world: World, waiting: Proposed) -> None:
    secret = "sk-test-0000000000000000000000000000"
    told = proposals.accept(world.maintainer, waiting.id, text=f"Answer\nin bar, key {secret}.")
    assert (told.state, told.text) == ("edited", "Answer in bar, key [redacted:api-key].")
    assert learned(world.bank) == f"- {told.text}\n"
    assert propose(world, RULE) == 0


def test_what_was_rejected_is_not_asked_again(world: World, waiting: Proposed) -> None:
    told = proposals.reject(world.maintainer, waiting.id, reason=" no \n need ")
    assert (told.state, told.reason) == ("rejected", "no need")
    assert propose(world, "always answer  in BAR") == 0
    assert learned(world.bank) == ""


def test_what_the_rule_holds_or_what_waits_is_not_asked(world: World, waiting: Proposed) -> None:
    assert propose(world, RULE, RULE.upper()) == 0
    proposals.accept(world.maintainer, waiting.id)
    assert propose(world, RULE) == 0
    rules.set_rule(world.maintainer, world.bank, "learned", "")
    assert propose(world, RULE) == 1


def test_a_proposal_is_decided_once(world: World, waiting: Proposed) -> None:
    proposals.reject(world.maintainer, waiting.id)
    with pytest.raises(errors.ProposalDecided):
        proposals.accept(world.maintainer, waiting.id)
    assert learned(world.bank) == ""


@pytest.mark.parametrize("text", ["ab", "x" * 501, "  ", "a\x00bc"])
def test_words_that_are_no_line_are_refused(world: World, waiting: Proposed, text: str) -> None:
    with pytest.raises(errors.Invalid):
        proposals.accept(world.maintainer, waiting.id, text=text)
    assert proposals.listed(world.maintainer)[0] == [waiting]


def test_only_who_maintains_the_bank_sees_and_decides(world: World, waiting: Proposed) -> None:
    for who in (world.editor, world.stranger):
        with pytest.raises(errors.ProposalNotFound):
            proposals.accept(who, waiting.id)
        assert proposals.listed(who)[0] == []
    token = replace(world.maintainer, token_id=1, scopes=frozenset({Scope.RULES_WRITE}))
    for decide in (proposals.accept, proposals.reject):
        with pytest.raises(errors.ScopeMissing):
            decide(token, waiting.id)
    with pytest.raises(errors.Forbidden):
        proposals.listed(world.editor, world.bank)[0]
    for key in ("", "1", f"{waiting.id}0"):
        with pytest.raises(errors.ProposalNotFound):
            proposals.reject(world.admin, key)
    banks.trash(world.admin, world.bank)
    with pytest.raises(errors.ProposalNotFound):
        proposals.accept(world.maintainer, waiting.id)


def test_nobody_decides_while_another_one_does(
    world: World, waiting: Proposed, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = learning.add_line

    def and_meanwhile(*given: Any) -> None:
        for decide in (proposals.reject, proposals.accept):
            with pytest.raises(errors.ProposalDecided):
                decide(world.maintainer, waiting.id)
        write(*given)

    monkeypatch.setattr(learning, "add_line", and_meanwhile)
    assert proposals.accept(world.maintainer, waiting.id).state == "accepted"
    assert learned(world.bank) == f"- {RULE}\n"


def test_a_decision_that_failed_or_was_killed_can_be_made_anew(
    world: World, waiting: Proposed, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(learning, "add_line", refused)
        with pytest.raises(errors.StoreBusy):
            proposals.accept(world.maintainer, waiting.id)
    Proposal.objects.update(decided_at=seams.now())  # as a process leaves it that is killed now
    with pytest.raises(errors.ProposalDecided):
        proposals.accept(world.maintainer, waiting.id)
    later = seams.now() + claims.CLAIM + timedelta(seconds=1)
    with seams.replaced(now=lambda: later):
        assert proposals.listed(world.maintainer)[0][0].decided_at is None
        assert proposals.accept(world.maintainer, waiting.id).state == "accepted"


def refused(*_: Any) -> None:
    raise errors.StoreBusy


def test_one_is_read_and_all_are_counted_whatever_became_of_them(
    world: World, waiting: Proposed
) -> None:
    propose(world, "Close valve 3 first.")
    proposals.reject(world.maintainer, waiting.id)
    assert proposals.one(world.maintainer, waiting.id).state == "rejected"
    assert proposals.counts(world.bank) == {"rejected": 1, "waiting": 1}
    for key, who in (("none", world.maintainer), (waiting.id, world.editor)):
        with pytest.raises(errors.ProposalNotFound):
            proposals.one(who, key)
