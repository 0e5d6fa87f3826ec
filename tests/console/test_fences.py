"""Who sees what, what a stored text may do to a page, and pages of errors."""

import re
from html.parser import HTMLParser
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from banks import sync
from banks.access import Role
from banks.models import Bank
from banks.services import banks, entries, members
from banks.services.drafts import Draft
from banks.services.entries import Saved
from tests.builders import World, person, save
from tests.console.conftest import Browser, words

ATTACKS = [
    "<img src=x onerror=alert(1)>",
    "[click](javascript:alert(1))",
    "<svg/onload=alert(1)>",
    "```\n</code></pre><script>alert(1)</script>\n```",
    "</textarea><script>alert(1)</script>",
    "{{ settings.SECRET_KEY }} {% debug %}",
    '"><b hx-get="/sign-out" hx-trigger="load">x</b>',
]


class Markup(HTMLParser):
    """Every element of a page, as a browser would find them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.kinds: set[tuple[str, ...]] = set()
        self.away: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.kinds.add((tag, *sorted(name for name, _ in attrs)))
        for name, value in attrs:
            if name in ("href", "src", "action", "hx-get", "hx-post"):
                self.away += (
                    [] if (value or "").startswith(("/", "?", "#")) else [f"{name}={value}"]
                )


def dangers(client: Client, attacked: str, calm: set[tuple[str, ...]]) -> list[str]:
    """Which kinds of elements, by their attributes, a page has that are not among the calm ones,
    and what in it leads away."""
    answer = client.get(attacked)
    assert answer.status_code == 200
    assert "unsafe" not in answer["Content-Security-Policy"]
    markup = Markup(answer.content.decode())
    return [f"{attacked}: {each}" for each in (*(markup.kinds - calm), *markup.away)]


def forms(client: Client, *addresses: str) -> set[str]:
    """The addresses of all forms that send something, on these pages."""
    found: set[str] = set()
    for address in addresses:
        page = client.get(address).content.decode()
        for tag in re.findall(r'<form[^>]*method="post"[^>]*>', page):
            action = re.search(r'action="([^"]*)"', tag)
            found.add(action[1] if action else address)
    return found - {"/theme", "/sign-out"}


# --- roles ------------------------------------------------------------------------------------


@pytest.fixture
def leak(ops: World) -> Saved:
    return save(ops, "Pump 1 leaks at the seal.", tags=("pumps",))


def test_a_reader_is_offered_no_change_and_told_why(
    ops: World, leak: Saved, browser: Browser
) -> None:
    client = browser("viewer")
    pages = ("/b/ops/memories", f"/m/ops/{leak.memory.id}")
    assert forms(client, *pages) == set()
    for address in pages:
        assert "You can read this bank." in words(client.get(address))
        assert "/edit" not in client.get(address).content.decode()


@pytest.mark.parametrize("name", ["editor", "maintainer", "owner", "admin"])
def test_every_form_that_is_offered_is_allowed(
    ops: World, leak: Saved, browser: Browser, name: str
) -> None:
    client = browser(name)
    key = leak.memory.id
    offered = forms(
        client, "/b/ops/memories", f"/m/ops/{key}", f"/m/ops/{key}/edit", "/b/ops/memories/new"
    )
    assert len(offered) == 5
    for address in offered:
        assert client.post(address).status_code in (303, 422)


@pytest.mark.parametrize("act", ["edit", "pin", "delete", "restore"])
def test_a_reader_who_posts_by_hand_is_refused_and_told_the_role(
    ops: World, leak: Saved, browser: Browser, act: str
) -> None:
    answer = browser("viewer").post(f"/m/ops/{leak.memory.id}/{act}", {"text": "typed for long"})
    assert answer.status_code == 403
    assert "role editor" in words(answer)
    assert "typed for long" in answer.content.decode()


@pytest.mark.parametrize(
    "address", ["/b/{}/memories", "/b/{}/memories/new", "/m/{}/mem_2026-01-01_000000"]
)
def test_a_foreign_bank_looks_like_none(ops: World, browser: Browser, address: str) -> None:
    client = browser("stranger")

    def answer(name: str) -> tuple[int, str]:
        got = client.get(address.format(name))
        page = re.sub(r'(csrfmiddlewaretoken" value=")[^"]*', r"\1", got.content.decode())
        return got.status_code, page.replace(name, "NAME")

    assert answer("ops") == answer("absent")
    assert answer("ops")[0] == 404


def test_the_rail_lists_only_ones_own_banks(ops: World, browser: Browser) -> None:
    banks.create(ops.admin, "annex")
    assert "annex" in words(browser("admin").get("/b/ops/memories"))
    assert "annex" not in words(browser("owner").get("/b/ops/memories"))


# --- hold ------------------------------------------------------------------------------------


def test_a_bank_on_hold_can_be_read_and_offers_no_change(
    ops: World, leak: Saved, browser: Browser, settings: Settings
) -> None:
    sync.look(ops.bank, force=True)
    (settings.DATA_DIR / "ops" / "bank.yaml").unlink()
    sync.look(ops.bank, force=True)
    client = browser("owner")
    answer = client.get("/b/ops/memories")
    assert answer.status_code == 200
    assert "on hold" in words(answer)
    assert leak.memory.text in words(answer)
    assert forms(client, "/b/ops/memories", f"/m/ops/{leak.memory.id}") == {"/health/accept"}
    kept = client.post("/b/ops/memories/new", {"text": "Typed all the same.", "category": "facts"})
    assert kept.status_code == 503
    assert "Typed all the same." in kept.content.decode()


# --- what a stored text may do -------------------------------------------------------------------


LABEL, CALM = '"><b>x', "x"


def kept(ops: World, bank: Bank, label: str, text: str) -> str:
    """A memory with this label in all its fields, and two changes of it; its id."""
    fields = {"agent": label, "session": label, "source_entry": label, "summary": label}
    draft = Draft(text=text, tags=(label,), entities=(label,), **fields)
    memory = entries.save(ops.admin, bank, draft).memory
    entries.update(ops.admin, bank, memory.id, entries.Patch(text=f"{text}\n\nTwice.", tags=()))
    entries.update(ops.admin, bank, memory.id, entries.Patch(tags=(label,)))
    return memory.id


def pages_of(bank: Bank, *keys: str, label: str) -> list[str]:
    """Pages with these memories on them, their histories and what was done to them."""
    whole = [f"/b/{bank.name}/memories", f"/audit?bank={bank.name}"]
    listed = f"/b/{bank.name}/memories?tag={quote(label)}&sel={keys[0]}"
    homes = [f"/m/{bank.name}/{key}" for key in keys]
    acts = [f"{home}/{act}" for home in homes for act in ("edit", "compare?from=r1&to=r2")]
    return [*whole, listed, *homes, *acts]


# field case A42
@pytest.mark.wide
def test_markup_in_a_memory_is_shown_as_text(ops: World, browser: Browser) -> None:
    client = browser("admin")
    annex, _ = banks.create(ops.admin, "annex")
    plain = pages_of(annex, kept(ops, annex, CALM, "A line.\nAnother one."), label=CALM)
    calm = set().union(*(Markup(client.get(each).content.decode()).kinds for each in plain))
    keys = [kept(ops, ops.bank, LABEL, attack) for attack in ATTACKS]
    for address in pages_of(ops.bank, *keys, label=LABEL):
        assert dangers(client, address, calm) == []
    title = re.search("<title>(.*?)</title>", client.get(f"/m/ops/{keys[0]}").content.decode())
    assert title
    assert title[1] == f"{keys[0]} · ops · Memory Console"


# field case A42
def test_markup_in_other_names_is_shown_as_text(ops: World, browser: Browser) -> None:
    annex, _ = banks.create(ops.admin, "annex", LABEL)
    for name in (LABEL, "somebody"):
        person(name)
        members.set_role(ops.admin, annex, name, Role.EDITOR)
    for pattern in ("/b/annex/memories", "/banks/new", "/m/annex/{}", "/b/annex/memories?is={}"):
        attacked = browser(LABEL).get(pattern.format(quote(LABEL))).content.decode()
        calm = browser("somebody").get(pattern.format(CALM)).content.decode()
        assert Markup(attacked).kinds - Markup(calm).kinds == set(), pattern


# --- errors ----------------------------------------------------------------------------------


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the path /srv/secret and a memory")

    monkeypatch.setattr(Bank.objects, "filter", fail)


def test_an_address_that_is_none_has_a_page(client: Client) -> None:
    answer = client.get("/b/No-Such/memories")
    assert answer.status_code == 404
    assert "There is no page at this address." in words(answer)


def test_a_fault_tells_nothing_about_itself(ops: World, browser: Browser, broken: None) -> None:
    client = browser("owner")
    client.raise_request_exception = False
    answer = client.get("/b/ops/memories")
    assert answer.status_code == 500
    assert "Something broke" in words(answer)
    assert "secret" not in answer.content.decode()


# --- parts of pages ----------------------------------------------------------------------------

PART = {"HX-Request": "true", "HX-Target": "page"}


def test_a_part_says_in_one_sentence_that_the_session_has_ended(leak: Saved) -> None:
    client = Client()
    for answer in (
        client.get("/b/ops/memories", headers=PART),
        client.post(f"/m/ops/{leak.memory.id}/pin", {"pinned": "1"}, headers=PART),
    ):
        assert answer.status_code == 401
        assert answer["Content-Type"] == "text/plain"
        assert "session has ended" in answer.content.decode()


def test_a_form_of_another_session_is_refused_and_its_text_handed_back(ops: World) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.get(username="editor"))
    typed = {"text": "Pump 3 <b>hums</b>."}
    page = client.post("/b/ops/memories/new", typed)
    assert page.status_code == 403
    assert "Pump 3 &lt;b&gt;hums&lt;/b&gt;." in page.content.decode()
    part = client.post("/b/ops/memories/new", typed, headers=PART)
    assert (part.status_code, part["Content-Type"]) == (403, "text/plain")
    assert "nothing was done" in part.content.decode()
