"""Time of one search, beside other ways to search the same texts; 8 words, the best 10.

All ways take turns in one process, so that a slow moment of the machine hits all of them alike:
read the ratios. CPU time of one thread. `SCALE=100k` adds the bank that takes two minutes to build;
`FOLDER=...` keeps the indexes there for the next run. tantivy and bm25s take part when they are
installed.
"""

import functools
import itertools
import os
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from whoosh.index import open_dir
from whoosh.query import Or, Term

from recall.index import Doc, Index, IndexUnavailable, Stamp, version
from recall.index.candidates import weighting

SIZES = {"1k": (1_000,), "10k": (1_000, 10_000), "100k": (1_000, 10_000, 100_000)}
ROUNDS = 5
QUERIES = 20
WORDS_A_QUERY = 8
BEST = 10
VOCABULARY = 10_000
FLATTENED = 10
"""Ranks that are left out of Zipf's law: stop words are no terms."""

Search = Callable[[Sequence[str]], object]


def _vocabulary() -> list[str]:
    heads, tails = "bcdfghklmnprstvz", "aeiou"
    syllables = [head + tail for head in heads for tail in tails]
    words = (
        "".join(parts) for size in (2, 3) for parts in itertools.product(syllables, repeat=size)
    )
    return list(itertools.islice(words, VOCABULARY))


@functools.cache
def texts(size: int) -> list[list[str]]:
    """So many texts as lists of words, the same each time."""
    chance, words = random.Random(size), _vocabulary()
    chance.shuffle(words)
    weights = list(
        itertools.accumulate(1 / (rank + FLATTENED) for rank in range(1, VOCABULARY + 1))
    )
    return [
        chance.choices(words, cum_weights=weights, k=chance.randint(20, 80)) for _ in range(size)
    ]


def _doc(number: int, words: Sequence[str]) -> Doc:
    return Doc(
        id=f"mem_20260101_{number:06x}",
        terms={word: 3 * count for word, count in Counter(words).items()},
        category="facts",
        kind="semantic",
        origin="agent",
        created_ms=number,
    )


def _ours(folder: Path, texts: Sequence[Sequence[str]]) -> Index:
    index = Index(folder)
    try:
        index.stamp()
    except IndexUnavailable:
        docs = (_doc(number, words) for number, words in enumerate(texts))
        index.rebuild(docs, Stamp(version=version("none")))
    return index


def _whoosh(folder: Path) -> Search:
    generation = folder / (folder / "CURRENT").read_text()
    searcher = open_dir(str(generation)).searcher(weighting=weighting())
    return lambda words: searcher.search(Or([Term("terms", word) for word in words]), limit=BEST)


def _fts5(texts: Sequence[Sequence[str]]) -> Search:
    base = sqlite3.connect(":memory:")
    base.execute("CREATE VIRTUAL TABLE memory USING fts5(text)")
    rows = ((" ".join(words),) for words in texts)
    base.executemany("INSERT INTO memory(text) VALUES (?)", rows)
    query = "SELECT rowid FROM memory WHERE memory MATCH ? ORDER BY bm25(memory) LIMIT ?"
    return lambda words: base.execute(query, (" OR ".join(words), BEST)).fetchall()


def _substring(texts: Sequence[Sequence[str]]) -> Search:
    joined = [" ".join(words) for words in texts]

    def search(words: Sequence[str]) -> list[tuple[int, int]]:
        found = ((sum(word in text for word in words), -place) for place, text in enumerate(joined))
        return sorted((each for each in found if each[0]), reverse=True)[:BEST]

    return search


def _tantivy(texts: Sequence[Sequence[str]]) -> Search:
    import tantivy  # noqa: PLC0415  takes part when it is installed

    schema = tantivy.SchemaBuilder().add_text_field("text", tokenizer_name="whitespace").build()
    engine = tantivy.Index(schema)
    writer = engine.writer(num_threads=1)
    for words in texts:
        writer.add_document(tantivy.Document(text=" ".join(words)))
    writer.commit()
    writer.wait_merging_threads()
    engine.reload()
    searcher = engine.searcher()
    return lambda words: searcher.search(engine.parse_query(" ".join(words), ["text"]), BEST)


def _bm25s(texts: Sequence[Sequence[str]]) -> Search:
    import bm25s  # noqa: PLC0415  takes part when it is installed

    retriever = bm25s.BM25()
    retriever.index([list(words) for words in texts], show_progress=False)
    return lambda words: retriever.retrieve([list(words)], k=BEST, show_progress=False, n_threads=0)


def _others(texts: Sequence[Sequence[str]]) -> dict[str, Search]:
    made: dict[str, Search] = {}
    ways: dict[str, Callable[[Sequence[Sequence[str]]], Search]] = {
        "SQLite FTS5": _fts5,
        "substring scan in memory": _substring,
        "tantivy": _tantivy,
        "bm25s": _bm25s,
    }
    for name, way in ways.items():
        try:
            made[name] = way(texts)
        except ImportError:
            print(f"  {name} is not installed")
    return made


def _timed(search: Search, words: Sequence[str]) -> float:
    start = time.thread_time_ns()
    search(words)
    return (time.thread_time_ns() - start) / 1e6


def _measure(ways: dict[str, Search], queries: Sequence[Sequence[str]]) -> dict[str, float]:
    """The median over rounds of the median over queries, milliseconds."""
    medians: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, search in ways.items():
            medians[name].append(statistics.median(_timed(search, words) for words in queries))
    return {name: statistics.median(each) for name, each in medians.items()}


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _report(size: int, folder: Path) -> None:
    said = texts(size)
    chance = random.Random(7)
    queries = [
        chance.sample(sorted(set(chance.choice(said))), WORDS_A_QUERY) for _ in range(QUERIES)
    ]
    cold = [chance.sample(sorted(set(chance.choice(said))), WORDS_A_QUERY) for _ in range(QUERIES)]
    index = _ours(folder / str(size), said)

    def ours(words: Sequence[str]) -> object:
        return index.search(words, limit=BEST)

    started = time.perf_counter()
    ours(queries[0])
    first_ms = 1_000 * (time.perf_counter() - started)
    cold_ms = statistics.median(_timed(ours, words) for words in cold)
    ways: dict[str, Any] = {"ours": ours, "Whoosh as it is": _whoosh(folder / str(size))}
    figures = _measure(ways | _others(said), queries)
    print(f"\n{size} memories: CPU ms, p50 of {QUERIES} queries, median of {ROUNDS} rounds")
    for name, value in figures.items():
        print(f"  {name:<26}{value:10.3f} ms{value / figures['ours']:10.1f} x")
    print(f"  ours, words never asked   {cold_ms:10.3f} ms{cold_ms / figures['ours']:10.1f} x")
    print(f"  ours, first of a process  {first_ms:10.3f} ms")


def main() -> None:
    with tempfile.TemporaryDirectory() as spare:
        folder = Path(os.environ.get("FOLDER", spare))
        for size in SIZES[os.environ.get("SCALE", "10k")]:
            _report(size, folder)


if __name__ == "__main__":
    main()
