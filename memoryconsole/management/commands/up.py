"""`manage.py up`: everything that a running Memory Console is, in one command."""

import ipaddress
import os
import socket
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections

from banks import config
from banks.auth import make_setup_token, needs_setup
from banks.models import Bank
from memoryconsole import assets
from memoryconsole.server import Server


class Command(BaseCommand):
    help = "Migrates, then serves the console and the API and runs the background worker."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, default=8000)
        parser.add_argument("--host", default="127.0.0.1")

    def handle(self, *args: Any, **options: Any) -> None:
        host, port = options["host"], options["port"]
        _refuse_open_http(host)
        _refuse_taken(host, port)
        call_command("migrate", interactive=False, verbosity=0)
        _make_data_folder()
        assets.collect()
        lines = _welcome(host, port)
        # A connection must not be shared with the processes that are forked from this one.
        connections.close_all()

        def announce() -> None:
            for line in lines:
                self.stdout.write(line)
            self.stdout.flush()

        Server(host=host, port=port, parent=os.getpid(), announce=announce).run()


def _refuse_open_http(host: str) -> None:
    """Plain http is served on loopback only, unless that was allowed."""
    if settings.HTTPS or settings.ALLOW_HTTP or host == "localhost":
        return
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise CommandError(
            "Plain http is served on this machine only. Set MEMORYCONSOLE_HTTPS=1 behind a TLS "
            "proxy, or MEMORYCONSOLE_ALLOW_HTTP=1 if that risk is accepted."
        )


def _refuse_taken(host: str, port: int) -> None:
    """Say at once what gunicorn would say after five more tries, and before anything is changed."""
    if not 0 < port < 1 << 16:
        raise CommandError(f"There is no port {port}: choose one from 1 to 65535")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise CommandError(
            f"Cannot serve on {host}:{port}: {error.strerror}. Another port: make run PORT=8001"
        ) from error


def _make_data_folder() -> None:
    """Only the first start makes it: later its disk may just not be mounted."""
    folder = Path(settings.DATA_DIR)
    if config.data_folder() != folder or folder.is_dir():
        return  # one that was configured can be configured anew while we serve
    if Bank.objects.exists():
        raise CommandError(
            f"The data folder {folder} is not there, and there were banks in it: mount it or put "
            "it back, or say with MEMORYCONSOLE_DATA_DIR where it is now."
        )
    folder.mkdir(mode=0o750, parents=True)


def _welcome(host: str, port: int) -> list[str]:
    shown = f"[{host}]" if ":" in host else host
    base = f"https://{settings.ALLOWED_HOSTS[0]}" if settings.HTTPS else f"http://{shown}:{port}"
    lines = [f"Memory Console {settings.VERSION} at {base}/"]
    if needs_setup():
        lines.append(f"Nobody has an account yet. Make one: {base}/setup/{make_setup_token()}")
    return lines
