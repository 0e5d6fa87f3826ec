"""Background work that survives its worker: `enqueue`, `handler`, and the crew that runs it.

Knows no job's content: whoever has some registers a handler in its app's `ready`.
"""

from banks.jobs.crew import Attempt, Crew, work_off
from banks.jobs.handlers import PermanentFault, RetryableFault, Running, handler
from banks.jobs.queue import LeaseLostError, enqueue, hurry

__all__ = [
    "Attempt", "Crew", "LeaseLostError", "PermanentFault", "RetryableFault", "Running", "enqueue",
    "handler", "hurry", "work_off",
]  # fmt: skip
