"""`manage.py import`: what is told, and the exit code."""

import json
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from banks.models import Bank, Entry

pytestmark = pytest.mark.usefixtures("transactional_db")

GOOD = "---\nid: m1\ncreated: 2024-03-01\ncategory: facts\nsummary: Kiln\n---\n\nKiln 4 is hot\n"
BAD = GOOD.replace("m1", "m2").replace("2024-03-01", "soon")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    top = tmp_path / "tree"
    (top / "semantic_memory").mkdir(parents=True)
    (top / "semantic_memory" / "facts.md").write_text(f"{GOOD}\n{BAD}")
    return top


def run(*args: object) -> tuple[int, str]:
    out, code = StringIO(), 0
    try:
        call_command("import", *args, stdout=out)
    except SystemExit as stop:
        code = int(str(stop.code))
    return code, out.getvalue()


def test_problems_are_told_with_file_and_line_and_fail_the_command(tree: Path) -> None:
    code, out = run(tree, "--bank", "ops")
    assert code == 1
    assert "semantic_memory/facts.md:12  bad_time" in out
    assert "1 memory found, 1 of them live; 1 imported" in out
    assert Entry.objects.count() == 1


def test_a_clean_import_ends_well(tree: Path) -> None:
    (tree / "semantic_memory" / "facts.md").write_text(GOOD)
    assert run(tree, "--bank", "ops")[0] == 0
    assert run(tree, "--bank", "ops")[0] == 0
    assert Entry.objects.count() == 1


def test_a_dry_run_writes_nothing_and_says_so(tree: Path) -> None:
    code, out = run(tree, "--bank", "ops", "--dry-run")
    assert code == 1
    assert "1 would be imported" in out
    assert not Bank.objects.exists()
    assert list(settings.DATA_DIR.iterdir()) == []


def test_the_report_is_there_for_machines(tree: Path) -> None:
    _, out = run(tree, "--bank", "ops", "--json")
    report = json.loads(out)
    assert (report["added"], report["is_new"], report["is_complete"]) == (1, True, False)
    assert report["findings"][0]["code"] == "bad_time"


# field case A22
@pytest.mark.parametrize("name", ["../escape", "/etc/x", "..", ".trash", "Ops", "ops\n"])
def test_a_bad_name_is_refused(tree: Path, name: str) -> None:
    with pytest.raises(CommandError) as caught:
        call_command("import", tree, bank=name)
    assert str(settings.DATA_DIR) not in str(caught.value)
    assert list(settings.DATA_DIR.iterdir()) == []


def test_the_very_first_import_makes_the_data_folder(tree: Path) -> None:
    settings.DATA_DIR.rmdir()
    run(tree, "--bank", "ops")
    assert (settings.DATA_DIR / "ops" / "bank.yaml").is_file()
