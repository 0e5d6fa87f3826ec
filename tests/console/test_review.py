"""The review page: what waits, and what becomes of it."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from banks import queries, sync
from banks.access import Role
from banks.models import Bank
from banks.services import banks, entries, members
from banks.services.drafts import Patch
from recall.learning import llm, proposals
from recall.models import Proposal
from tests.builders import World, save
from tests.chat import Scripted, array
from tests.console.conftest import Browser, words
from tests.services.passes import consolidated, episode, live, told

PAGE = "/b/ops/review"
LINE = "Always open the damper first."


@pytest.fixture
def maintainer(browser: Browser) -> Client:
    return browser("maintainer")


def line(ops: World, text: str = LINE) -> str:
    """A line that waits; its id."""
    proposals.propose(ops.bank, [text], session="s1", by="token:agent")
    return Proposal.objects.latest("pk").uid


def merge(ops: World) -> str:
    """Two memories with the same words in another order, and their merge that waits; its id."""
    save(ops, "The pump of kiln 4 is primed by hand before noon.")
    save(ops, "Before noon the pump of kiln 4 is primed by hand.")
    consolidated(ops)
    return Proposal.objects.latest("pk").uid


def promotion(ops: World) -> str:
    """A fact that a model made of an episode, and that waits; its id."""
    happened = episode(ops, "Pump 1 was primed by hand.")
    answer = array(told("Pumps are primed by hand.", happened))
    with llm.replaced(Scripted([answer])):
        consolidated(ops)
    return Proposal.objects.latest("pk").uid


def failure(ops: World) -> str:
    """An error that came back, for a procedure, and that waits; its id."""
    steps = "## Steps\n\n1. Open the damper.\n\n## Known failures\n"
    save(ops, steps, category="procedure", title="Purge the kiln")
    for day in range(3):
        save(ops, f"The purge of the kiln timed out on day {day}.", category="errors")
    consolidated(ops)
    return Proposal.objects.latest("pk").uid


def accept(client: Client, key: str, **data: str) -> Any:
    return client.post(f"{PAGE}/{key}/accept", data)


def reject(client: Client, key: str, **data: str) -> Any:
    return client.post(f"{PAGE}/{key}/reject", data)


def test_an_empty_page_says_what_would_be_here_and_what_the_last_run_came_to(
    ops: World, maintainer: Client
) -> None:
    said = words(maintainer.get(PAGE))
    assert "Nothing waits" in said
    assert "No run has gone over this bank yet." in said
    consolidated(ops)
    assert "just now : done, nothing to do." in words(maintainer.get(PAGE))


def test_each_kind_says_what_it_was_made_from_and_what_agents_would_see(
    ops: World, maintainer: Client
) -> None:
    line(ops)
    for make in (merge, promotion, failure):
        make(ops)
    answer = maintainer.get(PAGE)
    said = words(answer)
    for text in (
        "A line for the rule learned", LINE, "Said in session s1", "by agent (token)",
        "Merge two memories into one", "The other one says the same words in another order.",
        "Stays", "Gives way",
        "New fact", "Pumps are primed by hand.", "Agents see it beside what it was made from.",
        "A known failure for a procedure", "It happened 3 times.", "Purge the kiln",
    ):  # fmt: skip
        assert text in said, text
    page = answer.content.decode()
    linked = set(re.findall(r'href="/m/ops/([^"]+)"', page))
    assert {each.id for each in live(ops.bank).values()} <= linked
    assert f"<ins>{LINE}</ins>" in page
    assert page.count("Edit and accept") == 3


def test_a_fact_that_replaces_another_one_shows_both_and_which_gives_way(
    ops: World, maintainer: Client
) -> None:
    before = save(ops, "Kiln 4 purges for 10 minutes.").memory
    happened = episode(ops, "The purge of kiln 4 took 20 minutes.")
    wish = told("Kiln 4 purges for 20 minutes.", happened, supersedes=[before.id])
    with llm.replaced(Scripted([array(wish)])):
        consolidated(ops)
    answer = maintainer.get(PAGE)
    assert "Agents see it instead of 1 other memory." in words(answer)
    assert "Gives way Kiln 4 purges for 10 minutes." in words(answer)
    assert "for <del>10</del><ins>20</ins> minutes." in answer.content.decode()


def test_the_tab_tells_how_many_wait_on_every_page_of_the_bank(
    ops: World, maintainer: Client, browser: Browser
) -> None:
    assert "Review Runs" in words(maintainer.get("/b/ops/memories"))
    line(ops)
    assert "Review 1 waiting" in words(maintainer.get("/b/ops/memories"))
    assert "Review" not in words(browser("editor").get("/b/ops/memories"))


def test_an_accepted_line_is_in_the_rule_and_its_undo_takes_it_out(
    ops: World, maintainer: Client
) -> None:
    answer = maintainer.post(f"{PAGE}/{line(ops)}/accept", {"next": PAGE}, follow=True)
    assert "Accepted. Running sessions are told with their next turn." in words(answer)
    assert [each.content for each in queries.rules(ops.bank)] == [f"- {LINE}\n"]
    (undo,) = re.findall(r'action="(/b/ops/undo/\w+)"', answer.content.decode())
    maintainer.post(undo)
    assert queries.rules(ops.bank) == []


def test_what_is_accepted_in_other_words_is_kept_in_these(ops: World, maintainer: Client) -> None:
    accept(maintainer, promotion(ops), text="Prime pumps by hand.\r\n")
    assert "Prime pumps by hand." in live(ops.bank)
    answer = maintainer.get(f"{PAGE}?state=edited")
    assert "accepted in other words" in words(answer)
    assert "To take it back, take back its run." in words(answer)


def test_a_merge_is_done_as_it_was_shown(ops: World, maintainer: Client) -> None:
    accept(maintainer, merge(ops))
    assert list(live(ops.bank)) == ["The pump of kiln 4 is primed by hand before noon."]


@pytest.mark.parametrize("text", ["", "x", "y" * 501])
def test_words_that_cannot_be_taken_are_handed_back_with_the_reason(
    ops: World, maintainer: Client, text: str
) -> None:
    key = line(ops)
    answer = accept(maintainer, key, text=text, next="/b/ops/review")
    assert answer.status_code == 422
    page = answer.content.decode()
    assert f'aria-invalid="true">\n{text}</textarea>' in page
    assert "Use 3 to 500 characters." in words(answer)
    assert 'name="next" value="/b/ops/review"' in page
    assert Proposal.objects.get(uid=key).state == "waiting"


def test_words_of_the_page_of_a_run_are_handed_back_there(ops: World, maintainer: Client) -> None:
    key = promotion(ops)
    run = Proposal.objects.get(uid=key).run
    assert run is not None
    answer = accept(maintainer, key, text="Pump 1 was primed by hand." * 900, run=run.uid)
    assert answer.status_code == 409
    assert "Figures" in words(answer)
    assert "It cannot be saved as it is" in words(answer)


def test_a_rejected_one_is_gone_with_its_reason_on_record(ops: World, maintainer: Client) -> None:
    answer = maintainer.post(
        f"{PAGE}/{line(ops)}/reject", {"reason": "Only for kiln 4."}, follow=True
    )
    assert "Rejected. The same is not proposed again." in words(answer)
    assert "Nothing waits" in words(answer)
    said = words(maintainer.get(f"{PAGE}?state=rejected"))
    assert "by maintainer Reason Only for kiln 4." in said


def test_a_decision_that_comes_too_late_is_told_and_keeps_what_was_typed(
    ops: World, maintainer: Client
) -> None:
    key = line(ops)
    proposals.reject(ops.owner, key)
    for act in (accept, reject):
        assert act(maintainer, key).status_code == 303
        assert "was accepted or rejected already" in words(maintainer.get(PAGE))
    late = accept(maintainer, key, text="Open the damper.")
    assert late.status_code == 409
    assert "was accepted or rejected already" in words(late)
    assert "What you typed, to keep Open the damper." in words(late)
    assert queries.rules(ops.bank) == []


def test_one_whose_memory_has_changed_is_stale_and_says_so(ops: World, maintainer: Client) -> None:
    key = merge(ops)
    stays = proposals.one(ops.maintainer, key).changes
    assert stays is not None
    entries.update(ops.editor, ops.bank, stays, Patch(text="The pump of kiln 4 is dry."))
    accept(maintainer, key)
    said = words(maintainer.get(PAGE))
    assert "A memory that it was made from has changed" in said
    assert "Stale 1" in said
    assert "stale: a memory that each was made from" in words(maintainer.get(f"{PAGE}?state=stale"))
    assert len(live(ops.bank)) == 2


def test_one_whose_memory_has_changed_is_not_offered_any_more(
    ops: World, maintainer: Client
) -> None:
    key = merge(ops)
    stays = proposals.one(ops.maintainer, key).changes
    assert stays is not None
    assert f"accept-{key}" in maintainer.get(PAGE).content.decode()
    entries.update(ops.editor, ops.bank, stays, Patch(text="The pump of kiln 4 is dry."))
    answer = maintainer.get(PAGE)
    assert f"accept-{key}" not in answer.content.decode()
    assert "Stale 1" in words(answer)


def test_a_pinned_memory_is_told_before_somebody_tries(ops: World, maintainer: Client) -> None:
    key = merge(ops)
    (loser,) = proposals.one(ops.maintainer, key).retires
    entries.pin(ops.editor, ops.bank, loser, pinned=True)
    assert "is pinned: unpin that one first" in words(maintainer.get(PAGE))


def test_a_part_is_the_page_without_its_frame(ops: World, maintainer: Client) -> None:
    key = line(ops)
    page = {"HX-Request": "true", "HX-Target": "page", "HX-Current-URL": f"http://testserver{PAGE}"}
    answer = maintainer.post(f"{PAGE}/{key}/accept", headers=page)
    assert answer["Location"] == PAGE
    part = maintainer.get(PAGE, headers=page)
    assert b"<html" not in part.content
    assert "Nothing waits" in words(part)
    assert 'hx-swap-oob="beforeend:#toasts"' in part.content.decode()


def test_who_may_not_decide_is_refused_and_strangers_learn_nothing(
    ops: World, browser: Browser
) -> None:
    key = line(ops)
    for who, status in (("viewer", 403), ("editor", 403), ("stranger", 404)):
        assert browser(who).get(PAGE).status_code == status
        assert accept(browser(who), key).status_code == status
        assert reject(browser(who), key).status_code == status
    assert Proposal.objects.get(uid=key).state == "waiting"


def test_a_proposal_of_another_bank_is_none_here(ops: World, browser: Browser) -> None:
    other, _ = banks.create(ops.admin, "annex")
    proposals.propose(other, [LINE], session="s1", by="token:agent")
    key = Proposal.objects.get().uid
    for act in (accept, reject):
        answer = act(browser("admin"), key)
        assert answer.status_code == 404
        assert "There is no such proposal in this bank." in words(answer)
        assert words(act(browser("admin"), "none")) == words(answer)
    assert Proposal.objects.get().state == "waiting"


def test_a_page_shows_twenty_and_more_of_them_take_no_more_queries(
    ops: World, maintainer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sync, "look", lambda _: None)  # at the files, once a second a bank
    maintainer.get(PAGE)  # notes in the session when it was begun

    def asked() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert "waiting" in words(maintainer.get(PAGE))
        return len(captured)

    promotion(ops)
    before = asked()
    merge(ops)
    proposals.propose(ops.bank, [f"Close valve {n}." for n in range(19)], session="s1", by="me")
    assert asked() == before
    answer = maintainer.get(PAGE)
    assert "20 of 21 waiting" in words(answer)
    more = re.findall(r'id="more" href="([^"]+)"', answer.content.decode())[0]
    assert "21 waiting" in words(maintainer.get(more.replace("&amp;", "&")))


EVERYWHERE = "/review"


@pytest.fixture
def annex(ops: World) -> Bank:
    """Another bank that the maintainer maintains, and one that they only edit; a line waits in
    each."""
    for name, role in (("annex", Role.MAINTAINER), ("attic", Role.EDITOR)):
        bank, _ = banks.create(ops.admin, name)
        members.set_role(ops.admin, bank, "maintainer", role)
        proposals.propose(bank, [f"Close valve 3 of the {name}."], session="s1", by="token:agent")
    return Bank.objects.get(name="annex")


def test_what_waits_in_all_banks_is_on_one_page_the_oldest_first(
    ops: World, annex: Bank, maintainer: Client, browser: Browser
) -> None:
    key = line(ops)
    answer = maintainer.get(EVERYWHERE)
    said = words(answer)
    assert "Review 2 waiting" in said
    assert "2 waiting, the oldest first" in said
    assert said.index("Close valve 3 of the annex.") < said.index(LINE)
    assert ("Bank annex" in said, "attic." in said) == (True, False)
    assert "Review 3 waiting" in words(browser("admin").get("/audit"))
    assert "Review" not in words(browser("editor").get("/audit"))
    assert "Nothing waits" in words(browser("editor").get(EVERYWHERE))
    answer = maintainer.post(f"{PAGE}/{key}/accept", {"next": EVERYWHERE}, follow=True)
    assert answer.redirect_chain == [(EVERYWHERE, 303)]
    assert "1 waiting, the oldest first" in words(answer)


def test_words_of_the_page_of_all_banks_are_handed_back_there(
    ops: World, annex: Bank, maintainer: Client
) -> None:
    answer = accept(maintainer, line(ops), text="x", next=EVERYWHERE)
    assert answer.status_code == 422
    assert "2 waiting, the oldest first" in words(answer)
    assert 'aria-invalid="true">\nx</textarea>' in answer.content.decode()


def test_a_bank_on_hold_is_read_on_the_page_of_all_banks_and_not_decided_about(
    ops: World, annex: Bank, maintainer: Client, settings: Settings
) -> None:
    line(ops)
    sync.look(annex, force=True)
    (settings.DATA_DIR / "annex" / "bank.yaml").unlink()
    sync.look(annex, force=True)
    page = maintainer.get(EVERYWHERE).content.decode()
    assert "Close valve 3 of the annex." in page
    assert re.findall(r'action="/b/(\w+)/review/\w+/accept" hx', page) == ["ops", "ops"]


def test_a_part_counts_what_waits_once_and_tells_the_side_too(
    ops: World, annex: Bank, maintainer: Client
) -> None:
    maintainer.get(EVERYWHERE)
    for address, most in ((EVERYWHERE, 1), (PAGE, 2)):
        current = f"http://testserver{address}"
        part = {"HX-Request": "true", "HX-Target": "page", "HX-Current-URL": current}
        with CaptureQueriesContext(connection) as captured:
            answer = maintainer.get(address, headers=part)
        counted = [each for each in captured if "COUNT" in each["sql"].upper()
                   and "proposal" in each["sql"]]  # fmt: skip
        assert len(counted) == most
        assert 'hx-swap-oob="outerHTML:.review-count">1<' in answer.content.decode()
    whole = maintainer.get(EVERYWHERE).content.decode()
    assert whole.count('<span class="count review-count">1<') == 2, "at the side and in the menu"
    row = {
        "HX-Request": "true",
        "HX-Target": "found",
        "HX-Current-URL": "http://testserver/b/ops/memories",
    }
    with CaptureQueriesContext(connection) as captured:
        maintainer.get("/b/ops/memories", headers=row)
    assert not [each for each in captured if "recall_proposal" in each["sql"]]


def test_what_is_beyond_two_hundred_is_a_page_of_its_own(
    ops: World, maintainer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposals, "PAGE_MOST", 2)
    for number in range(3):
        line(ops, f"Close valve {number}.")
    answer = maintainer.get(PAGE)
    assert "2 of 3 waiting" in words(answer)
    (more,) = re.findall(r'id="more" href="([^"]+)"', answer.content.decode())
    said = words(maintainer.get(more.replace("&amp;", "&")))
    assert ("Close valve 2." in said, "Close valve 1." in said) == (True, False)


def test_a_text_of_a_proposal_is_a_text(ops: World, maintainer: Client) -> None:
    line(ops, "<b hx-get=/x>Open the damper</b> {{ 7|add:7 }}")
    page = maintainer.get(PAGE).content.decode()
    assert "<b hx-get" not in page
    assert "{{ 7|add:7 }}" in page
