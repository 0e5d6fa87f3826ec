"""Which memories mean what a question means, in whatever words. Nothing of it is needed to run.

An embedder makes vectors of texts; those of a bank are filled in by the worker and compared with
that of a query.
"""

from recall.meaning.comparing import Comparison, MeaningState, compared
from recall.meaning.embedders import Embedder, current, replaced

__all__ = ["Comparison", "Embedder", "MeaningState", "compared", "current", "replaced"]
