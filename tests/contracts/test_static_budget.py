"""What a first visit loads stays small."""

from pathlib import Path

import pytest

STATIC = Path(__file__).resolve().parents[2] / "static"
KB = 1024


BUDGETS = [
    (("css/app.css",), 15 * KB),
    (("css/pages.css",), 9 * KB),
    (("js/app.js", "js/live.js"), 12 * KB),
    # What single pages load besides.
    (("css/rules.css",), 4 * KB),
    (("css/settings.css",), 4 * KB),
    (("css/review.css",), 4 * KB),
    (("css/admin.css",), 4 * KB),
    (("js/editor.js",), 3 * KB),
]


@pytest.mark.parametrize(("names", "most"), BUDGETS, ids=str)
def test_our_own_files_stay_within_their_budget(names: tuple[str, ...], most: int) -> None:
    sizes = {name: (STATIC / name).stat().st_size for name in names}
    assert sum(sizes.values()) <= most, sizes


def test_every_style_and_script_has_a_budget() -> None:
    budgeted = {name for names, _ in BUDGETS for name in names}
    there = {str(path.relative_to(STATIC)) for path in STATIC.rglob("*") if path.is_file()}
    assert {name for name in there if name.endswith((".css", ".js"))} == budgeted


@pytest.mark.parametrize("path", sorted(STATIC.glob("js/*.js")), ids=lambda path: path.name)
def test_no_script_keeps_anything_in_the_browser_or_builds_code(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for word in (
        "localStorage",
        "sessionStorage",
        "indexedDB",
        "eval(",
        "new Function",
        "innerHTML",
    ):
        assert word not in text
