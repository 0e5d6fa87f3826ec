"""Files written as by an editor, behind the server's back, and a server that starts afresh."""

import os
from pathlib import Path

from django.conf import settings

from banks import sync
from banks.models import Bank, Entry, SourceFile

FACTS = "semantic_memory/facts.md"

# Long settled: a write to the file has nothing to wait for.
LONG_AGO = 1_700_000_000


def block(
    key: str, text: str, *lines: str, created: str = "2026-01-02T03:04:05+00:00", summary: str = ""
) -> str:
    """One entry as text, with these lines in its frontmatter besides the usual ones."""
    extra = "".join(f"{line}\n" for line in lines)
    return (
        f"---\nid: {key}\ncreated: {created}\ncategory: facts\n{extra}"
        f"summary: {summary or text}\n---\n\n{text}\n"
    )


def write(path: str, content: str | bytes, bank: str = "ops") -> Path:
    """Give a file of a bank this content."""
    file = Path(settings.DATA_DIR) / bank / path
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    os.utime(file, (LONG_AGO, LONG_AGO))
    return file


def start_afresh(bank: Bank) -> None:
    """Forget everything that was derived from the files and read them again."""
    Entry.objects.filter(bank=bank).delete()
    SourceFile.objects.filter(bank=bank).delete()
    sync.reload(bank)


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, hidden ones too, with its content."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
