"""The vectors of banks that this process has in memory, and where they lie."""

from collections import OrderedDict
from pathlib import Path
from threading import Lock

from banks.models import Bank, Change
from recall import indexer
from recall.meaning.embedders import Embedder
from recall.meaning.vectors import Vectors

MOST_BYTES = 192_000_000
"""Memory for the vectors of all banks; above it the longest unused ones are dropped."""

_open: OrderedDict[tuple[Path, str], Vectors] = OrderedDict()
_guard = Lock()


def vectors_of(bank: Bank, embedder: Embedder) -> Vectors:
    """The vectors of a bank. They lie in the folder of its index, and go with it."""
    key = (indexer.folder_of(bank) / "meaning", embedder.identity)
    with _guard:
        found = _open.pop(key, None) or Vectors(*key)
        size = found.size() + sum(each.size() for each in _open.values())
        while _open and size > MOST_BYTES:
            size -= _open.popitem(last=False)[1].size()
        _open[key] = found
    return found


def head(bank: Bank) -> tuple[int, str]:
    """Number and uid of the bank's last change."""
    last = Change.objects.filter(bank=bank).order_by("-seq").values_list("seq", "uid").first()
    return last or (0, "")
