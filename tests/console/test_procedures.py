"""Procedures: added with a title and five sections, listed by their title, shown by headings."""

import re
from typing import Any

import pytest
from django.test import Client

from banks import sync
from banks.models import Entry
from banks.store.procedure import TEMPLATE
from memoryconsole.console.procedure import Part, Section, cut
from tests import byhand
from tests.builders import World, save
from tests.byhand import FACTS
from tests.console.conftest import Browser, words

LIST, NEW = "/b/ops/memories", "/b/ops/memories/new"


@pytest.fixture
def editor(browser: Browser) -> Client:
    return browser("editor")


def link_text(page: str, address: str) -> str | None:
    """What the first link to this address says."""
    link = re.search(rf'<a [^>]*href="{re.escape(address)}"[^>]*>([^<]*)</a>', page)
    return link[1] if link else None


def add(client: Client, **typed: str) -> Any:
    return client.post(NEW, {"category": "procedure", "text": TEMPLATE, "tags": ""} | typed)


# --- added --------------------------------------------------------------------------------------


def test_with_nothing_typed_both_the_title_and_the_text_are_asked_for(
    ops: World, editor: Client
) -> None:
    answer = add(editor, text=TEMPLATE.replace("\n", "\r\n"))
    assert answer.status_code == 422
    assert set(answer.context["form"].errors) == {"title", "text"}
    assert not Entry.objects.exists()


@pytest.mark.parametrize(
    ("typed", "missing"),
    [({"title": "Bleed the line"}, "text"), ({"text": "Open the valve."}, "title"),
     ({"title": "  ", "text": "Open the valve."}, "title")],
)  # fmt: skip
def test_one_of_both_is_not_enough(
    ops: World, editor: Client, typed: dict[str, str], missing: str
) -> None:
    answer = add(editor, **typed)
    assert answer.status_code == 422
    assert set(answer.context["form"].errors) == {missing}
    assert not Entry.objects.exists()


def test_the_title_comes_first_and_only_for_a_procedure(ops: World, editor: Client) -> None:
    page = editor.get(f"{NEW}?category=procedure").content.decode()
    assert 0 < page.index('name="title"') < page.index('name="text"')
    assert 'name="title"' not in editor.get(NEW).content.decode()


def test_the_category_alone_brings_the_title_up(ops: World, editor: Client) -> None:
    page = add(editor, text="Open the valve.").content.decode()
    assert 0 < page.index('name="title"') < page.index("Open the valve.</textarea>")


# --- listed -------------------------------------------------------------------------------------


def test_the_title_is_the_link(ops: World, editor: Client) -> None:
    memory = save(ops, "Open the valve.", category="procedure", title="Bleed the line").memory
    page = editor.get(LIST).content.decode()
    assert link_text(page, f"/m/ops/{memory.id}") == "Bleed the line"
    assert page.count(f'href="/m/ops/{memory.id}"') == 1
    assert '<p class="row-text" dir="auto">Steps\nOpen the valve.</p>' in page


def test_empty_sections_leave_no_empty_paragraph(ops: World, editor: Client) -> None:
    head = "---\nid: p1\ncreated: 2026-01-02T03:04:05+00:00\ncategory: procedure\n"
    byhand.write("procedural_memory/bleed.md", f"{head}summary: Bleed\n---\n\n{TEMPLATE}\n")
    sync.reload(ops.bank)
    page = editor.get(LIST).content.decode()
    assert link_text(page, "/m/ops/p1") == "Bleed"
    assert 'class="row-text"' not in page


@pytest.mark.parametrize(("summary", "named"), [("summary: A pump\n", "A pump"), ("", "m1")])
def test_a_memory_without_a_text_has_a_link_with_words(
    ops: World, editor: Client, summary: str, named: str
) -> None:
    head = "---\nid: m1\ncreated: 2026-01-02T03:04:05+00:00\ncategory: facts\n"
    byhand.write(FACTS, f"{head}{summary}---\n")
    sync.reload(ops.bank)
    assert link_text(editor.get(LIST).content.decode(), "/m/ops/m1") == named


# --- shown --------------------------------------------------------------------------------------


def test_headings_are_headings_and_everything_else_is_text(ops: World, editor: Client) -> None:
    text = "## Steps\n\n1. Open <b>it</b> & wait.\n\n## <i>Notes</i>\n\n- **none**"
    memory = save(ops, text, category="procedure", title="Bleed the line").memory
    page = editor.get(f"/m/ops/{memory.id}").content.decode()
    assert "<h2>Steps</h2><p>1. Open &lt;b&gt;it&lt;/b&gt; &amp; wait.</p>" in page
    assert "<h2>&lt;i&gt;Notes&lt;/i&gt;</h2><p>- **none**</p>" in page
    assert '<h2>Preconditions</h2><p class="meta">Nothing written.</p>' in page


def test_a_fact_is_shown_as_it_was_typed(ops: World, editor: Client) -> None:
    memory = save(ops, "## Pumps\n\nare loud").memory
    assert "## Pumps are loud" in words(editor.get(f"/m/ops/{memory.id}"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no heading\n\nat all", [("", 2, "no heading\n\nat all")]),
        ("# One\n## Two ##\n### Three\n#### Four\nx",
         [("One", 2, ""), ("Two", 2, ""), ("Three", 3, ""), ("Four", 3, "x")]),
        ("### Begins deep\n### Goes on", [("Begins deep", 2, ""), ("Goes on", 3, "")]),
        ("#no\n##\tno\n  ## no\n####### no", [("", 2, "#no\n##\tno\n  ## no\n####### no")]),
        ("## Run\n```sh\n# a comment\n~~~\n```\n## Then",
         [("Run", 2, "```sh\n# a comment\n~~~\n```"), ("Then", 2, "")]),
        ("## Run\n```\n# not closed", [("Run", 2, "```\n# not closed")]),
        ("", []),
    ],
)  # fmt: skip
def test_a_text_is_cut_at_its_headings(text: str, expected: list[tuple[str, int, str]]) -> None:
    assert cut(text) == [Section(*each) for each in expected]


def test_a_fenced_block_keeps_its_lines_and_is_told_from_the_text() -> None:
    fenced = "~~~\n# look first\n```\n  turn\n~~~"
    (section,) = cut(f"## Steps\n1. Close it.\n   - slowly\n\n{fenced}\n\n2. Wait.")
    assert section.parts == [
        Part("1. Close it.\n   - slowly", is_code=False),
        Part(fenced, is_code=True),
        Part("2. Wait.", is_code=False),
    ]
    (open_ended,) = cut("## Steps\n```\nturn")
    assert open_ended.parts == [Part("```\nturn", is_code=True)]


def test_a_fenced_block_of_a_procedure_is_a_block_of_its_own(ops: World, editor: Client) -> None:
    text = "## Steps\n\nRun this:\n\n```\n  turn --left\n```\n"
    steps = save(ops, text, category="procedure", title="Turn the valve").memory
    page = editor.get(f"/m/ops/{steps.id}").content.decode()
    assert '<pre class="mono">```\n  turn --left\n```</pre>' in page
