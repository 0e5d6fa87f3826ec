"""The only package that knows the search engine: terms in, candidates out.

One folder a bank id; everything in it is derived and may be deleted.
"""

from recall.index.candidates import Filters, Found
from recall.index.errors import IndexBusy, IndexFault, IndexUnavailable
from recall.index.schema import Doc
from recall.index.stamp import Stamp
from recall.index.stemmers import analyzer, language_code
from recall.index.whoosh_index import MANY_SEGMENTS, Index, version
from recall.index.writing import Writing

__all__ = [
    "MANY_SEGMENTS",
    "Doc",
    "Filters",
    "Found",
    "Index",
    "IndexBusy",
    "IndexFault",
    "IndexUnavailable",
    "Stamp",
    "Writing",
    "analyzer",
    "language_code",
    "version",
]
