"""The documents say what the code does: settings, checks, commands, codes, modules, links."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

from banks.access import AGENT_SCOPES, Scope
from banks.store import fields
from banks.store.types import Category, Origin, Trust

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def section(page: str, heading: str) -> str:
    """The text below a heading, up to the next one of any level."""
    found = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#|\Z)", read(page), re.M | re.S)
    assert found, heading
    return found[1]


def first_cells(text: str) -> set[str]:
    """The words in code quotes in the first column of the tables of a text."""
    rows = re.findall(r"^\| ([^|]*) \|", text, re.MULTILINE)
    return {word for row in rows for word in re.findall(r"`([^`]+)`", row)}


def sources(*names: str) -> Iterable[str]:
    return (read(name) for name in names)


def settings_read() -> set[str]:
    """The variables that the settings module reads, without prefix."""
    found = re.findall(r"env\.(\w+)\(\s*\"([A-Z_]+)\"", read("memoryconsole/settings.py"))
    return {name for _, name in found}


def test_every_setting_is_documented_and_every_documented_one_is_read() -> None:
    documented = set(re.findall(r"^\| `([A-Z_]+)` \|", read("docs/settings.md"), re.MULTILINE))
    assert documented == settings_read()


def test_the_example_environment_lists_every_setting() -> None:
    listed = set(re.findall(r"^#MEMORYCONSOLE_([A-Z_]+)=", read(".env.example"), re.MULTILINE))
    secrets = {name for name in listed if name.endswith("_FILE")}
    assert listed - secrets == settings_read()
    assert {name.removesuffix("_FILE") for name in secrets} <= settings_read()


def test_every_system_check_is_documented_and_none_is_invented() -> None:
    pattern = r"memoryconsole\.[EW]\d{3}"
    documented = set(re.findall(pattern, read("docs/settings.md")))
    assert documented == set(re.findall(pattern, read("memoryconsole/checks.py")))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere_and_every_make_command_is_a_target(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []
    targets = set(re.findall(r"^([a-z0-9-]+):", read("Makefile"), re.MULTILINE))
    used = {
        word
        for command in re.findall(r"^\$ make ([a-z0-9 -]+)|`make ([a-z0-9-]+)`", text, re.MULTILINE)
        for word in " ".join(command).split("  ")[0].split()
    }
    assert used <= targets


def test_every_decision_is_on_the_list() -> None:
    pages = {page.name for page in (ROOT / "docs/adr").glob("0*.md")}
    assert pages == set(re.findall(r"\((0\d{3}-[a-z-]+\.md)\)", read("docs/adr/README.md")))


def test_the_top_heading_of_the_changelog_is_the_version() -> None:
    from memoryconsole.settings import VERSION

    assert re.fullmatch(r"\d+\.\d+\.\d+", VERSION)


def test_every_link_to_a_heading_finds_it() -> None:
    lost = []
    for page in PAGES:
        for path, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text("utf-8")):
            target = (page.parent / path) if path else page
            titles = re.findall(r"^#+ (.+)$", target.read_text("utf-8"), re.MULTILINE)
            slugs = {
                re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in titles
            }
            lost += [(page.name, anchor)] if anchor not in slugs else []
    assert lost == []


def test_every_command_is_documented_with_its_options_and_none_is_invented() -> None:
    ours = {"banks", "recall", "memoryconsole"}
    commands = {}
    for name, app in get_commands().items():
        if isinstance(app, str) and app in ours:
            parser = load_command_class(app, name).create_parser("manage.py", name)
            commands[name] = {
                option
                for action in parser._actions
                for option in action.option_strings
                if option.startswith("--")
            }
    common = set.intersection(*commands.values())
    documented: dict[str, set[str]] = {}
    table = section("docs/operations.md", "Commands")
    rows = re.findall(r"^\|([^|]*)\|([^|]*)\|", table, re.MULTILINE)
    for command, option in rows[2:]:
        if words := re.findall(r"`([a-z]+)[^`]*`", command):
            options = documented.setdefault(words[0], set())
        options |= set(re.findall(r"--[a-z-]+", option))
    assert documented == {name: options - common for name, options in commands.items()}


def test_every_scope_is_documented_and_what_an_agent_gets_is_marked() -> None:
    text = section("docs/operations.md", "Scopes of a token")
    assert first_cells(text) == {scope.value for scope in Scope}
    marked = set(re.findall(r"`([a-z:]+)` \*", text))
    assert marked == {scope.value for scope in AGENT_SCOPES}


def test_every_code_of_a_problem_or_warning_is_documented_and_none_is_invented() -> None:
    problems = first_cells(section("docs/format.md", "What cannot be read"))
    warnings = first_cells(section("docs/format.md", "What is read, with a warning"))
    told = set()
    for text in sources(
        "banks/store/parse.py", "banks/store/fields.py", "banks/store/frontmatter.py",
        "banks/surveys.py", "banks/findings.py",
    ):  # fmt: skip
        told |= set(re.findall(r"(?:Problem|Note|Unreadable|_Wrong)\(\s*\"([a-z0-9_]+)\"", text))
        told |= set(re.findall(r"\"((?:missing|unknown)_[a-z]+)\"", text))
    told |= set(re.findall(r"^[A-Z]+ = \"([a-z]+)\"", read("banks/links.py"), re.MULTILINE))
    assert problems | warnings == told
    assert not problems & warnings


def test_every_reason_to_pass_a_file_over_is_documented() -> None:
    from banks.findings import IGNORED

    text = section("docs/format.md", "What is read, with a warning").partition("Passed over")[2]
    assert set(re.findall(r"`([a-z_]+)`(?: \(|,)", text)) == IGNORED.keys()


def test_every_key_and_word_of_an_entry_is_documented() -> None:
    text = section("docs/format.md", "An entry")
    keys, categories = text.split("| Category |")
    assert first_cells(keys) == set(fields.KEYS)
    required = re.findall(r"^\| `([a-z]+)` \| required \|", keys, re.MULTILINE)
    assert set(required) == fields._REQUIRED.keys()
    assert first_cells(categories) == {each.value for each in Category}
    words = set(re.findall(r"`([a-z_]+)`", keys))
    assert {each.value for each in (*Origin, *Trust)} <= words
    assert set(fields._BANK) <= set(
        re.findall(r"`([a-z_]+)`", section("docs/format.md", "bank.yaml"))
    )


def test_the_map_of_modules_shows_every_module() -> None:
    text = read("docs/architecture.md")
    shown = set(re.findall(r"[a-z_]+", " ".join(first_cells(text))))
    for folder in ("banks", "banks/store", "banks/services", "recall", "recall/engine"):
        there = {path.stem for path in (ROOT / folder).glob("*.py")}
        assert there - {"__init__", "apps"} <= shown, folder


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_holds_a_path_of_somebodys_machine(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert re.findall(r"(?<![\w.<>])/(?:home|root|tmp|work|Users|opt|mnt)/\S*", text) == []
