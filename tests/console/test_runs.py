"""The pages of runs: the list, a new one, one run, and taking it back."""

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from banks import jobs, sync
from banks.services import banks, entries
from banks.services.drafts import Patch
from recall.learning import llm, proposals, runs
from recall.models import ConsolidationRun, Proposal
from tests.builders import World, save
from tests.chat import Scripted, array
from tests.console.conftest import Browser, words
from tests.services.passes import consolidated, episode, live, told

PAGE = "/b/ops/runs"


@pytest.fixture
def maintainer(browser: Browser) -> Client:
    return browser("maintainer")


def twins(ops: World, name: str = "Kiln 4") -> None:
    """Two memories that a run merges by itself."""
    save(ops, f"{name} is hot.")
    save(ops, f"{name.lower()} is hot")


def two_wait(ops: World) -> str:
    """A run that proposes two facts; its id."""
    happened = episode(ops, "Pump 1 was primed by hand.")
    answer = array(told("Pumps are primed.", happened), told("Pump 1 runs dry.", happened))
    with llm.replaced(Scripted([answer])):
        return consolidated(ops).id


def test_a_run_is_begun_from_the_empty_page_and_its_page_says_that_it_is_on_its_way(
    ops: World, maintainer: Client
) -> None:
    assert "No run yet" in words(maintainer.get(PAGE))
    twins(ops)
    answer = maintainer.post(PAGE, follow=True)
    assert "waiting to start" in words(answer)
    assert 'hx-trigger="every 3s"' in answer.content.decode()
    jobs.work_off()
    answer = maintainer.get(answer.request["PATH_INFO"])
    assert "every 3s" not in answer.content.decode()
    said = words(answer)
    assert "Done: two memories merged into one" in said
    assert "kiln 4 is hot replaced Kiln 4 is hot." in said


def test_a_second_run_at_once_is_refused_in_words(ops: World, maintainer: Client) -> None:
    maintainer.post(PAGE)
    answer = maintainer.post(PAGE, follow=True)
    assert "A run of this bank is on its way: wait for its end." in words(answer)
    assert ConsolidationRun.objects.count() == 1


def test_a_dry_run_tells_what_it_would_do_and_does_nothing(ops: World, maintainer: Client) -> None:
    twins(ops)
    address = maintainer.post(PAGE, {"dry_run": "1"})["Location"]
    jobs.work_off()
    said = words(maintainer.get(address))
    assert "Dry run of" in said
    assert "What it would do Would be done: two memories merged into one" in said
    assert "Take back" not in said
    assert "1 would be done or proposed" in words(maintainer.get(PAGE))
    assert len(live(ops.bank)) == 2
    consolidated(ops)
    assert "kiln 4 is hot replaced since Kiln 4 is hot." in words(maintainer.get(address))


def test_the_list_tells_who_began_each_run_and_what_came_of_it(
    ops: World, maintainer: Client
) -> None:
    twins(ops)
    consolidated(ops)
    consolidated(ops)
    said = words(maintainer.get(PAGE))
    assert re.search("2 runs Run of .{16,18} done just now by maintainer nothing to do", said)
    assert "done just now by maintainer 1 applied less than a second" in said


def test_a_run_that_failed_says_why(ops: World, maintainer: Client) -> None:
    episode(ops, "Pump 1 was primed by hand.")
    with llm.replaced(Scripted(["nonsense"])):
        run = consolidated(ops)
    assert run.error
    for address in (PAGE, f"{PAGE}/{run.id}"):
        said = words(maintainer.get(address))
        assert "failed" in said
        assert run.error.replace("'", "&#x27;") in said


def test_all_that_waits_of_a_run_is_accepted_as_one_change_and_taken_back_with_it(
    ops: World, maintainer: Client
) -> None:
    key = two_wait(ops)
    before = set(live(ops.bank))
    page = maintainer.get(f"{PAGE}/{key}").content.decode()
    assert "Accept all 2?" in page
    waiting = [each.id for each in proposals.listed(ops.maintainer, ops.bank)[0]]
    assert page.count(f'name="key" value="{waiting[0]}"') == 2
    data = {"do": "accept", "key": waiting}
    answer = maintainer.post(f"{PAGE}/{key}/decide", data, follow=True)
    assert "2 accepted." in words(answer)
    assert len(live(ops.bank)) == 3
    answer = maintainer.post(f"{PAGE}/{key}/undo", follow=True)
    assert "Taken back: the bank is as it was" in words(answer)
    assert "taken back" in words(maintainer.get(PAGE))
    assert set(live(ops.bank)) == before
    again = maintainer.post(f"{PAGE}/{key}/undo", follow=True)
    assert "There is nothing to take back." in words(again)


def test_what_fits_no_longer_is_left_and_named(ops: World, maintainer: Client) -> None:
    key = two_wait(ops)
    first, second = proposals.listed(ops.maintainer, ops.bank)[0]
    save(ops, first.text)
    data = {"do": "accept", "key": [first.id, second.id]}
    answer = maintainer.post(f"{PAGE}/{key}/decide", data, follow=True)
    assert "1 accepted; 1 left: the bank says it already." in words(answer)


def test_all_that_waits_of_a_run_is_rejected(ops: World, maintainer: Client) -> None:
    key = two_wait(ops)
    waiting = [each.id for each in proposals.listed(ops.maintainer, ops.bank)[0]]
    data = {"do": "reject", "key": waiting}
    said = words(maintainer.post(f"{PAGE}/{key}/decide", data, follow=True))
    assert "2 rejected." in said
    assert "All is decided" in said
    late = maintainer.post(f"{PAGE}/{key}/decide", data, follow=True)
    assert "was accepted or rejected already" in words(late)


def test_a_run_whose_memory_was_changed_since_is_not_taken_back(
    ops: World, maintainer: Client
) -> None:
    twins(ops)
    key = consolidated(ops).id
    (kept,) = live(ops.bank).values()
    entries.update(ops.editor, ops.bank, kept.id, Patch(text="Kiln 4 is cold."))
    answer = maintainer.post(f"{PAGE}/{key}/undo", follow=True)
    assert "A later change is on top of it" in words(answer)
    assert f"/audit?bank=ops&amp;key={kept.id}" in answer.content.decode()
    assert list(live(ops.bank)) == ["Kiln 4 is cold."]


def test_stale_proposals_of_a_run_are_counted_on_its_page(ops: World, maintainer: Client) -> None:
    key = two_wait(ops)
    Proposal.objects.update(state="stale")
    said = words(maintainer.get(f"{PAGE}/{key}"))
    assert "2 of its proposals went stale: a memory that they were made from" in said
    assert "Accept all" not in said


def test_many_changes_are_shown_in_part_until_asked_for(ops: World, maintainer: Client) -> None:
    for n in range(2):
        twins(ops, f"Kiln {n}")
    row = ConsolidationRun.objects.get(uid=consolidated(ops).id)
    ConsolidationRun.objects.update(changes=row.changes * 30)
    address = f"{PAGE}/{row.uid}"
    assert "Show 10 more" in words(maintainer.get(address))
    whole = maintainer.get(f"{address}?changes=all")
    assert words(whole).count("two memories merged into one") == 60


def test_more_proposals_and_changes_of_a_run_take_no_more_queries(
    ops: World, maintainer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(count: int, name: str) -> str:
        happened = episode(ops, f"{name} was primed by hand.")
        answers = [told(f"{name} {n} is primed.", happened) for n in range(count)]
        for n in range(count):
            twins(ops, f"{name} {n}")
        with llm.replaced(Scripted([array(*answers)])):
            return consolidated(ops).id

    few, many = run(1, "Pump"), run(4, "Valve")
    monkeypatch.setattr(sync, "look", lambda _: None)  # at the files, once a second a bank

    def asked(address: str) -> int:
        maintainer.get(address)  # notes in the session when it was begun
        with CaptureQueriesContext(connection) as captured:
            assert maintainer.get(address).status_code == 200
        return len(captured)

    consolidated(ops)
    assert asked(f"{PAGE}/{many}") == asked(f"{PAGE}/{few}")
    before = asked(PAGE)
    consolidated(ops)
    assert asked(PAGE) == before


def test_the_list_goes_on_in_parts(
    ops: World, maintainer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memoryconsole.console.views.runs.RUNS", 1)
    for _ in range(2):
        consolidated(ops)
    answer = maintainer.get(PAGE)
    assert "The newest 1 runs" in words(answer)
    (older,) = re.findall(r'id="more" href="([^"]+)"', answer.content.decode())
    assert "1 older run " in words(maintainer.get(older))


def test_who_may_not_see_runs_is_refused_and_strangers_learn_nothing(
    ops: World, browser: Browser
) -> None:
    key = consolidated(ops).id
    for who, status in (("viewer", 403), ("editor", 403), ("stranger", 404)):
        for address in (PAGE, f"{PAGE}/{key}"):
            assert browser(who).get(address).status_code == status


def test_a_run_of_another_bank_is_none_here(ops: World, browser: Browser) -> None:
    other, _ = banks.create(ops.admin, "annex")
    key = runs.start(ops.admin, other).id
    client = browser("admin")
    assert client.get(f"/b/annex/runs/{key}").status_code == 200
    answer = client.get(f"{PAGE}/{key}")
    assert answer.status_code == 404
    assert "There is no such run in this bank." in words(answer)
    assert words(client.get(f"{PAGE}/none")) == words(answer)
    for act in ("decide", "undo"):
        assert client.post(f"{PAGE}/{key}/{act}").status_code == 404


def test_a_run_shows_its_cost_and_what_it_could_not_do(ops: World, maintainer: Client) -> None:
    happened = episode(ops, "Pump 1 was primed by hand.")
    page = f"{PAGE}/{consolidated(ops).id}"
    assert "No model: episodes were not read." in words(maintainer.get(page))
    pinned = save(ops, "Pumps are primed by air.", pinned=True).memory
    wish = told("Pumps are primed by hand.", happened, supersedes=[pinned.id])
    with llm.replaced(Scripted([array(wish)], tokens=1_041)):
        page = f"{PAGE}/{consolidated(ops).id}"
    said = words(maintainer.get(page))
    assert "Model scripted 1,041 tokens" in said
    assert "Took less than a second" in said
    assert "Left, a memory is pinned: a new memory out of others" in said
    assert "1,041 tokens" in words(maintainer.get(PAGE))


def test_the_log_says_in_words_what_a_run_did(ops: World, maintainer: Client) -> None:
    for text in ("Valve 2 is open", "Valve 2 is open."):
        save(ops, text)
    consolidated(ops)
    assert "maintainer consolidated 2 memories" in words(maintainer.get("/audit"))
