"""Calls beside open event streams: 50 a second for 5 seconds, without and with 200 streams.

Starts a server of its own on a free port with folders of its own. The two loads take turns, so that
a slow moment of the machine hits both alike: read the ratios, not the milliseconds.
"""

import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.crash.servers import Client
from tests.crash.streaming import Crowded, Stream, load

STREAMS = 200
RATE = 50
FOR_S = 5.0
TURNS = 3


def _opened(server: Crowded, token: str) -> list[Stream]:
    path = "/api/v1/events?bank=kilns"
    bearer = f"Authorization: Bearer {token}"
    streams = [Stream(server.port, bearer, path=path) for _ in range(STREAMS)]
    if not all(each.hears(b"retry: 3000") for each in streams):
        raise SystemExit("a stream was refused")
    return streams


def _percentiles(times: list[float]) -> tuple[float, float]:
    hundredths = statistics.quantiles(times, n=100)
    return hundredths[49] * 1_000, hundredths[98] * 1_000


def _measure(server: Crowded, token: str, *, saves: bool) -> None:
    alone: list[float] = []
    beside: list[float] = []
    for _ in range(TURNS):
        alone += load(server, token, rate=RATE, for_s=FOR_S, saves=saves)
        streams = _opened(server, token)
        beside += load(server, token, rate=RATE, for_s=FOR_S, saves=saves)
        for stream in streams:
            stream.close()
    base = _percentiles(alone)
    print(f"\n{RATE} calls a second, {'one of them a save' if saves else 'lists of 20'}")
    for name, times in (("no stream", alone), (f"{STREAMS} streams", beside)):
        p50, p99 = _percentiles(times)
        ratios = f"ratio {p50 / base[0]:4.1f} and {p99 / base[1]:4.1f}"
        print(f"  {name:12} p50 {p50:6.1f} ms  p99 {p99:6.1f} ms  {ratios}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        server = Crowded(Path(folder) / "memory", Path(folder) / "state")
        server.start()
        try:
            token = server.token()
            with Client(server.port, token) as client:
                client.call("POST", "/banks", {"name": "kilns"})
            load(server, token, rate=RATE, for_s=1)
            for saves in (False, True):
                _measure(server, token, saves=saves)
        finally:
            server.stop()


if __name__ == "__main__":
    main()
