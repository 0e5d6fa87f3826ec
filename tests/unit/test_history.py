"""Frames of the history log: what is written, and where a torn tail begins."""

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from banks.store import history
from banks.store.history import Record

NOON = datetime(2026, 8, 24, 12, tzinfo=UTC)
FIRST = Record(0, NOON, "ana", "update", None, b"---\nid: a\n---\n\nKiln one is hot.")
SECOND = Record(
    1, NOON + timedelta(milliseconds=7), "bot", "delete", "窯 is cold", b'{"bytes": 9}\n'
)


def test_encode_writes_one_line_of_json_and_so_many_bytes() -> None:
    frame = history.encode(SECOND)
    header, _, rest = frame.partition(b"\n")
    assert json.loads(header) == {
        "revision": 1,
        "at": "2026-08-24T12:00:00.007+00:00",
        "actor": "bot",
        "act": "delete",
        "reason": "窯 is cold",
        "bytes": 13,
    }
    assert "窯".encode() in header
    assert rest == SECOND.data + b"\n"


def test_encode_writes_utc_without_empty_milliseconds() -> None:
    east = NOON.astimezone(timezone(timedelta(hours=5)))
    frame = history.encode(Record(0, east, "ana", "pin", None, b""))
    assert b'"2026-08-24T12:00:00+00:00"' in frame
    assert history.decode(frame)[0][0].at == NOON


def test_encode_refuses_a_naive_time_and_a_negative_revision() -> None:
    with pytest.raises(ValueError, match="aware"):
        history.encode(Record(0, datetime(2026, 8, 24), "ana", "pin", None, b""))  # noqa: DTZ001
    with pytest.raises(ValueError, match="negative"):
        history.encode(Record(-1, NOON, "ana", "pin", None, b""))


def test_decode_gives_records_in_order() -> None:
    log = history.encode(FIRST) + history.encode(SECOND)
    assert history.decode(log) == ((FIRST, SECOND), len(log))
    assert history.decode(b"") == ((), 0)


def test_half_a_character_in_a_reason_reads_back() -> None:
    odd = Record(0, NOON, "ana", "delete", "a\\\ud800", b"")
    log = history.encode(odd)
    assert history.decode(log) == ((odd,), len(log))


def test_decode_of_every_cut_gives_the_whole_records_before_it() -> None:
    one, two = history.encode(FIRST), history.encode(SECOND)
    log = one + two
    for cut in range(len(log)):
        records, whole = history.decode(log[:cut])
        assert (records, whole) == (((FIRST,), len(one)) if cut >= len(one) else ((), 0))


def test_decode_keeps_a_key_of_a_later_version_out_of_the_way() -> None:
    frame = history.encode(FIRST).replace(b'{"revision"', b'{"later": [1], "revision"', 1)
    assert history.decode(frame) == ((FIRST,), len(frame))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"revision": 0', b'"revision": true'),
        (b'"revision": 0', b'"revision": -1'),
        (b'"revision": 0', b'"revision": 0.0'),
        (b'"revision": 0', b'"revision": 1' + b"0" * 5000),
        (b'"bytes": 31', b'"bytes": 30'),
        (b'"bytes": 31', b'"bytes": -1'),
        (b'"bytes": 31', b'"bytes": "31"'),
        (b'"bytes": 31', b'"more": 31'),
        (b'"ana"', b"7"),
        (b'"update"', b"null"),
        (b'"reason": null', b'"reason": []'),
        (b'"2026-08-24T12:00:00+00:00"', b'"2026-08-24T12:00:00"'),
        (b'"2026-08-24T12:00:00+00:00"', b'"0001-01-01T00:00:00+05:00"'),
        (b'"2026-08-24T12:00:00+00:00"', b'"noon"'),
        (b'"2026-08-24T12:00:00+00:00"', b"12"),
        (b'{"revision"', b'["revision"'),
        (b'{"revision"', b'{"x": ' + b"[" * 9000 + b', "revision"'),
        (b'{"revision"', b'{"x": "' + b"x" * 20000 + b'", "revision"'),
        (b'"ana"', b'"\xff"'),
    ],
)
def test_decode_stops_at_what_is_no_frame(old: bytes, new: bytes) -> None:
    good = history.encode(SECOND)
    assert b'"bytes": 31' in history.encode(FIRST)
    damaged = history.encode(FIRST).replace(old, new, 1)
    assert history.decode(good + damaged + good) == ((SECOND,), len(good))


@pytest.mark.parametrize("header", [b"[]", b"7", b"", b"null"])
def test_decode_takes_no_json_but_an_object(header: bytes) -> None:
    assert history.decode(header + b"\n\n") == ((), 0)
