"""The one seam to a language model: what is asked, who answers, and what an answer says."""

from recall.learning.llm.client import Answer, Before, Model, NoModel, current, replaced

__all__ = ["Answer", "Before", "Model", "NoModel", "current", "replaced"]
