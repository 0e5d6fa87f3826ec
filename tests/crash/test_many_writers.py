"""Many processes write one bank at once: everything acknowledged is there, once, in order."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

from banks.store import parse
from tests.crash.servers import Client, Server

WRITERS, SAVES = 8, 50


def _write(port: int, token: str, writer: int, count: int) -> list[str]:
    ids = []
    with Client(port, token) as client:
        for number in range(count):
            body = {"bank": "load", "text": f"gauge {writer} reading {number} is nominal"}
            status, answer = client.call("POST", "/memories", body)
            assert (status, answer.get("created")) == (200, True), answer
            ids.append(answer["memory"]["id"])
    return ids


def _write_all(servers: list[Server], tokens: list[str], count: int) -> set[str]:
    """Ids acknowledged by writers that are spread over the servers."""
    with ProcessPoolExecutor(WRITERS) as pool:
        jobs = [
            pool.submit(_write, servers[n % len(servers)].port, tokens[n % len(tokens)], n, count)
            for n in range(WRITERS)
        ]
        ids = [key for job in jobs for key in job.result()]
    assert len(ids) == len(set(ids)) == WRITERS * count
    return set(ids)


def _on_disk(server: Server) -> list[str]:
    data = (server.data / "load" / "semantic_memory" / "facts.md").read_bytes()
    return [block.entry.id for block in parse.document(data).blocks if block.entry]


def _listed(client: Client) -> set[str]:
    status, answer = client.call("GET", "/memories?bank=load&limit=500")
    assert status == 200
    return {each["id"] for each in answer["memories"]}


# field case A01
def test_eight_processes_save_into_one_bank(serve: Callable[..., Server]) -> None:
    server = serve()
    token = server.token()
    with Client(server.port, token) as client:
        assert client.call("POST", "/banks", {"name": "load"})[0] == 200
        client.close()
        ids = _write_all([server], [token], SAVES)
        assert sorted(_on_disk(server)) == sorted(ids)
        assert _listed(client) == ids
        for writer in range(WRITERS):
            for number in range(SAVES):
                query = {"bank": "load", "query": f"gauge {writer} reading {number}", "limit": 10}
                found = client.call("POST", "/recall", query)[1]["memories"]
                wanted = f"gauge {writer} reading {number} is nominal"
                assert wanted in {hit["memory"]["text"] for hit in found}
    told = server.manage("doctor", "--json")
    assert '"ok": true' in told
    script = (
        "from banks.models import Change;"
        "print(list(Change.objects.filter(bank__name='load').order_by('seq')"
        ".values_list('seq', 'target')))"
    )
    rows = eval(server.manage("shell", "--no-imports", "-c", script))  # noqa: S307  # our own print
    assert rows == [(1, "bank"), *((seq, "entry") for seq in range(2, WRITERS * SAVES + 2))]


def test_two_servers_with_states_of_their_own_lose_nothing(serve: Callable[..., Server]) -> None:
    first, second = serve("one"), serve("two")
    tokens = [first.token(), second.token()]
    with Client(first.port, tokens[0]) as client:
        assert client.call("POST", "/banks", {"name": "load"})[0] == 200
    ids = _write_all([first, second], tokens, 10)
    assert sorted(_on_disk(first)) == sorted(ids)
    for server, token in zip((first, second), tokens, strict=True):
        with Client(server.port, token) as client:
            assert client.call("POST", "/reload", {})[0] == 200
            assert _listed(client) == ids
