"""The page of the configuration, and the same form in the admin."""

from dataclasses import asdict
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from banks import config
from banks.services import configuration
from memoryconsole.console.config_form import GROUPS, LABELS
from tests.builders import World
from tests.console.conftest import Browser, words

ADDRESS = "/settings/config"
ADMIN = "/admin/banks/configuration/"


@pytest.fixture
def admin(ops: World, browser: Browser) -> Client:
    return browser("admin")


def typed(page: Any, **edits: object) -> dict[str, object]:
    """What a browser sends of the form of a page, with these fields edited."""
    form, sent = page.context["form"], {}
    for name in form.fields:
        value = edits.get(name, form[name].value())
        sent |= {} if value is False else {name: value}
        sent[form[name].html_initial_name] = form[name].initial
    return sent


def test_only_instance_admins_reach_it_and_find_it_in_the_rail(
    ops: World, admin: Client, browser: Browser
) -> None:
    page = admin.get(ADDRESS)
    assert "Memories of a recall" in words(page)
    assert 'href="/settings/config" aria-current="page"' in page.content.decode()
    assert browser("owner").get(ADDRESS).status_code == 403
    assert b"/settings/config" not in browser("owner").get("/settings/tokens").content
    assert browser("owner").post(ADDRESS, {"recall_limit": 1}).status_code == 403


def test_every_field_of_the_configuration_has_a_label_a_group_and_its_limits(
    admin: Client,
) -> None:
    assert [name for _, names in GROUPS for name in names] == list(LABELS)
    assert set(LABELS) == set(config.FIELDS)
    said = words(admin.get(ADDRESS))
    for each in ("1,000 to 600,000. Default: 60,000.", "At most 200 characters. Default: empty."):
        assert each in said


def test_the_fields_for_a_model_say_whether_there_is_one(admin: Client, settings: Settings) -> None:
    assert "Learning No model is configured" in words(admin.get(ADDRESS))
    settings.MODEL_BASE_URL = "http://127.0.0.1:11434/v1"
    said = words(admin.get(ADDRESS))
    assert "No model is configured" not in said
    assert "Meaning No model for it is configured: until MEMORYCONSOLE_EMBEDDER names one" in said
    settings.EMBEDDER = "local"
    assert "recall goes by words" not in words(admin.get(ADDRESS))


def test_what_was_edited_is_saved_and_nothing_else_is_set(admin: Client) -> None:
    sent = typed(admin.get(ADDRESS), recall_limit=9, inject_rules=False)
    answer = admin.post(ADDRESS, sent, headers={"HX-Request": "true", "HX-Target": "page"})
    assert (answer.status_code, answer["Location"]) == (303, ADDRESS)
    assert config.stored() == {"recall_limit": 9, "inject_rules": False}
    assert "Saved: Memories of a recall, Give agents the rules." in words(admin.get(ADDRESS))


def test_a_bad_value_is_told_at_its_field_and_stays_there(admin: Client) -> None:
    page = admin.get(ADDRESS)
    for edits in ({"recall_limit": 101}, {"default_bank": "No Bank"}):
        refused = admin.post(ADDRESS, typed(page, max_rule_chars=9, **edits))
        assert refused.status_code == 422
        assert list(refused.context["form"].errors) == list(edits)
        assert f'value="{next(iter(edits.values()))}"' in refused.content.decode()
    assert config.stored() == {}


def test_a_value_that_somebody_else_changed_is_shown_before_it_is_overwritten(
    ops: World, admin: Client
) -> None:
    sent = typed(admin.get(ADDRESS), recall_limit=9)
    theirs = {"recall_limit": 7, "max_rule_chars": 100, "inject_rules": False}
    configuration.change(ops.admin, theirs)
    clash = admin.post(ADDRESS, sent)
    assert clash.status_code == 409
    assert "recall_limit is 7 now" in words(clash)
    assert admin.post(ADDRESS, clash.context["form"].data).status_code == 303
    assert config.stored() == theirs | {"recall_limit": 9}


def test_the_data_folder_is_a_field_only_where_the_environment_leaves_it_free(
    admin: Client, settings: Settings
) -> None:
    fixed = admin.get(ADDRESS)
    assert "The environment says where it is: MEMORYCONSOLE_DATA_DIR." in words(fixed)
    sent = typed(fixed, data_dir="/nowhere")
    assert "Nothing was changed." in words(admin.post(ADDRESS, sent, follow=True))
    settings.DATA_DIR_GIVEN = False
    page = admin.get(ADDRESS)
    refused = admin.post(ADDRESS, typed(page, data_dir="/nowhere"))
    assert (refused.status_code, config.stored()) == (409, {})
    assert "That folder cannot be used." in words(refused)


def test_the_admin_makes_the_row_once_and_then_changes_it(ops: World, admin: Client) -> None:
    sent = typed(admin.get(ADMIN + "add/"), recall_limit=9)
    assert admin.post(ADMIN + "add/", sent).status_code == 303
    assert admin.get(ADMIN + "add/").status_code == 403
    change = ADMIN + "1/change/"
    page = admin.get(change)
    assert "user:admin" in words(page)
    configuration.change(ops.admin, {"recall_limit": 7})
    clash = admin.post(change, typed(page, recall_limit=3))
    assert (clash.status_code, clash.context["form"].now) == (409, (("Memories of a recall", "7"),))
    assert admin.post(change, clash.context["form"].data).status_code == 303
    assert asdict(config.current())["recall_limit"] == 3
