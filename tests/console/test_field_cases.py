"""What went wrong elsewhere, tried on the pages from the input to all that has to be right."""

from collections.abc import Iterator
from typing import Any

import pytest

from banks import seams, sync
from banks.services import entries
from banks.services.drafts import Draft
from banks.services.entries import Saved
from memoryconsole.console import listing
from tests import byhand
from tests.builders import World, save
from tests.byhand import FACTS, block
from tests.console.conftest import Browser, words
from tests.disks import UnsyncedDisk
from tests.typed import FINDS, OTHERS, PUMPS

LIST = "/b/ops/memories"


@pytest.fixture(autouse=True)
def quick_disk() -> Iterator[None]:
    """Power loss is not what these tests are about."""
    with seams.replaced(disk=UnsyncedDisk()):
        yield


def shown(answer: Any) -> list[str]:
    assert answer.status_code == 200
    return [row.memory.text for row in answer.context["list"].rows]


# field case A09
@pytest.mark.parametrize("word", ["評価", "火曜", "人工知能"])
def test_a_word_inside_unspaced_text_is_found_on_the_page(
    ops: World, browser: Browser, word: str
) -> None:
    save(ops, "人工知能の評価は毎週火曜に行う")
    save(ops, "倉庫の鍵は机の上にある")
    answer = browser("viewer").get(LIST, {"q": word})
    assert shown(answer) == ["人工知能の評価は毎週火曜に行う"]


# field case A10
def test_what_people_type_into_the_search_is_text(ops: World, browser: Browser) -> None:
    for text in [*PUMPS, *OTHERS]:
        save(ops, text)
    viewer = browser("viewer")
    for query, expected in FINDS.items():
        assert sorted(shown(viewer.get(LIST, {"q": query}))) == sorted(expected), query


# field case A17
def test_an_edit_in_the_browser_leaves_a_damaged_neighbour_as_it_was(
    ops: World, browser: Browser
) -> None:
    damaged = block("m2", "Pump 2 runs", summary="pump: north side")
    file = byhand.write(FACTS, f"{block('m1', 'Pump 1 runs')}\n{damaged}\n{block('m3', 'Pump 3')}")
    sync.reload(ops.bank)
    client = browser("editor")
    assert set(shown(client.get(LIST))) == {"Pump 1 runs", "Pump 3"}
    form = client.get("/m/ops/m1/edit").context["form"]
    typed = {name: form[name].value() or "" for name in form.fields} | {"text": "Pump 1 stands"}
    assert client.post("/m/ops/m1/edit", typed).status_code == 303
    version = ops.bank.entries.get(entry_id="m3").version
    client.post("/m/ops/m3/pin", {"pinned": "1", "version": version})
    sync.reload(ops.bank)
    assert set(shown(client.get(LIST))) == {"Pump 1 stands", "Pump 3"}
    after = file.read_text()
    assert after.count(f"\n\n{damaged}\n---\nid: m3\n") == 1
    assert after.count("---\nid: ") == 3
    assert "pinned: true\n" in after


# field case A36
def test_the_pinned_ones_fill_the_first_page(
    ops: World, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "PAGE", 10)
    pinned = [Draft(text=f"Valve {n} is open", pinned=True) for n in range(5)]
    entries.save_many(ops.editor, ops.bank, pinned)
    drafts = [Draft(text=f"Line {n} is shut") for n in range(25)]
    results = entries.save_many(ops.editor, ops.bank, drafts)
    others = [each.memory.id for each in results if isinstance(each, Saved)]
    for old, new in zip(others[:6], others[6:12], strict=True):
        entries.supersede(ops.editor, ops.bank, old, new)
    answer = browser("viewer").get(LIST, {"is": "pinned"})
    assert sorted(shown(answer)) == [each.text for each in pinned]
    assert "5 of 24 memories, newest first" in words(answer)
    assert answer.context["list"].next_query == ""
    assert "Showing 10 of 24" in words(browser("viewer").get(LIST))
