"""What reaches an agent: memories that fit a question, and what a turn is given."""

from recall.engine.packing import LEARNED, Fit, PackedRule, PackedRules, rule_size
from recall.indexer import IndexState
from recall.services.explaining import Explained, explain
from recall.services.hooks import Annotations, Continued, Step, pre_generate
from recall.services.injecting import (
    Given,
    Injected,
    Preview,
    Section,
    nothing,
    preview,
    rules_budget,
)
from recall.services.limits import LIMIT_MOST
from recall.services.recalling import Hit, Mode, Recalled, recall
from recall.services.similarity import Similar, similar

__all__ = [
    "LEARNED",
    "LIMIT_MOST",
    "Annotations",
    "Continued",
    "Explained",
    "Fit",
    "Given",
    "Hit",
    "IndexState",
    "Injected",
    "Mode",
    "PackedRule",
    "PackedRules",
    "Preview",
    "Recalled",
    "Section",
    "Similar",
    "Step",
    "explain",
    "nothing",
    "pre_generate",
    "preview",
    "recall",
    "rule_size",
    "rules_budget",
    "similar",
]
