"""Laws of the history log."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from banks.store import history
from banks.store.history import Record

instants = st.integers(0, 4_000_000_000_000).map(
    lambda ms: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
)
records = st.builds(
    Record,
    revision=st.integers(0, 10**9),
    at=instants,
    actor=st.text(max_size=20),
    act=st.text(max_size=20),
    reason=st.none() | st.text(max_size=200),
    data=st.binary(max_size=300),
)


@given(st.lists(records, max_size=5))
def test_a_log_reads_back_whole(given_records: list[Record]) -> None:
    log = b"".join(map(history.encode, given_records))
    assert history.decode(log) == (tuple(given_records), len(log))


@given(st.lists(records, min_size=1, max_size=4), st.data())
def test_a_torn_log_gives_a_beginning_of_its_records(
    given_records: list[Record], data: st.DataObject
) -> None:
    log = b"".join(map(history.encode, given_records))
    cut = data.draw(st.integers(0, len(log)))
    found, whole = history.decode(log[:cut])
    assert found == tuple(given_records[: len(found)])
    assert whole == len(b"".join(map(history.encode, found))) <= cut


@given(records, st.binary(max_size=200))
def test_foreign_bytes_behind_a_log_never_hide_it(record: Record, foreign: bytes) -> None:
    log = history.encode(record)
    found, whole = history.decode(log + foreign)
    assert found[0] == record
    assert len(log) <= whole <= len(log + foreign)
