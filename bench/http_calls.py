"""p50 of calls over HTTP, at two sizes of a bank, beside a call that reads one row.

Starts a server of its own on a free port with folders of its own. The calls are interleaved, so
that a slow moment of the machine hits all of them alike: read the ratios, not the milliseconds.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.crash.servers import Client, Server

SIZES = (1_000, 10_000)
ROUNDS = 60
PORTION = 500
WORDS = ("pump", "kiln", "valve", "gauge", "line", "motor", "filter", "tank", "pipe", "sensor")


def _text(number: int) -> str:
    words = [WORDS[(number * step + step) % len(WORDS)] for step in range(1, 26)]
    return f"Unit {number} " + " ".join(words)


def _fill(client: Client, bank: str, size: int) -> list[str]:
    ids = []
    for start in range(0, size, PORTION):
        memories = [{"text": _text(number)} for number in range(start, start + PORTION)]
        status, answer = client.call("POST", "/memories/bulk", {"bank": bank, "memories": memories})
        if status != 200:
            raise SystemExit(f"bulk save refused: {answer}")
        ids += [each["memory"]["id"] for each in answer["results"]]
    return ids


def _measure(client: Client, bank: str, ids: list[str]) -> dict[str, float]:
    times: dict[str, list[float]] = {}

    def timed(name: str, method: str, path: str, body: object = None) -> None:
        start = time.perf_counter()
        status, answer = client.call(method, path, body)
        times.setdefault(name, []).append((time.perf_counter() - start) * 1_000)
        if status != 200:
            raise SystemExit(f"{name} refused: {answer}")

    for number in range(ROUNDS):
        one = ids[number * 37 % len(ids)]
        query = {
            "bank": bank,
            "query": f"what does unit {number} say of the {WORDS[number % len(WORDS)]}",
        }
        timed("read one row", "GET", f"/memories/{one}?bank={bank}")
        timed("recall", "POST", "/recall", query)
        timed("list of 50", "GET", f"/memories?bank={bank}&limit=50")
    for number in range(ROUNDS):
        one = ids[number * 37 % len(ids)]
        query = {"bank": bank, "query": f"what does unit {number} say of the tank"}
        timed("save", "POST", "/memories", {"bank": bank, "text": f"New in {bank}: {number}"})
        timed("recall after a save", "POST", "/recall", query)
        timed("pin", "POST", f"/memories/{one}/pin", {"bank": bank, "pinned": True})
    return {name: statistics.median(each) for name, each in times.items()}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder) / "memory", Path(folder) / "state")
        server.start()
        try:
            token = server.token()
            for size in SIZES:
                bank = f"b{size}"
                with Client(server.port, token) as client:
                    client.call("POST", "/banks", {"name": bank})
                    ids = _fill(client, bank, size)
                server.manage("reindex", "--bank", bank)
                # The server ends connections that rest for as long as that may take.
                with Client(server.port, token) as client:
                    figures = _measure(client, bank, ids)
                base = figures["read one row"]
                print(f"\n{size} memories, medians of {ROUNDS} calls")
                for name, value in figures.items():
                    print(f"  {name:<22}{value:8.1f} ms{value / base:7.2f} x")
        finally:
            server.stop()


if __name__ == "__main__":
    main()
