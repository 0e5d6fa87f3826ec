"""Jobs that were given up: run again or forgotten, by instance admins."""

from banks import errors
from banks.access import Principal, require_admin
from banks.jobs import queue
from banks.outbox import Job


def run_again(principal: Principal, pk: int) -> None:
    """Let a dead job run again, with all its tries. Raises Forbidden, NotFound, Conflict (it is not
    dead, or the same work is waiting already)."""
    require_admin(principal)
    if not Job.objects.filter(pk=pk).exists():
        raise errors.NotFound("There is no job of that number.")
    if not queue.revive(pk):
        raise errors.Conflict("It is not dead, or the same work is waiting already.")


def forget(principal: Principal, pk: int) -> None:
    """Remove a dead job for good. Raises Forbidden, NotFound (none, or one that is not dead)."""
    require_admin(principal)
    if not queue.dead().filter(pk=pk).delete()[0]:
        raise errors.NotFound("There is no dead job of that number.")
