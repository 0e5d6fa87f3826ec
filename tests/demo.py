"""The life of an agent, told while it happens: `make demo`.

Starts a server in a folder of its own and does over HTTP what an agent, its harness and a
subscriber do. Prints each thing that was seen; ends with 1 when one is not as it should be.
"""

import base64
import contextlib
import hashlib
import hmac
import http.client
import json
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.crash.servers import Client, Server
from tests.receivers import Got, Receiver, receiving

BANK = "workshop"
SCOPES = "memory:read,memory:write,rules:read,rules:write,banks:create,hooks,admin"
WAIT_S = 20.0
NAP_S = 0.05
JSON = dict[str, Any]


class OtherwiseError(Exception):
    """Something is not as it should be."""


def seen(what: str, *, is_so: bool) -> None:
    """Say what was seen. Raises OtherwiseError when it is not so."""
    if not is_so:
        raise OtherwiseError(what)
    print(f"   ok  {what}")


def wait_for(what: str, is_there: Callable[[], bool]) -> None:
    """The same for what comes a moment later."""
    deadline = time.monotonic() + WAIT_S
    while not is_there() and time.monotonic() < deadline:
        time.sleep(NAP_S)
    seen(what, is_so=is_there())


class OwnServer(Server):
    """A server whose webhooks may reach one receiver on this machine."""

    allowed = ""

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "MEMORYCONSOLE_WEBHOOK_ALLOW": self.allowed}


@dataclass
class Stream:
    """The events of a bank, as they come."""

    port: int
    token: str
    events: list[JSON] = field(default_factory=list)

    def open(self) -> None:
        """Listen in a thread from now on."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Authorization": f"Bearer {self.token}"}
        connection.request("GET", f"/api/v1/events?bank={BANK}", headers=headers)
        answer = connection.getresponse()
        seen("The stream of events is open.", is_so=answer.status == 200)
        threading.Thread(target=self._read, args=(answer,), daemon=True).start()

    def _read(self, answer: http.client.HTTPResponse) -> None:
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            while line := answer.readline().decode():
                if line.startswith("data: "):
                    self.events.append(json.loads(line.removeprefix("data: ")))


@dataclass
class Agent:
    """An agent and its harness, with one token."""

    client: Client

    def call(self, method: str, path: str, body: JSON | None = None) -> JSON:
        """The answer of a call that has to succeed."""
        status, answer = self.client.call(method, path, body)
        if status != 200:
            raise OtherwiseError(f"{method} {path} was answered {status}: {answer}")
        return answer

    def save(self, text: str, **fields: Any) -> JSON:
        return self.call("POST", "/memories", {"bank": BANK, "text": text, **fields})

    def recalled(self, query: str) -> list[str]:
        """The ids of what is found, best first."""
        answer = self.call("POST", "/recall", {"bank": BANK, "query": query})
        return [each["memory"]["id"] for each in answer["memories"]]

    def step(self, session: str, number: int, messages: list[JSON]) -> tuple[str, list[JSON]]:
        """A step of a turn: the system prompt and the messages that the model would get."""
        generate = {"system_prompt": "You help in a workshop.", "messages": messages}
        body = {"session_id": session, "step": number, "generate": generate}
        answer = self.call("POST", "/hooks/pre-generate", body)
        changes = answer["mutations"] or {}
        return (
            changes.get("system_prompt", generate["system_prompt"]),
            messages + changes.get("append_messages", []),
        )


def begin(agent: Agent) -> None:
    """A bank and its rules."""
    print("\nA bank and its rules")
    bank = {"name": BANK, "description": "What is known about the machines."}
    seen("The bank was made.", is_so=agent.call("POST", "/banks", bank)["created"])
    again = agent.call("POST", "/banks", bank)
    seen("Made a second time, it stays as it is.", is_so=not again["created"])
    for name, content in (("safety", "Close the main valve first."), ("tone", "Answer briefly.")):
        agent.call("PUT", f"/rules/{name}", {"bank": BANK, "content": content})
    rules = agent.call("GET", f"/rules?bank={BANK}")["rules"]
    seen("It has two rules.", is_so=[each["name"] for each in rules] == ["safety", "tone"])


def remember(agent: Agent, data: Path) -> dict[str, str]:
    """Memories; their ids."""
    print("\nMemories")
    texts = {
        "pump": "Pump 2 needs ten minutes to cool down.",
        "old": "The kiln is fired on Mondays.",
        "new": "The kiln is fired on Thursdays since November.",
        "gone": "The spare gauge lies in drawer 4.",
    }
    saved = {name: agent.save(text, tags=["machines"]) for name, text in texts.items()}
    seen("Four were saved.", is_so=all(each["created"] for each in saved.values()))
    again = agent.save(texts["pump"])
    known = not again["created"] and again["memory"]["corroboration"] == 1
    seen("A known one was not saved twice, it counts more.", is_so=known)
    file = data / BANK / saved["pump"]["memory"]["path"]
    seen(f"All of them stand in {file.name}.", is_so=texts["gone"] in file.read_text("utf-8"))
    ids = {name: str(each["memory"]["id"]) for name, each in saved.items()}
    found = agent.recalled("how long does the pump cool down")
    seen("A question about the pump finds it first.", is_so=found[:1] == [ids["pump"]])
    secret = agent.save("The gateway takes password=tr0ub4dor&3 for now.")["memory"]
    seen("A password in a text was masked.", is_so="tr0ub4dor" not in json.dumps(secret))
    return ids


def converse(agent: Agent, ids: dict[str, str]) -> None:
    """Two conversations; in the first one a rule changes."""
    print("\nTwo conversations")
    for session in ("first", "second"):
        agent.call("PUT", f"/sessions/{session}", {"bank": BANK})
    asked = [{"role": "user", "content": "May I open pump 2 now?"}]
    prompt, messages = agent.step("first", 0, asked)
    seen("The first one is told the rules.", is_so="Close the main valve first." in prompt)
    seen("It is given the memory of the pump.", is_so=ids["pump"] in messages[-1]["content"])
    messages.append({"role": "assistant", "content": "Let me look at the clock."})
    later, same = agent.step("first", 1, messages)
    seen("At the next step nothing is added.", is_so=(later, same) == (prompt, messages))
    rule = {"bank": BANK, "content": "Close the main valve and the drain first."}
    agent.call("PUT", "/rules/safety", rule)
    later, updated = agent.step("first", 2, messages)
    news = [each["content"] for each in updated[len(messages) :]]
    arrived = len(news) == 1 and news[0].startswith("<memory-update") and "the drain" in news[0]
    seen("A changed rule arrives as one message.", is_so=arrived)
    seen("The prompt stays as it was, byte for byte.", is_so=later == prompt)
    seen("It arrives once.", is_so=agent.step("first", 3, updated) == (prompt, updated))
    prompt, messages = agent.step("second", 0, asked)
    fresh = "the drain" in prompt and "<memory-update" not in json.dumps(messages)
    seen("The second one begins with the new rule.", is_so=fresh)


def change(agent: Agent, ids: dict[str, str], data: Path) -> None:
    """What becomes of memories: one is replaced, one deleted, one edited by hand."""
    print("\nWhat becomes of memories")
    body = {"bank": BANK, "superseded_by": ids["new"], "reason": "The days moved."}
    answer = agent.call("POST", f"/memories/{ids['old']}/supersede", body | {"reinforce": True})
    seen("The old day of the kiln was replaced.", is_so=answer["reinforced"])
    survivor = agent.call("GET", f"/memories/{ids['new']}?bank={BANK}")["memory"]
    seen("Its successor counts for both.", is_so=survivor["corroboration"] == 1)
    found = agent.recalled("on which day is the kiln fired")
    seen("Only that one is found.", is_so=ids["new"] in found and ids["old"] not in found)
    agent.call("DELETE", f"/memories/{ids['gone']}?bank={BANK}")
    seen("A deleted one is not found.", is_so=ids["gone"] not in agent.recalled("spare gauge"))
    history = agent.call("GET", f"/memories/{ids['gone']}/history?bank={BANK}")["revisions"]
    seen("Its history is still there.", is_so="drawer 4" in history[-1]["memory"]["text"])
    file = data / BANK / survivor["path"]
    file.write_text(file.read_text("utf-8").replace("ten minutes", "twelve minutes"), "utf-8")
    path = f"/memories/{ids['pump']}?bank={BANK}"
    wait_for(
        "What a person edits in the file is what agents get.",
        lambda: "twelve" in agent.call("GET", path)["memory"]["text"],
    )


def is_genuine(got: Got, secret: str) -> bool:
    """Whether the signature of a delivery is the receiver's own."""
    head = f"{got.headers['webhook-id']}.{got.headers['webhook-timestamp']}.".encode()
    key = base64.b64decode(secret.removeprefix("whsec_"))
    own = base64.b64encode(hmac.digest(key, head + got.body, hashlib.sha256)).decode()
    return f"v1,{own}" in got.headers["webhook-signature"].split()


def subscribe(stream: Stream, receiver: Receiver, secret: str, agent: Agent) -> None:
    """What was told of all this, on the stream and to the webhook."""
    print("\nWhat subscribers were told")
    last = "The last thing of the day."
    agent.save(last)

    def is_told(events: list[JSON]) -> bool:
        return any(each.get("memory", {}).get("text") == last for each in events)

    wait_for("The stream came to the last change.", lambda: is_told(stream.events))
    numbers = [each["seq"] for each in stream.events]
    gapless = numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    seen(f"It told {len(numbers)} changes without a gap.", is_so=gapless)
    kinds = {each["event_type"] for each in stream.events}
    wanted = {"created", "updated", "superseded", "deleted", "rules-changed"}
    seen("Every kind of change was among them.", is_so=wanted <= kinds)

    def delivered() -> list[JSON]:
        return [json.loads(got.body) for got in list(receiver.got)]

    wait_for("The webhook came to the last change.", lambda: is_told(delivered()))
    genuine = all(is_genuine(got, secret) for got in receiver.got)
    seen("Each delivery was signed with the secret.", is_so=genuine)
    forged = Got("", receiver.got[0].headers, receiver.got[0].body + b" ")
    seen("A changed body is noticed.", is_so=not is_genuine(forged, secret))
    order = [each["seq"] for each in delivered()]
    once = list(dict.fromkeys(order))
    seen("They came in order, none was left out.", is_so=once == numbers[-len(once) :])


def live(server: OwnServer, receiver: Receiver) -> None:
    """All of it."""
    token = server.manage("token", "demo", "--scopes", SCOPES).strip()
    with Client(server.port, token) as client:
        agent = Agent(client)
        begin(agent)
        print("\nSubscribers")
        stream = Stream(server.port, token)
        stream.open()
        hook = {"url": receiver.url, "filter": {"banks": [BANK]}}
        secret = agent.call("POST", "/webhooks", hook)["secret"]
        seen("A webhook was made; its secret was shown once.", is_so=secret[:6] == "whsec_")
        ids = remember(agent, server.data)
        converse(agent, ids)
        change(agent, ids, server.data)
        subscribe(stream, receiver, secret, agent)
        print("\nAt the end")
        doctor = agent.call("POST", "/doctor")
        bad = [each["name"] for each in doctor["checks"] if each["required"] and not each["ok"]]
        seen("The doctor finds nothing wrong.", is_so=doctor["ok"] and not bad)


@contextlib.contextmanager
def running(folder: Path, allowed: str) -> Iterator[OwnServer]:
    """A server within the block."""
    server = OwnServer(folder / "memory", folder / "state")
    server.allowed = allowed
    try:
        server.start()
        print("A server runs in a folder of its own.")
        yield server
    finally:
        server.stop()
        server.drop()


def main() -> int:
    """Exit code: 0 when everything was as it should be."""
    with tempfile.TemporaryDirectory() as folder, receiving() as receiver:
        try:
            with running(Path(folder), receiver.host) as server:
                live(server, receiver)
        except OtherwiseError as error:
            print(f"NOT SO  {error}", file=sys.stderr)
            return 1
    print("\nEverything was as it should be.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
