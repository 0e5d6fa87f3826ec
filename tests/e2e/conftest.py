"""A real server in a process of its own, real files, and the system's Chromium."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, sync_playwright
from playwright.sync_api import Request as Asked

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
    """A running console: its address, the folder of its banks, the printed one-time link."""

    url: str
    data: Path
    setup: str

    def file(self, bank: str, path: str) -> Path:
        """A file of a bank."""
        return self.data / bank / path


@dataclass(frozen=True)
class Console:
    """The server of all tests, a token that may do everything, and the cookies of a window that
    is signed in."""

    server: Server
    token: str
    cookies: list[Any]

    def call(self, path: str, method: str = "POST", **body: Any) -> Any:
        """The answer to a call of the API that has to succeed."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        url = f"{self.server.url}/api/v1{path}"
        data = json.dumps(body).encode()
        asked = Request(url, data, headers, method=method)  # noqa: S310  # our own server
        try:
            with urlopen(asked, timeout=10) as answer:  # noqa: S310  # the same
                return json.load(answer)
        except HTTPError as refusal:
            pytest.fail(f"{method} {path}: {refusal.read().decode()}")


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
        """Sign in with the first account."""
        self.open("/sign-in")
        self.page.get_by_label("Name").fill(NAME)
        self.page.get_by_label("Password").fill(PASSWORD)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.locator(".account").wait_for()

    def fits(self) -> bool:
        """Whether nothing has to be scrolled sideways."""
        wide: bool = self.page.evaluate(
            "document.documentElement.scrollWidth > document.documentElement.clientWidth"
        )
        return not wide


Open = Callable[..., AbstractContextManager[Watched]]
Add = Callable[..., str]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def running(folder: Path) -> Iterator[Server]:
    """`manage.py up` with folders of its own, stopped with all it started."""
    printed = re.compile(r"(http://[^/\s]+)(/setup/\S+)")
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
        # Nothing is kept, so nobody waits for an orderly end: the crash tests look at that.
        os.killpg(process.pid, signal.SIGKILL)
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
def console(tmp_path_factory: pytest.TempPathFactory, chromium: Browser) -> Iterator[Console]:
    """The server of all tests, with the first account. One process of pytest starts one."""
    with running(tmp_path_factory.mktemp("console")) as server:
        with window(chromium, server) as watched:
            make_account(watched)
            watched.page.wait_for_url("**/welcome")
            watched.open("/settings/tokens")
            watched.page.get_by_label("Name", exact=True).fill("tests")
            for box in watched.page.locator("main [name=scopes]").all():
                box.check()
            watched.page.get_by_role("button", name="Make the token").click()
            token = watched.page.get_by_role("textbox", name="The token").input_value()
            cookies = watched.page.context.cookies()
        yield Console(server, token, cookies)


@pytest.fixture(scope="module")
def server(console: Console, request: pytest.FixtureRequest) -> Iterator[Server]:
    """The server with a new bank `kilns`, which has another name when the module is done."""
    console.call("/banks", name="kilns")
    yield console.server
    module = request.module.__name__.rpartition("test_")[2].replace("_", "-")
    console.call("/banks/kilns/rename", name=f"was-{module}")


@pytest.fixture(scope="session")
def profiles(chromium: Browser) -> dict[str, BrowserContext]:
    """Browser profiles by their options: to make one takes longer than most tests do."""
    return {}


@pytest.fixture
def opened(
    chromium: Browser, console: Console, server: Server, profiles: dict[str, BrowserContext]
) -> Open:
    """Opens a signed-in window: `with opened(viewport=PHONE) as watched`."""

    @contextmanager
    def window_of_a_profile(**options: Any) -> Iterator[Watched]:
        if not options.get("java_script_enabled", True):
            # A tab without script that is closed on its way to a page may never answer.
            with window(chromium, server, **options) as watched:
                watched.page.context.add_cookies(console.cookies)
                yield watched
            return
        key = repr(sorted(options.items()))
        if key not in profiles:
            profiles[key] = profile(chromium, **options)
        profiles[key].clear_cookies()
        profiles[key].add_cookies(console.cookies)
        try:
            with tab(profiles[key], server) as watched:
                yield watched
        finally:
            for page in profiles[key].pages:
                page.close()

    return window_of_a_profile


@pytest.fixture
def watched(opened: Open) -> Iterator[Watched]:
    """A signed-in window with script."""
    with opened() as watched:
        yield watched


@pytest.fixture
def plain(opened: Open) -> Iterator[Watched]:
    """A signed-in window without script."""
    with opened(java_script_enabled=False) as watched:
        yield watched


def make_account(watched: Watched) -> None:
    """Use the printed link."""
    watched.open(watched.server.setup)
    watched.page.get_by_label("Name").fill(NAME)
    watched.page.get_by_label("Password", exact=True).fill(PASSWORD)
    watched.page.get_by_label("The same password again").fill(PASSWORD)
    watched.page.get_by_role("button", name="Make the account").click()


def profile(browser: Browser, **options: Any) -> BrowserContext:
    """A browser that knows nothing yet."""
    return browser.new_context(**({"viewport": WIDE} | options))


@contextmanager
def window(browser: Browser, server: Server, **options: Any) -> Iterator[Watched]:
    """A window of a new profile; every complaint in it fails the test."""
    context = profile(browser, **options)
    try:
        with tab(context, server) as watched:
            yield watched
    finally:
        context.close()


@contextmanager
def tab(context: BrowserContext, server: Server) -> Iterator[Watched]:
    """A tab; every complaint in it fails the test."""
    watched = Watched(context.new_page(), server)

    def look(request: Asked) -> None:
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
        context.remove_listener("request", look)


def _answer(watched: Watched, dialog: Dialog) -> None:
    watched.complaints.append(dialog.message)
    dialog.dismiss() if watched.stays else dialog.accept()


def _complain(watched: Watched, kind: str, text: str) -> None:
    # A page that is refused on purpose (409, 422) is written to the console by the browser itself.
    if kind in ("error", "warning") and "the server responded with a status of" not in text:
        watched.complaints.append(text)


@pytest.fixture
def add(console: Console) -> Add:
    """Add a memory to the bank; the address of its page."""

    def added(text: str, *, tags: str = "") -> str:
        saved = console.call("/memories", bank="kilns", text=text, tags=tags.split())
        return f"/m/kilns/{saved['memory']['id']}"

    return added
