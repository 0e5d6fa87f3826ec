"""The shell lines of the README, run as they stand on a checkout that nobody has used."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PORT = "8000"
DEADLINE_S = 60

# A checkout without what is no part of it.
LEFT_OUT = shutil.ignore_patterns(".*", "var", "tests", "bench", "__pycache__", "*.pyc")

pytestmark = pytest.mark.slow  # a real server starts, and each command is a process


def shell_lines() -> list[str]:
    """Every command of the README's consoles, in order, with its continuation lines."""
    blocks = re.findall(r"^```console\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    return [
        line
        for block in blocks
        for line in re.findall(r"^\$ ((?:.*\\\n)*.*)$", block, re.MULTILINE)
    ]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5):
            return True
    except (urllib.error.URLError, ConnectionError):
        return False


@dataclass
class Checkout:
    """A copy of the checkout that serves on a free port."""

    folder: Path
    port: int

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        return kept | {"PORT": str(self.port)}


def _copy(folder: Path) -> None:
    """The checkout, with an installation that is there already: nothing is fetched by a test."""
    shutil.copytree(ROOT, folder, ignore=LEFT_OUT)
    installed = folder / ".venv"
    installed.mkdir()
    for part in Path(sys.prefix).iterdir():
        if not part.name.startswith("."):
            (installed / part.name).symlink_to(part)
    (installed / ".installed-run").touch()


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    """`make run` as the README has it, but for the port."""
    made = Checkout(tmp_path_factory.mktemp("readme") / "checkout", free_port())
    _copy(made.folder)
    log = made.folder.with_suffix(".log")
    run = next(line for line in shell_lines() if line.startswith("make run"))
    with log.open("wb") as out:
        process = subprocess.Popen(
            ["bash", "-c", f"exec {run}"],
            env=made.environment,
            cwd=made.folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + DEADLINE_S
        while not answers(made.port):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        assert f"http://127.0.0.1:{made.port}/setup/" in log.read_text()
        yield made
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(DEADLINE_S)


def test_every_line_works_as_it_stands(checkout: Checkout) -> None:
    lines = [line for line in shell_lines() if not line.startswith("make ")]
    script = "\nprintf '\\f'\n".join(lines).replace(f":{PORT}/", f":{checkout.port}/")
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        env=checkout.environment,
        cwd=checkout.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    token, saved, recalled, file, would, copied, folder, written, old = done.stdout.split("\f")
    assert (token, folder, written) == ("", "", "")  # no secret is shown
    text = "The kiln in hall 2 cools for nine hours."
    assert json.loads(saved)["memory"]["text"] == text
    assert [hit["memory"]["text"] for hit in json.loads(recalled)["memories"]] == [text]
    assert file.endswith(f"---\n\n{text}\n")
    report = "(new): 1 memory found, 1 of them live; 1 {}imported, 0 the same, 0 left out.\n"
    assert would == "copy " + report.format("would be ")
    assert copied == "copy " + report.format("")
    assert old == "old " + report.format("")
    assert (checkout.folder / "var/memory/copy/semantic_memory/facts.md").read_text() == file


def test_the_words_to_press_are_on_the_pages() -> None:
    pages = "".join(page.read_text() for page in (ROOT / "templates").rglob("*.html"))
    steps = re.findall(r"\*([A-Z][^*]+)\*", README)
    assert steps
    assert [words for words in steps if words not in pages] == []
