"""The documents say what the code does: settings, checks, commands, links."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


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
