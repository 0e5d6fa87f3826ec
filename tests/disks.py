"""Disks for tests that are not about power loss."""

from banks.store.disk import Disk


class UnsyncedDisk(Disk):
    """A disk whose syncs cost nothing: on a busy machine a real one takes up to 100 ms."""

    def fsync(self, fd: int) -> None:
        pass

    def fdatasync(self, fd: int) -> None:
        pass
