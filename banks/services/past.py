"""Earlier states of entries and rules, out of their histories."""

from banks import errors
from banks.store import history, names, parse, tree
from banks.store.files import BankFolder
from banks.store.types import Entry as Block

BOM = b"\xef\xbb\xbf"

GONE = "The history does not hold the earlier state any more."


def entry(folder: BankFolder, key: str, version: str) -> tuple[int, Block]:
    """The revision and block that an entry had at an earlier version; the newest such one.

    Raises Conflict when the history does not hold it.
    """
    for record in _newest_first(folder, tree.history_path(key)):
        block = parse.block(record.data).entry
        if block is not None and parse.version(record.data) == version:
            return record.revision, block
    raise errors.Conflict(GONE)


def last_entry(folder: BankFolder, key: str) -> Block | None:
    """The block that an entry's history saw last; None when there is none that can be read."""
    records = _newest_first(folder, tree.history_path(key))
    return parse.block(records[0].data).entry if records else None


def summary_was_made(folder: BankFolder, block: Block) -> bool:
    """Whether an entry's summary is the first sentence of its text, or was that of an earlier one:
    who edits a text by hand seldom thinks of it."""
    if block.summary == names.first_sentence(block.text):
        return True
    earlier = (
        parse.block(each.data).entry for each in _newest_first(folder, tree.history_path(block.id))
    )
    return any(
        each and each.summary == block.summary == names.first_sentence(each.text)
        for each in earlier
    )


def rule(folder: BankFolder, name: str, version: str) -> str:
    """The content of a rule at an earlier version; "" for version "", when it was not there.

    Raises Conflict when the history does not hold it.
    """
    if not version:
        return ""
    for record in _newest_first(folder, tree.rule_history_path(name)):
        if parse.version(record.data) == version:
            return text_of(record.data)
    raise errors.Conflict(GONE)


def text_of(data: bytes) -> str:
    """The bytes of a rule as text. Raises Conflict when they are no text."""
    try:
        return data.removeprefix(BOM).decode()
    except UnicodeDecodeError as error:
        raise errors.Conflict("That earlier state is not UTF-8: it cannot come back.") from error


def _newest_first(folder: BankFolder, path: str) -> list[history.Record]:
    return list(history.decode(folder.history(path))[0])[::-1]
