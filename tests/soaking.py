"""Readers and writers over one index for a while, each answer compared with Whoosh's own.

Each process has threads of readers or is one writer. What is asked by arrays is asked by Whoosh's
own scorers too, of the same commit.
"""

import multiprocessing
import os
import random
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recall.index import MANY_SEGMENTS, Doc, Filters, Index, IndexBusy, IndexUnavailable, Stamp
from recall.index import version as version_of
from recall.index.candidates import candidates
from recall.index.whoosh_index import _searcher

START = Stamp(version=version_of("none"))
WORDS = [f"w{number}" for number in range(400)]
LIMIT = 20
REBUILD_EVERY_S = 10.0
SAMPLE_EVERY_S = 0.2


@dataclass(slots=True)
class Told:
    """What one process saw. `resident`: megabytes in the first and the last third of the time."""

    compared: int = 0
    passed_by: int = 0
    written: int = 0
    wrong: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    resident: tuple[float, float] = (0.0, 0.0)


def doc(number: int, chance: random.Random) -> Doc:
    """A document with words as unequally common as those of a language."""
    places = [min(int(chance.paretovariate(0.5)), len(WORDS)) - 1 for _ in range(40)]
    return Doc(
        id=f"m{number}",
        terms={WORDS[place]: chance.choice((1, 3, 6)) for place in places},
        category=chance.choice(("facts", "rules")),
        kind="semantic",
        origin="agent",
        created_ms=number,
        live=chance.random() < 0.9,
    )


def soak(
    folder: Path, *, seconds: float, processes: int, threads: int, writers: int, documents: int
) -> list[Told]:
    """Let them run; what each process saw, the readers first."""
    chance = random.Random(7)
    Index(folder).rebuild([doc(number, chance) for number in range(documents)], START)
    context = multiprocessing.get_context("spawn")
    answers: multiprocessing.Queue[tuple[int, Told]] = context.Queue()
    work: list[tuple[Any, tuple[Any, ...]]] = [
        (_read, (folder, seconds, threads)) for _ in range(processes)
    ]
    work += [(_write, (folder, seconds, documents, number == 0)) for number in range(writers)]
    running = [
        context.Process(target=_tell, args=(answers, number, job, arguments))
        for number, (job, arguments) in enumerate(work)
    ]
    for each in running:
        each.start()
    told = dict(answers.get(timeout=seconds + 60) for _ in running)
    for each in running:
        each.join()
    return [told[number] for number in range(len(running))]


def _tell(answers: Any, number: int, job: Any, arguments: tuple[Any, ...]) -> None:
    """Answer whatever happens: nobody is left waiting."""
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(job, number, *arguments)
    fault = running.exception()
    answers.put((number, running.result() if fault is None else Told(faults=[repr(fault)])))


def _read(number: int, folder: Path, seconds: float, threads: int) -> Told:
    told, index, end = Told(), Index(folder), time.monotonic() + seconds
    with ThreadPoolExecutor(threads) as pool:
        asking = [
            pool.submit(_ask, index, told, end, random.Random(10 * number + thread))
            for thread in range(threads)
        ]
        samples = list(_resident_mb(end))
    faults = [each.exception() for each in asking]
    told.faults += [repr(fault) for fault in faults if fault is not None]
    third = max(1, len(samples) // 3)
    told.resident = (statistics.median(samples[:third]), statistics.median(samples[-third:]))
    return told


def _ask(index: Index, told: Told, end: float, chance: random.Random) -> None:
    while time.monotonic() < end:
        terms = chance.sample(WORDS, chance.randint(1, 8))
        filters = Filters(category=chance.choice((None, "rules")), live_only=chance.random() < 0.5)
        view = index._newest()
        snapshot = index._packed(view)
        assert snapshot is not None
        found = snapshot.search(terms, limit=LIMIT, filters=filters)
        try:
            opened = _searcher(view)
        except FileNotFoundError:
            # A later commit has merged it away before Whoosh could open it.
            told.passed_by += 1
            continue
        if candidates(opened, terms, limit=LIMIT, filters=filters) != found:
            told.wrong.append(" ".join(terms))
        opened.close()
        told.compared += 1


def _resident_mb(end: float) -> Iterator[float]:
    while time.monotonic() < end:
        time.sleep(SAMPLE_EVERY_S)
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        yield pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _write(number: int, folder: Path, seconds: float, documents: int, rebuilds: bool) -> Told:
    told, index, chance = Told(), Index(folder), random.Random(number)
    end = time.monotonic() + seconds
    rebuild_at = time.monotonic() + min(REBUILD_EVERY_S, seconds / 2)
    while time.monotonic() < end:
        one = chance.randrange(documents)
        try:
            if rebuilds and time.monotonic() > rebuild_at:
                rebuild_at = time.monotonic() + REBUILD_EVERY_S
                index.rebuild([doc(each, chance) for each in range(documents)], START)
            with index.writing() as writing:
                writing.apply([doc(one, chance)], [f"m{documents + one}"], START)
                if index.segment_count() > MANY_SEGMENTS:
                    writing.compact()
            told.written += 1
        except IndexBusy:
            continue
        except IndexUnavailable:
            # A rebuild has swapped the folder meanwhile. The new one has to answer.
            index.stamp()
            told.passed_by += 1
    return told
