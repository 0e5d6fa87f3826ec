"""Blocks that somebody broke by hand, found by the id that they still name."""

import re
from collections.abc import Set
from contextlib import suppress

from banks import errors
from banks.models import Bank, SourceFile
from banks.store import parse, tree
from banks.store.errors import FileMissing, NotAFile
from banks.store.files import LockedBank
from banks.store.types import Severity

_ID_LINE = re.compile(rb"""^id:[ \t]*["']?([^\s"'#]+)""", re.MULTILINE)


def lines(data: bytes, keys: Set[str]) -> dict[str, int]:
    """Of these ids the ones that a block of the file names which cannot be read, and where."""
    found: dict[str, int] = {}
    for span in parse.spans(data):
        block = data[span.start : span.end]
        named = _ID_LINE.search(block)
        key = named[1].decode(errors="replace") if named else ""
        problems = parse.block(block).problems if key in keys else ()
        for each in problems:
            if each.severity is Severity.PROBLEM:
                found.setdefault(key, span.line + each.line - 1)
    return found


def refuse(bank: Bank, locked: LockedBank, keys: Set[str]) -> None:
    """Raise BlockBroken when a block of one of these ids stands in a file and cannot be read.

    What would be written beside it hides, or is hidden, as soon as somebody repairs it. Only files
    with something wrong are read.
    """
    damaged = SourceFile.objects.filter(bank=bank).exclude(problems=[])
    for path in damaged.values_list("path", flat=True):
        if not tree.is_entry_file(path):
            continue
        with suppress(FileMissing, NotAFile):
            for key, line in lines(locked.read(path)[0], keys).items():
                raise errors.BlockBroken(
                    f"The block of {key} in {path} (line {line}) was changed by hand and cannot be "
                    "read: repair it in the file, then repeat this."
                )
