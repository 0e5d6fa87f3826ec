"""The folder of a bank: which file an entry goes to, and what a path in it stands for.

Paths are relative to the bank's folder, with `/`. Nothing here touches a disk.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType

from banks.store import names
from banks.store.errors import InvalidName
from banks.store.types import Category, Kind

# A file past this size takes no new entry; the next one of its category opens a shard beside it.
SHARD_BYTES = 1_000_000

ROUTER = "index.md"
BANK_FILE = "bank.yaml"
RULES_FOLDER = "rules"
HISTORY_FOLDER = ".history"
RULE_HISTORIES = f"{HISTORY_FOLDER}/{RULES_FOLDER}"
EPISODIC_FOLDER = "episodic_memory"
SEMANTIC_FOLDER = "semantic_memory"
PROCEDURAL_FOLDER = "procedural_memory"
PREFERENCES_STEM = "preferences"

# What a router says of a file that holds no entry yet.
EMPTY_DESCRIPTION = "No entries yet"

SEED_FOLDERS: tuple[str, ...] = (
    RULES_FOLDER,
    EPISODIC_FOLDER,
    SEMANTIC_FOLDER,
    PROCEDURAL_FOLDER,
    HISTORY_FOLDER,
    RULE_HISTORIES,
)

_TABLE = "| File | Description | Tags | Updated |\n| --- | --- | --- | --- |\n"
_HISTORY_SUFFIX = ".log"
_SUFFIX = ".md"
_MEMORY_FOLDERS = frozenset({EPISODIC_FOLDER, SEMANTIC_FOLDER, PROCEDURAL_FOLDER})
_EPISODIC = {
    "events": Category.EVENTS,
    "feedbacks": Category.FEEDBACKS,
    "errors": Category.ERRORS,
}
_SEMANTIC = {"facts": Category.FACTS, "rules": Category.RULES}
_DEEP = 3

SEED_FILES: Mapping[str, str] = MappingProxyType(
    {
        ROUTER: (
            "# Memory of this bank\n"
            "\n"
            "Start here: the table tells which file to open for what.\n"
            "\n" + _TABLE + "| episodic_memory/index.md | Events, feedback and errors by month"
            " | episodic |  |\n"
            f"| preferences.md | {EMPTY_DESCRIPTION} |  |  |\n"
            "| procedural_memory/index.md | Step-by-step procedures | procedural |  |\n"
            "| semantic_memory/index.md | Facts and remembered rules | semantic |  |\n"
        ),
        "preferences.md": "# Preferences\n\nHow people here like to have things done.\n",
        f"{EPISODIC_FOLDER}/{ROUTER}": (
            "# Episodes\n"
            "\n"
            "Things that took place, each with its day. One file for each month.\n"
            "\n" + _TABLE
        ),
        f"{SEMANTIC_FOLDER}/{ROUTER}": (
            "# Knowledge\n"
            "\n"
            "Things that hold now. What has been replaced stays behind as history.\n"
            "\n" + _TABLE + f"| facts.md | {EMPTY_DESCRIPTION} |  |  |\n"
            f"| rules.md | {EMPTY_DESCRIPTION} |  |  |\n"
        ),
        f"{SEMANTIC_FOLDER}/facts.md": "# Facts\n\nWhat is known.\n",
        f"{SEMANTIC_FOLDER}/rules.md": (
            "# Remembered rules\n"
            "\n"
            "Found by recall when they fit. Rules for every prompt are in the folder rules.\n"
        ),
        f"{PROCEDURAL_FOLDER}/{ROUTER}": (
            "# Procedures\n\nWays of doing a job, one job a file.\n\n" + _TABLE
        ),
    }
)


def home(category: Category, created: datetime, shard: int = 1) -> str:
    """The file that takes a new entry of this category, created at this (aware) time.

    Episodes go by UTC month; `shard` counts from 1 and shows from 2 on. Raises ValueError for a
    procedure, whose file follows from its title (`procedure_path`).
    """
    tail = _SUFFIX if shard == 1 else f"-{shard}{_SUFFIX}"
    if category is Category.PROCEDURE:
        raise ValueError("a procedure has a file of its own")
    if category is Category.PREFERENCES:
        return f"{PREFERENCES_STEM}{tail}"
    if category.kind is Kind.SEMANTIC:
        return f"{SEMANTIC_FOLDER}/{category}{tail}"
    month = created.astimezone(UTC).date().isoformat()[:7]
    return f"{EPISODIC_FOLDER}/{category}/{month}{tail}"


def procedure_path(slug: str) -> str:
    """The file of the procedure with this slug. Raises InvalidName for another name."""
    if not names.is_entry_id(slug) or slug == ROUTER.removesuffix(_SUFFIX):
        raise InvalidName("That is no name for a procedure's file.", field="title")
    return f"{PROCEDURAL_FOLDER}/{slug}{_SUFFIX}"


def is_safe_path(path: str) -> bool:
    """Whether every component is a plain visible name: nothing leads out, nothing is hidden."""
    return all(
        part and not part.startswith(".") and "\\" not in part and "\0" not in part
        for part in path.split("/")
    )


def is_entry_file(path: str) -> bool:
    """Whether entries are read from this file: `.md` at the root or in a memory folder, any depth.

    Routers are not, nor are the injected rules.
    """
    parts = path.split("/")
    return (
        is_safe_path(path)
        and parts[-1].endswith(_SUFFIX)
        and parts[-1] != ROUTER
        and (len(parts) == 1 or parts[0] in _MEMORY_FOLDERS)
    )


def category_of(path: str) -> Category | None:
    """The category that belongs in this file; None when the place says nothing about it."""
    if not is_entry_file(path):
        return None
    parts = path.split("/")
    stem = _without_shard(parts[-1].removesuffix(_SUFFIX))
    if len(parts) == 1:
        return Category.PREFERENCES if stem == PREFERENCES_STEM else None
    if parts[0] == EPISODIC_FOLDER:
        return _EPISODIC.get(parts[1]) if len(parts) == _DEEP else None
    if len(parts) >= _DEEP:
        return None
    if parts[0] == SEMANTIC_FOLDER:
        return _SEMANTIC.get(stem)
    return Category.PROCEDURE


def is_router(path: str) -> bool:
    """Whether this is an `index.md` that the program keeps: the root's or a memory folder's."""
    folder, _, name = path.rpartition("/")
    return name == ROUTER and (not folder or folder in _MEMORY_FOLDERS)


def is_rule_file(path: str) -> bool:
    """Whether this is the file of an injected rule, so that `rule_of` gives a name."""
    try:
        rule_of(path)
    except InvalidName:
        return False
    return True


def rule_path(name: str) -> str:
    """The file of an injected rule. Raises InvalidName."""
    return f"{RULES_FOLDER}/{names.rule_name(name)}{_SUFFIX}"


def rule_of(path: str) -> str:
    """The name of the injected rule in this file. Raises InvalidName when it is no rule's file."""
    folder, _, name = path.rpartition("/")
    if folder != RULES_FOLDER or not name.endswith(_SUFFIX):
        raise InvalidName("A rule is a file <name>.md in the folder rules.", field="name")
    return names.rule_name(name.removesuffix(_SUFFIX))


def history_path(entry_id: str) -> str:
    """Where earlier revisions of an entry are. Raises InvalidName for no safe id."""
    if not names.is_entry_id(entry_id):
        raise InvalidName("That is no id of an entry.", field="id")
    return f"{HISTORY_FOLDER}/{entry_id}{_HISTORY_SUFFIX}"


def rule_history_path(name: str) -> str:
    """Where earlier texts of an injected rule are. Raises InvalidName."""
    return f"{RULE_HISTORIES}/{names.rule_name(name)}{_HISTORY_SUFFIX}"


def rule_of_log(path: str) -> str:
    """The name of the rule that a `rule_history_path` is of."""
    return path.rpartition("/")[2].removesuffix(_HISTORY_SUFFIX)


def is_history_file(path: str) -> bool:
    """Whether `history_path` or `rule_history_path` give this path for an id or a name."""
    folder, _, name = path.rpartition("/")
    stem = name.removesuffix(_HISTORY_SUFFIX)
    try:
        return path == (history_path if folder == HISTORY_FOLDER else rule_history_path)(stem)
    except InvalidName:
        return False


def router_of(path: str) -> tuple[str, str]:
    """The router that lists an entry file, and the file as its row names it.

    Raises ValueError for a path that is no entry file: nothing else has a row.
    """
    if not is_entry_file(path):
        raise ValueError("only files of entries have a router row")
    folder, slash, rest = path.partition("/")
    return (f"{folder}/{ROUTER}", rest) if slash else (ROUTER, path)


def root_row_of(path: str) -> str | None:
    """The row of the root router that stands for the folder of this entry file.

    None at the root, where the file's own row is in that router. Raises ValueError as `router_of`.
    """
    router, _ = router_of(path)
    return router if router != ROUTER else None


def _without_shard(stem: str) -> str:
    """`facts-2` → `facts`: shards count from 2, without leading zeros."""
    base, _, number = stem.rpartition("-")
    is_shard = number.isascii() and number.isdigit() and number[0] != "0" and number != "1"
    return base if base and is_shard else stem
