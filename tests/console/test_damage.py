"""Entries that cannot be read are told on the list of their bank."""

import pytest

from banks import sync
from memoryconsole.console import damage
from tests import byhand
from tests.builders import World
from tests.byhand import FACTS, block
from tests.console.conftest import Browser, words

LIST = "/b/ops/memories"


def broken(key: str) -> str:
    return block(key, "Pump 2 runs", summary="pump: north side")


def test_what_cannot_be_read_is_told_with_file_line_and_reason(
    ops: World, browser: Browser
) -> None:
    blocks = [block("m1", "Pump 1 runs"), broken("m2"), block("m3", "Pump 3", created="last week")]
    file = byhand.write(FACTS, "\n".join(blocks))
    sync.reload(ops.bank)
    said = words(browser("viewer").get(LIST))
    assert f"2 entries in {FACTS} cannot be read; they stay in the file as they are" in said
    lines = file.read_text().split("\n")
    assert f"Line {lines.index('summary: pump: north side') + 1}: The frontmatter" in said
    assert f"Line {lines.index('created: last week') + 1}: The key created is no time." in said


def test_one_entry_is_one_and_its_neighbours_are_listed(ops: World, browser: Browser) -> None:
    byhand.write(FACTS, f"{block('m1', 'Pump 1 runs')}\n{broken('m2')}")
    sync.reload(ops.bank)
    said = words(browser("viewer").get(LIST))
    assert f"1 entry in {FACTS} cannot be read; it stays in the file as it is" in said
    assert "1 memory Pump 1 runs" in said


def test_a_bank_where_nothing_is_readable_does_not_look_new_only(
    ops: World, browser: Browser
) -> None:
    byhand.write(FACTS, broken("m1"))
    sync.reload(ops.bank)
    assert "1 entry in" in words(browser("viewer").get(LIST))


def test_of_many_the_first_are_told_and_the_rest_counted(ops: World, browser: Browser) -> None:
    byhand.write(FACTS, "\n".join(broken(f"m{number}") for number in range(8)))
    sync.reload(ops.bank)
    said = words(browser("viewer").get(LIST))
    assert "8 entries in" in said
    assert said.count("Line ") == damage.SHOWN
    assert "And 3 more" in said


def test_another_file_than_one_of_entries_is_told_too(ops: World, browser: Browser) -> None:
    byhand.write("bank.yaml", "format: 1\ndescription: [\n")
    sync.reload(ops.bank)
    assert "bank.yaml cannot be read in full" in words(browser("viewer").get(LIST))


@pytest.mark.parametrize(
    "line", ["superseded_by: m9", "supersedes: m1", "supersedes: m9", "source: somebody"]
)
def test_an_entry_that_is_read_all_the_same_gives_no_warning(
    ops: World, browser: Browser, line: str
) -> None:
    byhand.write(FACTS, f"{block('m1', 'Pump 1 runs')}\n{block('m2', 'Pump 2 runs', line)}")
    sync.reload(ops.bank)
    said = words(browser("viewer").get(LIST))
    assert "Pump 2 runs" in said
    assert "cannot be read" not in said


@pytest.mark.parametrize("query", ["?q=pump", "?is=pinned", "?is=retired"])
def test_a_narrowed_list_tells_it_too(ops: World, browser: Browser, query: str) -> None:
    byhand.write(FACTS, f"{block('m1', 'Pump 1 runs')}\n{broken('m2')}")
    sync.reload(ops.bank)
    assert "cannot be read" in words(browser("viewer").get(LIST + query))
