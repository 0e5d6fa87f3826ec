"""How calls grow with a bank: medians over HTTP beside a call that reads one row.

Starts a server of its own on a free port with folders of its own, and imports generated texts into
a bank of each size. The calls of all sizes take turns, so that a slow moment of the machine hits
all of them alike: read the ratios, not the milliseconds. `SCALE=100k` adds the bank that takes two
minutes to make.
"""

import contextlib
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from bench.search_speed import SIZES, texts
from tests.crash.servers import Client, Server

ROUNDS = 60
NAP_S = 0.2
FIRST_MS = 1_770_000_000_000
BASE = "read one row"

RELOAD = """
import time
from banks import sync
from banks.models import Bank
bank = Bank.objects.get(name={bank!r})
for work in (lambda: sync.look(bank, force=True), lambda: sync.reload(bank)):
    started = time.process_time()
    work()
    print(time.process_time() - started)
"""

Medians = dict[str, float]


def _import(server: Server, folder: Path, bank: str, size: int) -> float:
    """Seconds of an import, as one command."""
    folder.mkdir()
    with (folder / "memories.jsonl").open("w") as log:
        for number, words in enumerate(texts(size)):
            record = {
                "id": f"mem_2026-02-01_{number:06x}",
                "created_at": FIRST_MS + 1_000 * number,
                "text": f"Unit {number}: {' '.join(words)}.",
                "confidence": "stated",
            }
            log.write(json.dumps(record) + "\n")
    return _seconds(lambda: server.manage("import", str(folder), "--bank", bank))


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _started_s(server: Server, token: str, bank: str) -> float:
    """Seconds from the start of a stopped server to its first answer to a question."""

    def first_answer() -> None:
        server.start()
        with Client(server.port, token) as client:
            client.call("POST", "/recall", _question(bank, 0))

    server.stop()
    return _seconds(first_answer)


def _indexed_s(server: Server, token: str, bank: str) -> float:
    """Seconds until the worker has built the index of a bank anew, beside the server's calls."""
    started = time.perf_counter()
    with Client(server.port, token) as client:
        while True:
            answer = client.call("POST", "/recall", _question(bank, 0) | {"limit": 0})[1]
            if answer["index"]["state"] == "ok":
                return time.perf_counter() - started
            time.sleep(NAP_S)


def _looked_s(server: Server, bank: str) -> tuple[float, float]:
    """CPU seconds of a look at files that nobody changed, and of reading all of them again."""
    done = server.manage("shell", "-c", RELOAD.format(bank=bank)).split()
    return float(done[-2]), float(done[-1])


def _question(bank: str, number: int) -> dict[str, object]:
    words = texts(1_000)[number % 1_000]
    return {"bank": bank, "query": " ".join(words[:8]), "limit": 10}


def _measure(client: Client, banks: Sequence[str]) -> dict[str, Medians]:
    """Medians by bank and call, milliseconds. All calls of a round follow each other."""
    times: dict[str, dict[str, list[float]]] = {bank: {} for bank in banks}

    def timed(bank: str, name: str, method: str, path: str, body: object = None) -> None:
        start = time.perf_counter()
        status, answer = client.call(method, path, body)
        times[bank].setdefault(name, []).append((time.perf_counter() - start) * 1_000)
        if status != 200:
            raise SystemExit(f"{name} refused: {answer}")

    for number in range(ROUNDS):
        for bank in banks:
            one = f"mem_2026-02-01_{number * 13 % 1_000:06x}"
            timed(bank, BASE, "GET", f"/memories/{one}?bank={bank}")
            timed(bank, "recall", "POST", "/recall", _question(bank, number))
            timed(bank, "list of 50", "GET", f"/memories?bank={bank}&limit=50")
    for number in range(ROUNDS):
        for bank in banks:
            one = f"mem_2026-02-01_{number * 13 % 1_000:06x}"
            timed(bank, "save", "POST", "/memories", {"bank": bank, "text": f"New: {number}"})
            timed(bank, "recall after a save", "POST", "/recall", _question(bank, number))
            timed(bank, "pin", "POST", f"/memories/{one}/pin", {"bank": bank, "pinned": True})
    return {
        bank: {name: statistics.median(each) for name, each in calls.items()}
        for bank, calls in times.items()
    }


def _resident_mb(pid: int) -> list[float]:
    """Resident memory of a process and all below it, megabytes; not what they share, twice."""
    found = []
    with contextlib.suppress(FileNotFoundError):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        found.append(sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1_000)
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                found += _resident_mb(int(child))
    return found


def _tell(sizes: Sequence[int], measured: dict[str, Medians]) -> None:
    print(
        f"\nmedians of {ROUNDS} calls, milliseconds, and beside them the ratio to reading one row"
    )
    print(f"  {'':22}" + "".join(f"{size:>12,}{'':8}" for size in sizes) + "growth")
    columns = list(measured.values())
    for name in columns[0]:
        row = "".join(f"{each[name]:12.1f}{each[name] / each[BASE]:6.2f} x" for each in columns)
        print(f"  {name:22}{row}{columns[-1][name] / columns[0][name]:8.2f} x")


def main() -> None:
    sizes = SIZES[os.environ.get("SCALE", "10k")]
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder) / "memory", Path(folder) / "state")
        server.start()
        try:
            token, banks = server.token(), [f"b{size}" for size in sizes]
            for size, bank in zip(sizes, banks, strict=True):
                imported = _import(server, Path(folder) / bank, bank, size)
                built = _indexed_s(server, token, bank)
                looked, read = _looked_s(server, bank)
                print(
                    f"{size:>8,}: import {imported:.1f} s, index built {built:.1f} s, "
                    f"look {looked * 1e3:.0f} ms, reload {read:.2f} s of CPU time, "
                    f"start to first answer {_started_s(server, token, bank):.1f} s"
                )
            with Client(server.port, token) as client:
                _tell(sizes, _measure(client, banks))
            most = max(_resident_mb(server.process.pid)) if server.process else 0.0
            print(f"  the largest process holds {most:.0f} MB")
        finally:
            server.stop()


if __name__ == "__main__":
    main()
