"""kill -9 of the whole server under load: nothing acknowledged is lost, nothing is there twice.

`KILLS` sets how often (10 unless told otherwise); the seed is printed for a repeat.
"""

import http.client
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable

from banks.store import parse
from tests.crash.servers import Client, Server

KILLS = int(os.environ.get("KILLS", "10"))
WRITERS = 4
RETRY_S = 0.1


class Writer(threading.Thread):
    """Saves and pins until told to stop; repeats a call with its key until it is answered."""

    def __init__(self, number: int, port: int, token: str) -> None:
        super().__init__()
        self.number, self.client = number, Client(port, token)
        self.done = threading.Event()
        self.saved: dict[str, tuple[str, str]] = {}
        self.revisions: dict[str, int] = {}
        self.repeated = 0
        self.failures: list[object] = []

    def run(self) -> None:
        count = 0
        while not self.done.is_set():
            text = f"valve {self.number} reading {count} is {count} bar"
            key = f"save-{self.number}-{count}"
            body = {"bank": "load", "text": text}
            answer = self._until_answered("POST", "/memories", body, key)
            memory = answer["memory"]
            self.saved[key] = (memory["id"], text)
            if count % 3 == 0:
                path = f"/memories/{memory['id']}/pin"
                pinned = self._until_answered(
                    "POST", path, {"bank": "load", "pinned": True}, f"pin-{key}"
                )
                self.revisions[memory["id"]] = pinned["memory"]["revision"]
            count += 1
        self.client.close()

    def _until_answered(self, method: str, path: str, body: object, key: str) -> dict:  # type: ignore[type-arg]
        while True:
            try:
                status, answer = self.client.call(method, path, body, key)
            except (OSError, http.client.HTTPException):
                self.repeated += 1
                time.sleep(RETRY_S)
                continue
            if status == 200:
                return answer
            if status not in (409, 503) or answer["code"] == "conflict":
                self.failures.append((status, answer))
            time.sleep(RETRY_S)


def test_nothing_acknowledged_is_lost_or_doubled(serve: Callable[..., Server]) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")  # noqa: T201  # to repeat a failure
    chance = random.Random(seed)
    server = serve()
    token = server.token()
    with Client(server.port, token) as client:
        assert client.call("POST", "/banks", {"name": "load"})[0] == 200
    writers = [Writer(n, server.port, token) for n in range(WRITERS)]
    for writer in writers:
        writer.start()
    for _ in range(KILLS):
        time.sleep(chance.uniform(0.2, 1.5))
        server.kill()
        server.start()
    time.sleep(0.5)
    for writer in writers:
        writer.done.set()
    for writer in writers:
        writer.join(120)
        assert not writer.is_alive()
        assert writer.failures == []
    with Client(server.port, token) as client:
        _check(server, writers, client)


def _check(server: Server, writers: list[Writer], client: Client) -> None:
    data = (server.data / "load" / "semantic_memory" / "facts.md").read_bytes()
    document = parse.document(data)
    assert [p for p in document.problems if p.code != "stray_fence"] == []
    entries = {block.entry.id: block.entry for block in document.blocks if block.entry}
    texts = Counter(entry.text for entry in entries.values())
    saved = {key: value for writer in writers for key, value in writer.saved.items()}
    assert len(saved) > KILLS
    assert texts.most_common(1)[0][1] == 1
    assert {text for _, text in saved.values()} == set(texts)
    for key, (entry_id, text) in saved.items():
        assert entries[entry_id].text == text
        body = {"bank": "load", "text": text}
        status, again = client.call("POST", "/memories", body, key)
        assert (status, again["created"], again["memory"]["id"]) == (200, True, entry_id)
    for writer in writers:
        for entry_id, revision in writer.revisions.items():
            assert (entries[entry_id].pinned, entries[entry_id].revision) == (True, revision)
    assert not list(server.data.rglob(".mc-tmp-*"))
    assert '"ok": true' in server.manage("doctor", "--json")
    print(f"{len(saved)} saved, {sum(w.repeated for w in writers)} calls repeated")  # noqa: T201
