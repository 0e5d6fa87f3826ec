"""Whoosh's many ways to fail, turned into one error."""

import pickle
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from whoosh.filedb.filestore import ReadOnlyError
from whoosh.index import IndexError as WhooshIndexError
from whoosh.reading import ReaderClosed, TermNotFound
from whoosh.writing import IndexingError

from recall.index.errors import IndexUnavailable

FAULTS = (
    OSError,
    EOFError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
    ArithmeticError,
    ImportError,
    MemoryError,
    NameError,
    struct.error,
    zlib.error,
    pickle.PickleError,
    WhooshIndexError,
    IndexingError,
    ReaderClosed,
    ReadOnlyError,
    TermNotFound,
)
"""What Whoosh raises over damaged files: it checks nothing before it unpickles and unpacks."""


class faults:
    """Turn any fault of the engine or its disk into IndexUnavailable.

    Only calls into the engine belong inside: a caller's own error must not look like one of the
    index.
    """

    def __enter__(self) -> None:
        """Nothing has to be prepared."""

    def __exit__(self, _type: object, fault: BaseException | None, _trace: object) -> None:
        """Whoosh raises `Exception` itself, too: for postings that do not begin as they should."""
        if isinstance(fault, FAULTS) or type(fault) is Exception:
            reason = f"the index cannot be used ({type(fault).__name__})"
            raise IndexUnavailable(reason) from fault


@contextmanager
def cancelled_on_fault(writer: Any) -> Iterator[None]:
    """Cancel `writer` when anything goes wrong, and let the first error be the one that counts.

    A writer that failed inside its commit cannot always be cancelled; what it leaves is removed
    by the next commit.
    """
    try:
        yield
    except BaseException:
        with suppress(*FAULTS):
            writer.cancel()
        raise
