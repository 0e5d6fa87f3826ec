"""Where things are in the folder of a bank."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from banks.store import router, scan, tree
from banks.store.errors import InvalidName
from banks.store.types import Category

AUGUST = datetime(2026, 8, 24, 10, 15, tzinfo=UTC)
# field case A22
OUTSIDE = ["../x.md", "/x.md", "semantic_memory/../../x.md", "..", ".", "", "a\\..\\x.md"]


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        (".history/mem_2026-08-24_9f3a1c.log", True),
        (".history/rules/style_2.log", True),
        (".history/rules/Upper.log", False),
        (".history/other/mem_1.log", False),
        (".history/mem_1.md", False),
        (".history/mem_1", False),
        (".history/..log", False),
        ("mem_1.log", False),
    ],
)
def test_a_file_of_the_history_is_known_by_its_path(path: str, is_one: bool) -> None:
    assert tree.is_history_file(path) is is_one


@pytest.mark.parametrize(
    ("path", "is_one"),
    [
        ("bank.yaml", True),
        ("index.md", True),
        ("semantic_memory/facts-2.md", True),
        ("rules/style.md", True),
        ("episodic_memory/a/b/c/d/e/f/g/x.md", True),
        ("episodic_memory/a/b/c/d/e/f/g/h/x.md", False),
        ("semantic_memory/old.bak/facts.md", False),
        ("semantic_memory/facts.md~", False),
        ("rules/Not A Rule.md", False),
        ("notes/facts.md", False),
        ("semantic_memory//facts.md", False),
        (".history/mem_1.log", False),
        *((path, False) for path in OUTSIDE),
    ],
)
def test_what_a_walk_would_take_is_known_by_its_path(path: str, is_one: bool) -> None:
    assert scan.is_ours(path) is is_one


def test_a_new_bank_has_the_seven_files_of_the_layout() -> None:
    assert sorted(tree.SEED_FILES) == [
        "episodic_memory/index.md",
        "index.md",
        "preferences.md",
        "procedural_memory/index.md",
        "semantic_memory/facts.md",
        "semantic_memory/index.md",
        "semantic_memory/rules.md",
    ]
    for path in tree.SEED_FILES:
        folder = path.rpartition("/")[0]
        assert not folder or folder in tree.SEED_FOLDERS


def test_seed_files_hold_no_entry_and_end_with_a_line_end() -> None:
    for text in tree.SEED_FILES.values():
        assert text.endswith("\n")
        assert "---" not in text.split("\n")


def test_seed_routers_lead_to_every_other_seed_file() -> None:
    listed: set[str] = set()
    for path, text in tree.SEED_FILES.items():
        if tree.is_router(path):
            folder = path.removesuffix("index.md")
            listed |= {folder + row.file for row in router.rows(text.encode())}
    assert listed == set(tree.SEED_FILES) - {"index.md"}


def test_seed_rows_are_what_a_rebuild_would_write() -> None:
    for path, text in tree.SEED_FILES.items():
        for row in router.rows(text.encode()) if tree.is_router(path) else ():
            if not tree.is_router(row.file):
                assert row == router.describe(row.file, ())


@pytest.mark.parametrize(
    ("category", "first", "second"),
    [
        (
            Category.EVENTS,
            "episodic_memory/events/2026-08.md",
            "episodic_memory/events/2026-08-2.md",
        ),
        (
            Category.FEEDBACKS,
            "episodic_memory/feedbacks/2026-08.md",
            "episodic_memory/feedbacks/2026-08-2.md",
        ),
        (
            Category.ERRORS,
            "episodic_memory/errors/2026-08.md",
            "episodic_memory/errors/2026-08-2.md",
        ),
        (Category.FACTS, "semantic_memory/facts.md", "semantic_memory/facts-2.md"),
        (Category.RULES, "semantic_memory/rules.md", "semantic_memory/rules-2.md"),
        (Category.PREFERENCES, "preferences.md", "preferences-2.md"),
    ],
)
def test_home_of_each_category_and_back(category: Category, first: str, second: str) -> None:
    assert tree.home(category, AUGUST) == first
    assert tree.home(category, AUGUST, 2) == second
    assert tree.category_of(first) == tree.category_of(second) == category
    assert tree.is_entry_file(first)


def test_home_of_an_episode_is_its_utc_month() -> None:
    late = datetime(2026, 8, 31, 23, tzinfo=timezone(timedelta(hours=-3)))
    assert tree.home(Category.EVENTS, late) == "episodic_memory/events/2026-09.md"


def test_home_of_a_procedure_needs_its_slug() -> None:
    with pytest.raises(ValueError, match="procedure"):
        tree.home(Category.PROCEDURE, AUGUST)
    path = tree.procedure_path("start-the-kiln")
    assert path == "procedural_memory/start-the-kiln.md"
    assert tree.category_of(path) is Category.PROCEDURE


@pytest.mark.parametrize("slug", ["index", "../x", "", "a/b"])
def test_procedure_path_refuses_what_is_no_slug(slug: str) -> None:
    with pytest.raises(InvalidName):
        tree.procedure_path(slug)


@pytest.mark.parametrize(
    "path",
    [
        "notes.md",
        "semantic_memory/notes.md",
        "semantic_memory/facts-1.md",
        "semantic_memory/facts-02.md",
        "semantic_memory/facts-²2.md",
        "semantic_memory/-2.md",
        "semantic_memory/facts/deep.md",
        "procedural_memory/a/b.md",
        "episodic_memory/x.md",
        "episodic_memory/other/2026-08.md",
        "episodic_memory/events/a/b.md",
    ],
)
def test_files_elsewhere_in_the_tree_are_read_but_say_no_category(path: str) -> None:
    assert tree.is_entry_file(path)
    assert tree.category_of(path) is None


@pytest.mark.parametrize(
    "path",
    [
        *OUTSIDE,
        "index.md",
        "semantic_memory/index.md",
        "rules/style.md",
        ".history/a.md",
        "semantic_memory/.mc-tmp-1.md",
        "other/x.md",
        "facts.txt",
        "bank.yaml",
        "a\0b.md",
    ],
)
def test_other_files_are_no_entry_files(path: str) -> None:
    assert not tree.is_entry_file(path)
    assert tree.category_of(path) is None
    with pytest.raises(ValueError, match="router row"):
        tree.router_of(path)


def test_only_the_root_and_the_memory_folders_have_routers() -> None:
    assert tree.is_router("index.md")
    assert tree.is_router("episodic_memory/index.md")
    assert not tree.is_router("rules/index.md")
    assert not tree.is_router("episodic_memory/events/index.md")
    assert not tree.is_router("preferences.md")


def test_rule_files_and_names_lead_to_each_other() -> None:
    assert tree.rule_path("style_2") == "rules/style_2.md"
    assert tree.rule_of("rules/style_2.md") == "style_2"
    assert tree.is_rule_file("rules/style_2.md")
    assert tree.rule_history_path("style_2") == ".history/rules/style_2.log"


@pytest.mark.parametrize("name", ["Style", "../x", "", "a/b", "ops.db"])
def test_rule_paths_refuse_other_names(name: str) -> None:
    with pytest.raises(InvalidName):
        tree.rule_path(name)
    with pytest.raises(InvalidName):
        tree.rule_history_path(name)


@pytest.mark.parametrize("path", ["rules/Style.md", "rules/a/b.md", "style.md", "rules/a.txt"])
def test_other_paths_are_no_rule_files(path: str) -> None:
    assert not tree.is_rule_file(path)
    with pytest.raises(InvalidName):
        tree.rule_of(path)


def test_history_is_kept_by_id_under_a_hidden_folder() -> None:
    assert tree.history_path("mem_2026-08-24_9f3a1c") == ".history/mem_2026-08-24_9f3a1c.log"
    for bad in ("../x", "", "a/b"):
        with pytest.raises(InvalidName):
            tree.history_path(bad)


@pytest.mark.parametrize(
    ("path", "expected", "root_row"),
    [
        ("preferences.md", ("index.md", "preferences.md"), None),
        (
            "semantic_memory/facts-2.md",
            ("semantic_memory/index.md", "facts-2.md"),
            "semantic_memory/index.md",
        ),
        (
            "episodic_memory/events/2026-08.md",
            ("episodic_memory/index.md", "events/2026-08.md"),
            "episodic_memory/index.md",
        ),
    ],
)
def test_router_rows_are_named_within_the_router_folder(
    path: str, expected: tuple[str, str], root_row: str | None
) -> None:
    assert tree.router_of(path) == expected
    assert tree.root_row_of(path) == root_row


def test_the_log_of_a_rule_names_its_rule() -> None:
    assert tree.rule_of_log(tree.rule_history_path("style-2")) == "style-2"
