"""Who waits for changes: one thread a process looks at the heads of the banks that are watched.

The thread starts with the first listener and ends with the last. It looks four times a second, and
at once when this process committed something. A listener holds a slot, waits, and is told which of
its banks moved; what moved it reads from the journal itself. Hand edits become changes by the look
that the worker takes once a second, so nobody looks at files here.
"""

import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from django.conf import settings
from django.db import Error, connections
from django.db.models import Count

from banks import errors
from banks.models import Bank, Change
from banks.signals import changes_committed

logger = logging.getLogger(__name__)

T = TypeVar("T")

LOOK_EVERY_S = 0.25
SHARED_MOST = 32
_REST_S = 0.05  # between two looks, however often commits wake the thread
_FAULT_REST_S = 1.0
_RETIRING = (Change.Action.SUPERSEDED, Change.Action.DELETED)


@dataclass(slots=True)
class _Slot:
    """What one listener watches: heads by bank id, as it knows them; or every bank."""

    person: str
    known: dict[int, int]
    every: bool


@dataclass(slots=True)
class _Made:
    lock: threading.Lock
    values: list[Any]  # none, or the one


class Shared:
    """What many streams need at the same moment and would each make alike: one makes it for all.

    The newest `most` are kept. A key has to name all that the value depends on.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._made: dict[Hashable, _Made] = {}
        self._lock = threading.Lock()

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value of this key; who asks while it is made waits for it."""
        with self._lock:
            made = self._made.setdefault(key, _Made(threading.Lock(), []))
            while len(self._made) > self._most:
                del self._made[next(iter(self._made))]
        with made.lock:
            if not made.values:
                made.values.append(make())
        value: T = made.values[0]
        return value

    def forget(self) -> None:
        """Make everything anew the next time."""
        with self._lock:
            self._made.clear()


class Hub:
    """The listeners of a process and the thread that looks for them.

    Tests drive one by hand: they replace `clock`, `pause` and `start`.
    """

    def __init__(self) -> None:
        # Re-entrant: a listener may be given back by the garbage collector at any point.
        self._changed = threading.Condition(threading.RLock())
        self._slots: dict[int, _Slot] = {}
        self.shared = Shared(SHARED_MOST)
        self._last_slot = 0
        self._heads: dict[int, int] = {}
        self._thread: threading.Thread | None = None
        self._poke = threading.Event()
        self._parent = 0
        self._stopped = False

    # --- the seam -------------------------------------------------------------------------------

    def clock(self) -> float:
        """Seconds of a clock that only goes forward."""
        return time.monotonic()

    def pause(self, wanted: Callable[[], bool], timeout_s: float) -> None:
        """Wait until this holds, at most so long; called with the lock held."""
        self._changed.wait_for(wanted, timeout_s)

    def start(self) -> threading.Thread:
        """The thread that looks, running."""
        thread = threading.Thread(target=self._run, name="stream-heads", daemon=True)
        thread.start()
        return thread

    # --- listeners ------------------------------------------------------------------------------

    def listen(self, known: Mapping[int, int], *, person: str, every: bool = False) -> "Listener":
        """A place for one stream. `known`: heads of the banks to watch, as the stream knows them.

        With `every` it also watches all other banks, whoever may see them, new ones from 0.
        Raises StreamsFull when the process, or this person in it, has as many as the settings
        allow, and while the process stops.
        """
        with self._changed:
            theirs = sum(slot.person == person for slot in list(self._slots.values()))
            if (
                self._stopped
                or len(self._slots) >= settings.STREAMS
                or theirs >= settings.STREAMS_PER_PERSON
            ):
                raise errors.StreamsFull
            self._last_slot += 1
            self._slots[self._last_slot] = _Slot(person, dict(known), every)
            self._poke.set()
            return Listener(self, self._last_slot)

    @property
    def listeners(self) -> int:
        """How many slots are taken."""
        return len(self._slots)

    def stop(self) -> None:
        """End every stream, for good: the process stops."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        self._poke.set()

    def _leave(self, number: int) -> None:
        with self._changed:
            self._slots.pop(number, None)
            if not self._slots:
                self._heads = {}
                self.shared.forget()
                self._poke.set()

    def _moved(self, number: int) -> dict[int, int]:
        slot = self._slots.get(number)
        if slot is None:
            return {}
        return {
            bank: head
            for bank, head in self._heads.items()
            if (slot.every or bank in slot.known) and slot.known.get(bank, 0) != head
        }

    # --- the thread -----------------------------------------------------------------------------

    def _awake(self) -> None:
        """Have a thread that looks; with the lock held."""
        if self._thread is None:
            # Not when this module is imported: that may happen before the web processes fork.
            self._parent = os.getppid()
            self._thread = self.start()

    def _run(self) -> None:
        def committed(**_: Any) -> None:
            self._poke.set()

        changes_committed.connect(committed, weak=False)
        try:
            while self._is_wanted():
                self._poke.wait(LOOK_EVERY_S)
                self._poke.clear()
                time.sleep(_REST_S if self._looked() else _FAULT_REST_S)
        finally:
            changes_committed.disconnect(committed)
            release_connections()
            with self._changed:
                if self._thread is threading.current_thread():
                    self._thread = None

    def _is_wanted(self) -> bool:
        with self._changed:
            wanted = bool(self._slots) and not self._stopped
            if not wanted:
                # Under the lock: whoever listens next starts another thread.
                self._thread = None
            return wanted

    def _looked(self) -> bool:
        try:
            self.look()
        except Error as error:
            # Streams see nothing new for as long; the next look has a new connection.
            logger.warning("heads cannot be read", exc_info=error)
            release_connections()
            return False
        return True

    def look(self) -> None:
        """Read the heads of all watched banks and wake who waits for one that moved.

        Also ends every stream when the parent process is gone.
        """
        with self._changed:
            slots = list(self._slots.values())
        banks = Bank.objects.exclude(state=Bank.State.HIDDEN)
        if not any(slot.every for slot in slots):
            banks = banks.filter(pk__in={bank for slot in slots for bank in slot.known})
        heads = dict(banks.values_list("pk", "head"))
        with self._changed:
            if os.getppid() != self._parent:
                self.stop()
            if heads != self._heads:
                self._heads = heads
                self._changed.notify_all()


class Listener:
    """One stream's place. Its slot is free again when it is closed, or collected as garbage."""

    def __init__(self, hub: Hub, number: int) -> None:
        self._hub = hub
        self._number = number
        # A view that fails between here and its first byte closes nothing.
        self._give_back = weakref.finalize(self, hub._leave, number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the slot back; calling it again does nothing."""
        self._give_back()

    @property
    def ended(self) -> bool:
        """Whether the stream has to end: closed, or the process stops."""
        return self._hub._stopped or not self._give_back.alive

    def clock(self) -> float:
        """Seconds of the clock that `wait` and `rest` follow."""
        return self._hub.clock()

    def wait(self, timeout_s: float) -> dict[int, int]:
        """Banks whose head is not the known one, by id; none after so many seconds or at the end.

        They are given again by every call until `know` says that they are known. A head that was
        read a moment ago may come once more: then there is nothing new.
        """
        hub, number = self._hub, self._number
        with hub._changed:
            if not self.ended:
                hub._awake()
                hub.pause(lambda: self.ended or bool(hub._moved(number)), timeout_s)
            return {} if self.ended else hub._moved(number)

    def rest(self, seconds: float) -> None:
        """Wait so long whatever moves; returns early at the end."""
        with self._hub._changed:
            self._hub.pause(lambda: self.ended, seconds)

    def know(self, bank_id: int, head: int) -> None:
        """The stream has told everything up to this head of the bank."""
        with self._hub._changed:
            slot = self._hub._slots.get(self._number)
            if slot is not None:
                slot.known[bank_id] = head
                if self._hub._heads.get(bank_id) != head:
                    # It was read after the thread's last look: others need not wait for the next.
                    self._hub._heads[bank_id] = head
                    self._hub._changed.notify_all()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How many changes there were: new memories, retired ones, and all others (rules too)."""

    created: int = 0
    changed: int = 0
    retired: int = 0


def tally(bank: Bank, *, after: int, until: int) -> Tally:
    """Count the changes with numbers above `after`, up to `until`."""
    rows = (
        Change.objects.filter(bank=bank, seq__gt=after, seq__lte=until)
        .order_by()
        .values_list("target", "action")
        .annotate(Count("pk"))
    )
    counts = {(target, action): count for target, action, count in rows}
    created = counts.pop((Change.Target.ENTRY, Change.Action.CREATED), 0)
    retired = sum(counts.pop((Change.Target.ENTRY, action), 0) for action in _RETIRING)
    return Tally(created=created, changed=sum(counts.values()), retired=retired)


def release_connections() -> None:
    """Give this thread's database connections back: a stream holds none while it waits."""
    for connection in connections.all(initialized_only=True):
        if not connection.in_atomic_block:
            connection.close()


hub = Hub()
"""That of this process."""
