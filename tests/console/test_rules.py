"""Rules: their list and budget, one of them, its editor and preview, and edits that met."""

import re
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from banks import audit, queries, revisions, sync
from banks.models import Change
from banks.services import rules
from memoryconsole.console.meter import meter
from recall import services as recall_services
from tests.builders import World
from tests.console.conftest import Browser, merge_of, words

LIST, NEW = "/b/ops/rules", "/b/ops/new-rule"
STYLE = "# Valves\n\n- Close valve 3 first.\n- Wait a minute.\n- Then valve 4.\n"


@pytest.fixture
def style(ops: World) -> queries.RuleText:
    rules.set_rule(ops.maintainer, ops.bank, "style", STYLE, reason="it was asked twice")
    return queries.rule(ops.bank, "style")


@pytest.fixture
def keeper(browser: Browser) -> Client:
    return browser("maintainer")


def now(ops: World, name: str = "style") -> queries.RuleText:
    return queries.rule(ops.bank, name)


def sent(rule: queries.RuleText, **changed: str) -> dict[str, str]:
    """The form of a rule as a browser sends it."""
    fields = {"text": rule.content.replace("\n", "\r\n"), "reason": "", "base": rule.version}
    return {"name": rule.name} | fields | changed


def page(name: str = "style", act: str = "") -> str:
    return f"{LIST}/{name}{act}"


def part(client: Client, address: str, target: str, data: Any = None) -> Any:
    """What htmx gets for one element."""
    headers = {"HX-Request": "true", "HX-Target": target}
    if data is None:
        return client.get(address, headers=headers)
    return client.post(address, data, headers=headers)


# --- list -------------------------------------------------------------------------------------


def test_the_list_tells_size_share_and_last_change(
    ops: World, style: queries.RuleText, keeper: Client
) -> None:
    said = words(keeper.get(LIST))
    assert "65 of 6,000 characters" in said
    assert "style Characters: 65 Of the budget: 1 % just now by maintainer" in said


def test_a_rule_that_was_edited_by_hand_says_so(
    ops: World, style: queries.RuleText, keeper: Client, settings: Settings
) -> None:
    (settings.DATA_DIR / "ops" / "rules" / "style.md").write_text("Close valve 6 first.\n")
    sync.look(ops.bank, force=True)
    for address in (LIST, page()):
        said = words(keeper.get(address))
        assert "just now by hand in the file" in said
        assert "found on disk" not in said


def test_the_list_says_where_the_budget_ends(ops: World, keeper: Client) -> None:
    rules.set_rule(ops.maintainer, ops.bank, "long", "Turn valve 3.\n" * 500)
    rules.set_rule(ops.maintainer, ops.bank, "more", "Never open valve 4 without a permit.")
    said = words(keeper.get(LIST))
    assert "7,035 of 6,000 characters written 1,035 over" in said
    cut = recall_services.rules_budget(ops.bank).rules[0]
    lines = f"cut: agents get the first {cut.kept_lines} of 500 lines"
    assert f"long is {lines}, {cut.kept_chars:,} of 6,999 characters." in said
    assert "more is left out, since not one line of it fits." in said
    assert f"long cut Characters: given {cut.kept_chars:,} of 6,999 Of the budget: 99 %" in said
    assert "more left out Characters: given 0 of 36 Of the budget: nothing" in said
    assert f"Characters given {cut.kept_chars:,} of 6,999 Budget 99 % of it" in words(
        keeper.get(page("long"))
    )


def test_the_bar_shows_a_small_rule_and_what_is_over_the_budget() -> None:
    found = meter(8_000, 6_000, this=800)
    assert [(bar.kind, bar.start, bar.width) for bar in found.bars] == [
        ("this", "0.00%", "10.00%"),
        ("used", "10.00%", "90.00%"),
        ("over", "75.00%", "25.00%"),
    ]
    assert (found.over, found.others) == (2_000, 7_200)
    assert meter(0, 0).bars == []


def test_what_agents_write_is_marked(ops: World, keeper: Client) -> None:
    rules.set_rule(ops.maintainer, ops.bank, "learned", "- Ask first.")
    assert "learned written by agents" in words(keeper.get(LIST))


def test_a_rule_that_is_switched_off_says_so(
    ops: World, style: queries.RuleText, keeper: Client
) -> None:
    ops.bank.settings = {"rules_off": ["style"]}
    ops.bank.save()
    said = words(keeper.get(LIST))
    assert "style not given to agents" in said
    assert "Agents get none of these rules" in said


def test_an_empty_list_offers_an_example(ops: World, keeper: Client) -> None:
    assert f'href="{NEW}?example=1"' in keeper.get(LIST).content.decode()
    form = keeper.get(f"{NEW}?example=1").context["form"]
    assert (form.rule_name, form.typed.startswith("# Style")) == ("style", True)


# --- one rule -----------------------------------------------------------------------------------


def test_a_rule_is_shown_as_people_and_as_agents_read_it(
    style: queries.RuleText, keeper: Client
) -> None:
    answer = keeper.get(page())
    assert "<h3>Valves</h3>" in answer.content.decode()
    assert "# Valves\n\n- Close valve 3 first." in answer.content.decode()
    assert "created by maintainer" in words(answer)


def test_the_history_tells_who_and_why_and_brings_an_old_text_back(
    ops: World, style: queries.RuleText, keeper: Client
) -> None:
    rules.set_rule(ops.owner, ops.bank, "style", "Close valve 4 first.", reason="valve 3 is gone")
    said = words(keeper.get(page()))
    assert "r2 replaced by owner current · just now What changed valve 3 is gone" in said
    restored = keeper.post(
        page(act="/revert"), {"to": style.version, "version": now(ops).version}, follow=True
    )
    assert restored.redirect_chain == [(page(), 303)]
    told = (
        "Restored. Running sessions are told with their next turn; new ones begin with this text."
    )
    assert told in words(restored)
    assert "r3 reverted by maintainer" in words(restored)
    assert "as in r1" in words(restored)
    assert "as in revision" not in words(restored)
    assert now(ops).content == STYLE
    assert revisions.of_rule(ops.bank, "style")[0].reason == "as in revision 1"


def test_two_states_can_be_compared_and_are_named(
    ops: World, style: queries.RuleText, keeper: Client
) -> None:
    rules.set_rule(ops.owner, ops.bank, "style", STYLE.replace("valve 4", "valve 5"))
    address = page(act="/compare?from=r1&to=r2")
    for answer in (keeper.get(address), part(keeper, address, "compare")):
        said = words(answer)
        assert "r1 created by maintainer" in said
        assert "r2 replaced by owner" in said
        assert "<ins>5</ins>" in answer.content.decode()
    assert keeper.get(page(act="/compare?from=r1&to=r7")).status_code == 404


def test_a_removed_rule_keeps_its_page_and_can_come_back(
    ops: World, style: queries.RuleText, keeper: Client
) -> None:
    gone = keeper.post(page(act="/delete"), {"version": style.version}, follow=True)
    assert gone.redirect_chain == [(f"{LIST}#list", 303)]
    assert "Removed." in words(gone)
    shown = keeper.get(page())
    assert "This rule was removed" in words(shown)
    assert "removed by maintainer" in words(shown)
    keeper.post(page(act="/revert"), {"to": style.version, "version": ""})
    assert now(ops).content == STYLE


def test_removed_rules_are_listed_below_the_others(
    ops: World, style: queries.RuleText, keeper: Client
) -> None:
    rules.set_rule(ops.maintainer, ops.bank, "zones", "Zone 1 first.")
    assert "Removed rules" not in words(keeper.get(LIST))
    for name in ("zones", "style"):
        rules.set_rule(ops.owner, ops.bank, name, "")
        answer = keeper.get(LIST)
        assert f"{name} removed just now by owner" in words(answer)
        assert f'href="{page(name)}"' in answer.content.decode()
    assert "No rule yet" in words(keeper.get(LIST))


def test_a_size_is_told_as_the_budget_counts_it(ops: World, keeper: Client) -> None:
    rules.set_rule(ops.maintainer, ops.bank, "style", "\n  Be brief.\n\n")
    assert keeper.get(LIST).context["list"].rows[0].chars == 11
    ops.bank.settings = {"rules_off": ["style"]}
    ops.bank.save()
    assert keeper.get(LIST).context["list"].rows[0].chars == 11


def test_a_page_that_is_out_of_date_removes_nothing(
    ops: World, style: queries.RuleText, keeper: Client
) -> None:
    answer = keeper.post(page(act="/delete"), {"version": "0123456789abcdef"}, follow=True)
    assert "It has changed since you read it" in words(answer)
    assert now(ops) == style


def test_what_was_done_can_be_undone(ops: World, style: queries.RuleText, keeper: Client) -> None:
    answer = keeper.post(page(act="/delete"), {"version": style.version}, follow=True)
    undo = re.search(r'action="(/b/ops/undo/[^"]+)"', answer.content.decode())
    assert undo
    back = keeper.post(undo[1], {"next": LIST}, follow=True)
    assert back.redirect_chain == [(LIST, 303)]
    assert now(ops).content == STYLE


@pytest.mark.parametrize("act", ["", "/edit", "/compare?from=r1&to=r1"])
def test_an_unknown_rule_is_not_found(ops: World, keeper: Client, act: str) -> None:
    for name in ("valves", "No%20name"):
        assert keeper.get(page(name, act)).status_code == 404


# --- editor -------------------------------------------------------------------------------------


def test_a_new_rule_is_in_its_file_with_its_reason(
    ops: World, keeper: Client, settings: Settings
) -> None:
    typed = {"name": "valves", "text": "Close valve 3.\r\nThen 4.", "reason": "asked twice"}
    answer = keeper.post(NEW, typed | {"base": ""})
    assert answer["Location"] == f"{page('valves')}#edit-valves"
    file = settings.DATA_DIR / "ops" / "rules" / "valves.md"
    assert file.read_text() == "Close valve 3.\nThen 4."
    assert revisions.of_rule(ops.bank, "valves")[0].reason == "asked twice"


def test_an_edit_is_saved_told_and_can_be_undone(
    ops: World, style: queries.RuleText, keeper: Client
) -> None:
    answer = keeper.post(page(act="/edit"), sent(style, text="Close valve 5."), follow=True)
    uid = audit.of_version(ops.bank, "style", now(ops).version)
    assert f'action="/b/ops/undo/{uid}"' in answer.content.decode()
    keeper.post(f"/b/ops/undo/{uid}")
    assert now(ops).content == STYLE


def test_a_save_of_nothing_offers_no_undo_of_something_else(
    ops: World, style: queries.RuleText, keeper: Client
) -> None:
    count = Change.objects.count()
    answer = keeper.post(page(act="/edit"), sent(style), follow=True)
    assert "Nothing was changed" in words(answer)
    assert "/undo/" not in answer.content.decode()
    assert Change.objects.count() == count


def test_a_secret_is_masked_and_that_is_told(ops: World, keeper: Client) -> None:
    typed = {"name": "keys", "text": "Use token ghp_" + "a1B2" * 9 + "."}
    said = words(keeper.post(NEW, typed, follow=True))
    assert "It held a secret" in said
    assert "ghp_a1B2" not in said


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ({"name": "No name", "text": "x"}, "A rule name has 1 to 64 characters"),
        ({"name": "valves", "text": " \r\n"}, "Write what agents are to follow."),
        ({"name": "valves", "text": "a\x07b"}, "control character"),
        ({"name": "valves", "text": "x" * 50_001}, "50000 are allowed"),
    ],
)
def test_what_cannot_be_saved_is_told_at_its_field_and_kept(
    ops: World, keeper: Client, typed: dict[str, str], told: str
) -> None:
    answer = keeper.post(NEW, typed)
    assert answer.status_code == 422
    assert told in words(answer)
    assert answer.context["form"].typed == typed["text"]
    assert queries.rules(ops.bank) == []


def test_a_rule_without_words_is_removed_only_when_said_twice(
    ops: World, style: queries.RuleText, keeper: Client
) -> None:
    answer = keeper.post(page(act="/edit"), sent(style, text=" "))
    assert answer.status_code == 422
    assert "Remove the rule style?" in words(answer)
    assert now(ops) == style
    sure = keeper.post(page(act="/edit"), sent(style, text=" ", empty="1"))
    assert sure["Location"] == f"{LIST}#list"
    assert queries.rules(ops.bank) == []


# --- preview ------------------------------------------------------------------------------------


def test_a_preview_renders_and_counts_and_changes_nothing(
    ops: World, style: queries.RuleText, keeper: Client
) -> None:
    text = "# Kilns\r\n\r\n<script>alert(1)</script>"
    answer = part(keeper, f"{NEW}/preview", "preview", sent(style, text=text))
    body = answer.content.decode()
    assert body.lstrip().startswith('<div id="preview"')
    assert "<h3>Kilns</h3>" in body
    assert "&lt;script&gt;" in body
    assert '<div id="meter" class="budget" hx-swap-oob="true">' in body
    assert f"this rule: {len('# Kilns') + 2 + 25}" in words(answer)
    assert now(ops) == style


def test_without_script_the_preview_is_a_page_that_keeps_what_was_typed(
    style: queries.RuleText, keeper: Client
) -> None:
    typed = sent(style, text="**Kilns**", reason="why not")
    answer = keeper.post(f"{NEW}/preview", typed)
    body = answer.content.decode()
    assert "<strong>Kilns</strong>" in body
    assert "**Kilns**</textarea>" in body
    assert 'value="why not"' in body
    assert f'name="base" value="{style.version}"' in body
    assert f'action="{page(act="/edit")}"' in body


def test_a_preview_over_the_budget_names_what_would_be_cut(ops: World, keeper: Client) -> None:
    rules.set_rule(ops.maintainer, ops.bank, "zones", "Zone 1 first.\nThen zone 2.")
    typed = {"name": "kilns", "text": "Fire slowly.\n" * 460}
    said = words(part(keeper, f"{NEW}/preview", "preview", typed))
    assert "6,005 of 6,000 characters in all rules 5 over" in said
    assert "zones is cut: agents get the first 1 of 2 lines, 13 of 26 characters." in said
    typed = {"name": "kilns", "text": "Fire slowly.\n" * 900}
    said = words(part(keeper, f"{NEW}/preview", "preview", typed))
    assert "This rule is cut: agents get the first 461 of 900 lines" in said


@pytest.mark.parametrize("who", ["viewer", "editor"])
def test_who_may_not_set_rules_reads_them_and_is_offered_nothing(
    style: queries.RuleText, browser: Browser, who: str
) -> None:
    client = browser(who)
    for address in (LIST, page(), page(act="/compare?from=r1&to=r1")):
        body = client.get(address).content.decode()
        assert LIST not in re.findall(r'action="(/b[^"]*)"', body)
        assert page(act="/edit") not in body
    for address in (page(act="/edit"), NEW):
        assert client.get(address).status_code == 403
    for address in ("/edit", "/delete", "/revert"):
        assert client.post(page(act=address), sent(style)).status_code == 403
    for address in (f"{NEW}/preview", NEW):
        assert client.post(address, sent(style)).status_code == 403


# --- edits that met -------------------------------------------------------------------------------


def test_two_edits_meet_and_each_way_on_works(
    ops: World, style: queries.RuleText, keeper: Client
) -> None:
    theirs = STYLE.replace("valve 3", "valve 7")
    rules.set_rule(ops.owner, ops.bank, "style", theirs)
    mine = STYLE.replace("valve 4", "valve 9")
    answer = keeper.post(page(act="/edit"), sent(style, text=mine.replace("\n", "\r\n")))
    assert answer.status_code == 409
    assert "replaced by owner" in words(answer)
    clash = answer.context["clash"]
    assert (clash.texts.was, clash.texts.now, clash.texts.mine) == (STYLE, theirs, mine)
    assert answer.context["form"].typed == theirs.replace("valve 4", "valve 9")
    assert now(ops).content == theirs
    again = keeper.post(page(act="/edit"), dict(answer.context["mine"]))
    assert again.status_code == 303
    assert now(ops).content == mine


def test_a_merge_with_its_marks_is_not_saved(
    ops: World, style: queries.RuleText, keeper: Client
) -> None:
    rules.set_rule(ops.owner, ops.bank, "style", STYLE.replace("valve 3", "valve 7"))
    theirs = now(ops)
    mine = STYLE.replace("valve 3", "valve 9")
    answer = keeper.post(page(act="/edit"), sent(style, text=mine))
    for _ in range(2):
        merge = merge_of(answer)
        assert "[yours: " in merge["text"]
        answer = keeper.post(page(act="/edit"), merge)
        assert answer.status_code == 422
        assert "Choose in 1 place first" in words(answer)
        assert (answer.context["clash"].texts.was, now(ops)) == (STYLE, theirs)
        assert answer.context["clash"].texts.mine.strip() == mine.strip()
    decided = merge_of(answer) | {"text": "Close valve 8."}
    assert keeper.post(page(act="/edit"), decided).status_code == 303
    assert now(ops).content == "Close valve 8."


def test_a_new_rule_whose_name_is_taken_meets_the_one_that_is_there(
    ops: World, style: queries.RuleText, keeper: Client
) -> None:
    typed = {"name": "style", "text": "Close valve 8.", "reason": "", "base": ""}
    answer = keeper.post(NEW, typed)
    assert answer.status_code == 409
    assert answer.context["action"] == page(act="/edit")
    assert dict(answer.context["mine"])["text"] == "Close valve 8."
    assert now(ops) == style


def test_an_edit_of_a_rule_that_was_removed_loses_nothing(
    ops: World, style: queries.RuleText, keeper: Client
) -> None:
    rules.set_rule(ops.owner, ops.bank, "style", "")
    answer = keeper.post(page(act="/edit"), sent(style, text="Close valve 8."))
    assert answer.status_code == 409
    assert "removed by owner" in words(answer)
    keeper.post(answer.context["action"], dict(answer.context["mine"]))
    assert now(ops).content == "Close valve 8."


def test_two_clicks_on_save_are_no_clash(
    ops: World, style: queries.RuleText, keeper: Client
) -> None:
    for _ in range(2):
        answer = keeper.post(page(act="/edit"), sent(style, text="Close valve 5."))
        assert answer.status_code == 303
    assert len(revisions.of_rule(ops.bank, "style")) == 2
