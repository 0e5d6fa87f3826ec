"""From a parsed block to its row."""

from banks.models import Bank, Entry, SourceFile
from banks.store import names
from banks.surveys import Found, problem_at

ASIDE = ("block", "folded", "problems", "file__problems", "file__duplicates")
"""Fields of rows with their files that a memory's value does not need, and that may be large."""


def row_of(bank: Bank, file: SourceFile, item: Found) -> Entry:
    """The unsaved row of a parsed block (`item.entry` is set). Links are not resolved in it."""
    entry = item.entry
    if entry is None:
        raise ValueError("the block was not parsed")
    dead = entry.invalidated is not None or entry.superseded_by is not None
    return Entry(
        bank=bank,
        file=file,
        position=item.position,
        entry_id=entry.id,
        version=item.version,
        block=item.block,
        problems=[problem_at(item.position, each) for each in item.warnings],
        category=entry.category.value,
        kind=entry.kind.value,
        origin=entry.origin.value,
        trust=entry.trust.value,
        tags=list(entry.tags),
        entities=list(entry.entities),
        summary=entry.summary,
        title=entry.title or "",
        text=entry.text,
        folded=fold("\n".join((entry.summary, entry.text, *entry.tags))),
        fingerprint=names.fingerprint(entry.text),
        pinned=entry.pinned,
        corroboration=entry.corroboration,
        revision=entry.revision,
        created_at=entry.created,
        updated_at=entry.updated_at,
        stated_at=entry.stated_at,
        invalidated_at=entry.invalidated,
        supersedes=entry.supersedes or "",
        superseded_by=entry.superseded_by or "",
        session=entry.session or "",
        source_entry=entry.entry or "",
        agent=entry.agent or "",
        former_id=entry.former_id or "",
        live=not dead,
        invalid_at=entry.invalidated,
    )


def fold(text: str) -> str:
    """How text is compared by the substring filter: case-folded, so that every script works."""
    return text.casefold()
