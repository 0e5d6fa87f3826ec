"""A real server in a process of its own, real files, and the system's Chromium."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, Request, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # No other host is even looked up. A handler for each request would do that too, but switches
    # the browser's cache off and asks Python about every file of every page.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]
NAME, PASSWORD = "ada", "a kiln full of bricks"
WIDE, PHONE = {"width": 1360, "height": 860}, {"width": 390, "height": 800}
STOP_S = 40


@dataclass(frozen=True)
class Server:
    """A running console: its address, the folder of its banks, the printed one-time link if
    nobody has an account, the cookies of a window that is signed in."""

    url: str
    data: Path
    setup: str
    cookies: list[Any] = field(default_factory=list)

    def file(self, bank: str, path: str) -> Path:
        """A file of a bank."""
        return self.data / bank / path


@dataclass(frozen=True)
class Prepared:
    """A stopped installation with the first account and a bank `kilns`, to be copied: its folder,
    and the cookies of a window that is signed in."""

    folder: Path
    cookies: list[Any]


@dataclass
class Watched:
    """A browser window, and whatever it did that no page of ours may do."""

    page: Page
    server: Server
    complaints: list[str] = field(default_factory=list)
    stays: bool = False
    """How a question of a page is answered: stay, or go on."""

    def open(self, path: str) -> None:
        """Go to a page of the server."""
        self.page.goto(self.server.url + path)

    def sign_in(self) -> None:
        """Be signed in with the first account: by the cookies of an earlier time, if there are."""
        if self.server.cookies:
            self.page.context.add_cookies(self.server.cookies)
            self.open("/banks")
            return
        self.open("/sign-in")
        self.page.get_by_label("Name").fill(NAME)
        self.page.get_by_label("Password").fill(PASSWORD)
        self.page.get_by_role("button", name="Sign in").click()

    def fits(self) -> bool:
        """Whether nothing has to be scrolled sideways."""
        wide: bool = self.page.evaluate(
            "document.documentElement.scrollWidth > document.documentElement.clientWidth"
        )
        return not wide


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def running(folder: Path, *, is_new: bool = True) -> Iterator[Server]:
    """`manage.py up` with folders of its own; stopped with all it started. A new one prints the
    link that makes the first account."""
    printed = re.compile(r"(http://[^/\s]+)(/setup/\S+)" if is_new else r"(http://[^/\s]+)()/")
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    own = {
        "MEMORYCONSOLE_DATA_DIR": str(folder / "memory"),
        "MEMORYCONSOLE_STATE_DIR": str(folder / "state"),
    }
    port = free_port()
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), "up", "--port", str(port)],
            env=kept | own,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
        )
    try:
        assert process.stdout is not None
        link = None
        while link is None:
            line = process.stdout.readline()
            assert line, (folder / "log").read_text()
            link = printed.search(line)
        yield Server(link[1], folder / "memory", link[2])
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(STOP_S)
        if process.stdout is not None:
            process.stdout.close()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Server]:
    """A server where nobody has an account."""
    with running(tmp_path) as server:
        yield server


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory, chromium: Browser) -> Prepared:
    """Made once: a password takes half a second, a new database more."""
    folder = tmp_path_factory.mktemp("prepared")
    with running(folder) as server, window(chromium, server) as watched:
        make_account(watched)
        watched.open("/banks/new")
        watched.page.get_by_label("Name").fill("kilns")
        watched.page.get_by_role("button", name="Make the bank").click()
        watched.page.wait_for_url("**/b/kilns/memories")
        cookies = [dict(cookie) for cookie in watched.page.context.cookies()]
    return Prepared(folder, cookies)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, prepared: Prepared) -> Iterator[Server]:
    """A server with the first account and a bank `kilns`."""
    folder = tmp_path_factory.mktemp("server") / "copy"
    shutil.copytree(prepared.folder, folder)
    with running(folder, is_new=False) as server:
        yield replace(server, cookies=prepared.cookies)


def make_account(watched: Watched) -> None:
    """Use the printed link."""
    watched.open(watched.server.setup)
    watched.page.get_by_label("Name").fill(NAME)
    watched.page.get_by_label("Password", exact=True).fill(PASSWORD)
    watched.page.get_by_label("The same password again").fill(PASSWORD)
    watched.page.get_by_role("button", name="Make the account").click()


@contextmanager
def window(browser: Browser, server: Server, **options: Any) -> Iterator[Watched]:
    """A window with a profile of its own; every complaint in it fails the test."""
    context: BrowserContext = browser.new_context(**({"viewport": WIDE} | options))
    watched = Watched(context.new_page(), server)

    def look(request: Request) -> None:
        if not request.url.startswith((server.url, "data:")):
            watched.complaints.append(f"left the origin: {request.url}")

    context.on("request", look)
    watched.page.on("console", lambda said: _complain(watched, said.type, said.text))
    watched.page.on("pageerror", lambda error: watched.complaints.append(str(error)))
    watched.page.on("dialog", lambda dialog: _answer(watched, dialog))
    try:
        yield watched
        assert watched.complaints == []
    finally:
        context.close()


def _answer(watched: Watched, dialog: Dialog) -> None:
    watched.complaints.append(dialog.message)
    dialog.dismiss() if watched.stays else dialog.accept()


def _complain(watched: Watched, kind: str, text: str) -> None:
    # A page that is refused on purpose (409, 422) is written to the console by the browser itself.
    if kind in ("error", "warning") and "the server responded with a status of" not in text:
        watched.complaints.append(text)


@pytest.fixture
def plain(chromium: Browser, server: Server) -> Iterator[Watched]:
    """A signed-in window without script."""
    with window(chromium, server, java_script_enabled=False) as watched:
        watched.sign_in()
        yield watched


Add = Callable[..., str]


@pytest.fixture
def add() -> Add:
    """Add a memory by the form; its address."""

    def added(watched: Watched, text: str, *, tags: str = "", category: str = "facts") -> str:
        watched.open("/b/kilns/memories/new")
        watched.page.get_by_label("Text").fill(text)
        watched.page.get_by_label("Tags").fill(tags)
        watched.page.get_by_label("Category").select_option(category)
        watched.page.get_by_role("button", name="Save").click()
        watched.page.wait_for_url("**/m/kilns/*")
        return watched.page.url.removeprefix(watched.server.url)

    return added
