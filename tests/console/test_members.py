"""Who belongs to a bank: the list, its controls, and who is shown what of it."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from banks.access import Role
from banks.services import members
from tests.builders import World, person
from tests.console.conftest import Browser, words

HOME = "/b/ops/settings"
SET, REMOVE = "/b/ops/members", "/b/ops/members/remove"
PART = {"HX-Request": "true", "HX-Target": "page"}


def roles(ops: World) -> dict[str, Role]:
    return dict(members.listed(ops.bank))


@pytest.fixture(autouse=True)
def one_owner(ops: World) -> None:
    members.remove(ops.admin, ops.bank, "admin")


@pytest.fixture
def owner(ops: World, browser: Browser) -> Client:
    return browser("owner")


def post(client: Client, address: str, **fields: str) -> Any:
    return client.post(address, fields, follow=True)


def test_an_owner_sees_everybody_and_gives_another_role(ops: World, owner: Client) -> None:
    said = words(owner.get(HOME))
    assert "4 members" in said
    assert "owner you" in said
    answer = post(owner, SET, username="viewer", role="editor")
    assert answer.redirect_chain == [(f"{HOME}#list", 303)]
    assert "viewer is editor of ops now." in words(answer)
    assert roles(ops)["viewer"] is Role.EDITOR


def test_a_person_is_added_by_name(ops: World, owner: Client) -> None:
    answer = post(owner, SET, new="1", username="stranger", role="maintainer")
    assert "stranger is maintainer of ops now." in words(answer)
    assert roles(ops)["stranger"] is Role.MAINTAINER


@pytest.mark.parametrize(
    ("fields", "status", "said"),
    [({"username": "nobody", "role": "editor"}, 422, "There is no person of that name."),
     ({"username": "", "role": "editor"}, 422, "This field is required."),
     ({"username": "stranger", "role": "king"}, 422, "king"),
     ({"username": "editor", "role": "owner"}, 409, "editor is a member already, as editor")],
)  # fmt: skip
def test_who_cannot_be_added_is_told_at_the_form(
    ops: World, owner: Client, fields: dict[str, str], status: int, said: str
) -> None:
    before = roles(ops)
    answer = owner.post(SET, {"new": "1"} | fields, headers=PART)
    assert (answer.status_code, roles(ops)) == (status, before)
    assert said in words(answer)
    assert f'value="{fields["username"]}"' in answer.content.decode() or not fields["username"]


def test_the_last_owner_stays(ops: World, owner: Client) -> None:
    for address in (SET, REMOVE):
        answer = owner.post(address, {"username": "owner", "role": "viewer"}, headers=PART)
        assert answer.status_code == 409
        assert "The bank would have no owner" in words(answer)
        assert 'value="owner" selected' in answer.content.decode()
    assert roles(ops)["owner"] is Role.OWNER


def test_an_owner_who_is_kept_out_does_not_count(ops: World, owner: Client) -> None:
    person("gone")
    members.set_role(ops.admin, ops.bank, "gone", Role.OWNER)
    User.objects.filter(username="gone").update(is_active=False)
    assert owner.post(REMOVE, {"username": "owner"}).status_code == 409
    assert members.owners(ops.bank) == ["owner"]


def test_somebody_is_removed_after_a_question(ops: World, owner: Client) -> None:
    page = owner.get(HOME).content.decode()
    assert "Remove viewer from ops?" in page
    assert "viewer is no member of ops any more." in words(post(owner, REMOVE, username="viewer"))
    assert "viewer" not in roles(ops)
    assert owner.post(REMOVE, {"username": "viewer"}).status_code == 404


def test_who_removes_oneself_is_led_to_the_other_banks(ops: World, owner: Client) -> None:
    members.set_role(ops.admin, ops.bank, "editor", Role.OWNER)
    assert post(owner, REMOVE, username="owner").redirect_chain == [("/banks", 303)]
    assert owner.get(HOME).status_code == 404


@pytest.mark.parametrize("name", ["viewer", "editor", "maintainer"])
def test_others_see_the_owners_and_no_control(ops: World, browser: Browser, name: str) -> None:
    client = browser(name)
    page = client.get(HOME).content.decode()
    shown = re.findall(r"<td><strong>(.*?)</strong>", page)
    assert shown == ["owner"]
    assert SET not in page
    for address in (SET, REMOVE):
        answer = client.post(address, {"username": "viewer", "role": "owner"})
        assert answer.status_code == 403
        assert "role owner" in words(answer)
    assert roles(ops)["viewer"] is Role.VIEWER


def test_instance_admins_are_shown_how_to_make_people(ops: World, browser: Browser) -> None:
    assert "/admin/auth/user/add/" in browser("admin").get(HOME).content.decode()
    assert "/admin/" not in browser("owner").get(HOME).content.decode()


def test_a_name_with_markup_is_text_and_its_controls_have_proper_ids(
    ops: World, owner: Client
) -> None:
    name = '"><b>x y'
    person(name)
    members.add(ops.owner, ops.bank, name, Role.EDITOR)
    page = owner.get(HOME).content.decode()
    assert "<b>" not in page
    ids = re.findall(r' id="([^"]*)"', page)
    assert len(ids) == len(set(ids))
    assert not any(re.search(r"\s|[<>]", each) for each in ids)


def test_an_instance_admin_who_leaves_no_owner_is_told(ops: World, browser: Browser) -> None:
    gone = "The bank has no owner now; instance admins reach it."
    admin = browser("admin")
    assert gone not in words(post(admin, SET, username="viewer", role="editor"))
    assert gone in words(post(admin, SET, username="owner", role="viewer"))
    assert gone not in words(post(admin, SET, username="viewer", role="viewer"))
    members.set_role(ops.admin, ops.bank, "owner", Role.OWNER)
    assert gone in words(post(admin, REMOVE, username="owner"))


def test_a_name_in_other_letters_is_nobody_and_whose_it_is_stays_untold(
    ops: World, owner: Client
) -> None:
    answers = [
        words(owner.post(SET, {"new": "1", "username": name, "role": "editor"}, headers=PART))
        for name in ("STRANGER", "NOBODYYY")
    ]
    assert "Capital and small letters count." in answers[0]
    assert "stranger" not in answers[0]
    assert answers[0] == answers[1]


def test_the_page_promises_others_no_more_than_it_shows(ops: World, browser: Browser) -> None:
    said = words(browser("editor").get(HOME))
    assert "what each of them" not in said
    assert "Your role is editor. Its owners decide who belongs to the bank" in said
    assert "viewer reads and searches" in said
    assert "sees what agents get" not in said
