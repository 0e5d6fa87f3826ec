"""Time of odd questions: 2,000 of them over a bank of 2,000 memories, and how many are slow.

In this process, without HTTP, beside an ordinary question in turns with them. A slow one takes more
than five times the median of those; each is asked three times and its fastest counts, so that a
slow moment of the machine is no slow question. Half of the odd ones find nothing, which is faster.
"""

import random
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.quality.ours import Ours, installation
from bench.quality.sets import Bank, Said
from tests.odd import odd_queries

MEMORIES = 2_000
QUERIES = 2_000
TRIES = 3
SLOW = 5


def main() -> None:
    said = [
        Said(key=str(n), text=f"Pump {n} of line {n % 7} leaks, says BENCH-{n:06} (C++).")
        for n in range(MEMORIES)
    ]
    with installation():
        ask = Ours(Bank("pumps", said))
        odd, ordinary = [], []
        for number, query in enumerate(odd_queries(random.Random(5), QUERIES)):
            odd.append(_fastest_ms(ask, query))
            ordinary.append(_fastest_ms(ask, f"which pump leaks on line {number % 7}?"))
    base, median, worst = statistics.median(ordinary), statistics.median(odd), max(odd)
    slow = sum(each > SLOW * base for each in odd)
    print(f"\n{QUERIES} odd questions, {MEMORIES} memories; an ordinary one takes {base:.1f} ms")
    print(f"  median  {median:6.1f} ms{median / base:7.2f} x")
    print(f"  slowest {worst:6.1f} ms{worst / base:7.2f} x, {slow} above {SLOW} x")


def _fastest_ms(ask: Ours, query: str) -> float:
    times = []
    for _ in range(TRIES):
        start = time.perf_counter()
        ask(query)
        times.append(1_000 * (time.perf_counter() - start))
    return min(times)


if __name__ == "__main__":
    main()
