"""The one signal: something was committed. `banks` does not know who listens."""

from django.dispatch import Signal

changes_committed = Signal()
"""Sent after a commit with `bank_id` and `seq` (the bank's new head). Receivers only wake up."""
