r"""The frames of `.history/<id>.log`: each block as it was before an act replaced it.

A frame is one line of JSON (revision, at, actor, act, reason, bytes), then exactly that many bytes
and a line feed, so that no content can break the frame and a torn tail shows. Pure: the bytes come
from and go to the disk elsewhere.
"""

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime

# A header holds handles and a reason of at most 500 characters; more than this is no header.
_HEADER_BYTES = 16_384


@dataclass(frozen=True, slots=True)
class Record:
    """One earlier version. `revision` and `data` are of the block (or rule file) as it was;
    `at`, `actor`, `act` and `reason` are of the act that replaced it.
    """

    revision: int
    at: datetime
    actor: str
    act: str
    reason: str | None
    data: bytes


def encode(record: Record) -> bytes:
    """The frame of one record, line end included. `at` keeps whole milliseconds.

    Raises ValueError for a naive `at` or a negative revision: both are faults of the caller.
    """
    if record.at.utcoffset() is None:
        raise ValueError("at must be an aware time")
    if record.revision < 0:
        raise ValueError("a revision is not negative")
    at = record.at.astimezone(UTC)
    timespec = "milliseconds" if at.microsecond >= 1000 else "seconds"
    header = {
        "revision": record.revision,
        "at": at.isoformat(timespec=timespec),
        "actor": record.actor,
        "act": record.act,
        "reason": record.reason,
        "bytes": len(record.data),
    }
    # Half a character becomes its JSON escape, which reads back as the same.
    line = json.dumps(header, ensure_ascii=False).encode("utf-8", "backslashreplace")
    return line + b"\n" + record.data + b"\n"


def decode(log: bytes) -> tuple[tuple[Record, ...], int]:
    """The records of a log, oldest first, and the offset where what is no whole frame begins.

    The offset is `len(log)` for a whole log. Never raises. Whether the rest is a torn write of
    ours or damage by another hand is for the caller to find out before anything is cut.
    """
    records: list[Record] = []
    offset = 0
    while offset < len(log):
        stop = log.find(b"\n", offset, offset + _HEADER_BYTES)
        head = _header(log[offset:stop]) if stop >= 0 else None
        if head is None:
            break
        record, size = head
        start, end = stop + 1, stop + 1 + size
        if log[end : end + 1] != b"\n":
            break
        records.append(replace(record, data=log[start:end]))
        offset = end + 1
    return tuple(records), offset


def _header(line: bytes) -> tuple[Record, int] | None:
    """A record without its bytes, and how many those are; None for what is no header."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    at = _instant(found.get("at"))
    revision, size = _count(found.get("revision")), _count(found.get("bytes"))
    actor, act, reason = found.get("actor"), found.get("act"), found.get("reason")
    if (
        at is None
        or revision is None
        or size is None
        or not isinstance(actor, str)
        or not isinstance(act, str)
        or not (reason is None or isinstance(reason, str))
    ):
        return None
    return Record(revision, at, actor, act, reason, b""), size


def _count(value: object) -> int | None:
    """A whole number that is not negative; JSON's true and 1.0 are none."""
    return value if type(value) is int and value >= 0 else None


def _instant(value: object) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        at = datetime.fromisoformat(value)
        return at.astimezone(UTC) if at.utcoffset() is not None else None
    except (ValueError, OverflowError):
        return None
