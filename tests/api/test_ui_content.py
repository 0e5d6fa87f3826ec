"""GET /ui-content."""

from pathlib import Path

import pytest

from tests.api.conftest import Api

STATIC = Path(__file__).resolve().parent.parent.parent / "static"


@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        ("css/app.css", "text/css"),
        ("js/app.js", "text/javascript"),
        ("img/mark.svg", "image/svg+xml"),
    ],
)
def test_a_file_of_the_console_is_given_word_for_word(
    editor: Api, path: str, content_type: str
) -> None:
    told = editor.ok("GET", f"/ui-content?path={path}")
    assert told == {"content": (STATIC / path).read_text("utf-8"), "content_type": content_type}


@pytest.mark.parametrize(
    "path",
    [
        "", ".", "css", "css/", "css/none.css", "../manage.py", "css/../js/app.js", "/css/app.css",
        "./css/app.css", "css//app.css", "..%2Fmanage.py", "CSS/app.css", "admin/css/base.css",
    ],
)  # fmt: skip
def test_any_other_path_is_absent(editor: Api, path: str) -> None:
    editor.refused(404, "not_found", "GET", f"/ui-content?path={path}")
