"""The import contracts bite: each planted violation is found by the lint."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = ("memoryconsole", "banks", "recall")

pytestmark = pytest.mark.wide  # the lint reads the whole tree, once a planted violation


def lint(tree: Path) -> tuple[int, str]:
    done = subprocess.run(
        [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"],
        cwd=tree,
        env=os.environ | {"COLUMNS": "200"},  # a wrapped name would not be found
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the packages that may be spoilt."""
    for package in PACKAGES:
        shutil.copytree(
            ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_tree_as_it_is_keeps_every_contract(tree: Path) -> None:
    status, said = lint(tree)
    assert status == 0, said


@pytest.mark.parametrize(
    ("path", "line", "contract"),
    [
        ("banks/models.py", "import recall", "The project knows recall"),
        ("recall/engine/query.py", "import memoryconsole.env", "The project knows recall"),
        ("banks/journal.py", "import banks.services", "Inside banks"),
        ("banks/store/names.py", "import banks.models", "Inside banks"),
        ("banks/store/parse.py", "import banks.store.files", "Inside the store"),
        ("banks/store/names.py", "import pathlib", "The markdown format knows no disk"),
        ("banks/store/render.py", "import random", "The markdown format knows no disk"),
        ("banks/store/disk.py", "import django.conf", "knows no framework"),
        ("recall/engine/scoring.py", "import time", "The recall engine knows no disk"),
        ("recall/engine/scoring.py", "import django.conf", "The recall engine knows no framework"),
        ("banks/sync.py", "import whoosh.index", "One package knows Whoosh"),
        ("banks/api/tags.py", "import banks.models", "The API touches"),
        ("memoryconsole/console/views/memories.py", "import banks.models", "The console imports"),
        ("memoryconsole/console/listing.py", "import recall.index", "The console imports"),
    ],
)
def test_a_planted_import_is_found(tree: Path, path: str, line: str, contract: str) -> None:
    with (tree / path).open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")
    status, said = lint(tree)
    assert status != 0
    broken = [row for row in said.splitlines() if " BROKEN" in row]
    assert any(contract in row for row in broken), said
