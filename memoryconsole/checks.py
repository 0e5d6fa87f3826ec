"""System checks: what must not be started as it is configured. Ids are stable."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error

from banks import config
from banks.errors import DomainError
from banks.webhooks import address

_NETWORK_FILE_SYSTEMS = frozenset(
    {
        "nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "glusterfs", "lustre",
        "fuse.sshfs", "fuse.glusterfs", "fuse.s3fs", "fuse.rclone",
    }
)  # fmt: skip
_MOUNTS = Path("/proc/mounts")


def exposure(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Reachable by other machines (a host beyond loopback is allowed) needs deliberate settings."""
    if set(settings.ALLOWED_HOSTS) <= set(settings.LOOPBACK_HOSTS):
        return []
    found: list[CheckMessage] = []
    if not settings.SECRET_KEY_GIVEN:
        found.append(
            Error(
                "MEMORYCONSOLE_ALLOWED_HOSTS is set, but no secret key.",
                hint="Set MEMORYCONSOLE_SECRET_KEY_FILE (or MEMORYCONSOLE_SECRET_KEY).",
                id="memoryconsole.E001",
            )
        )
    if not settings.DATA_DIR_GIVEN:
        found.append(
            Error(
                "MEMORYCONSOLE_ALLOWED_HOSTS is set, but not where the banks are.",
                hint="Set MEMORYCONSOLE_DATA_DIR.",
                id="memoryconsole.E002",
            )
        )
    if not (settings.HTTPS or settings.ALLOW_HTTP):
        found.append(
            Error(
                "Other machines may reach the console, but over plain http.",
                hint="Put a TLS proxy before it and set MEMORYCONSOLE_HTTPS=1, or accept that "
                "passwords and tokens can be read on the way: MEMORYCONSOLE_ALLOW_HTTP=1.",
                id="memoryconsole.E003",
            )
        )
    if settings.DEBUG:
        found.append(
            Error(
                "MEMORYCONSOLE_DEBUG shows code and memory to everybody who causes an error.",
                hint="Unset MEMORYCONSOLE_DEBUG or MEMORYCONSOLE_ALLOWED_HOSTS.",
                id="memoryconsole.E004",
            )
        )
    return found


def folders(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Derived data lies outside the banks; SQLite lies on a disk whose locks work."""
    found: list[CheckMessage] = []
    data, state = Path(settings.DATA_DIR).resolve(), Path(settings.STATE_DIR).resolve()
    if data.is_relative_to(state) or state.is_relative_to(data):
        found.append(
            Error(
                "The data folder and the state folder lie in each other.",
                hint="Set MEMORYCONSOLE_DATA_DIR and MEMORYCONSOLE_STATE_DIR to separate folders.",
                id="memoryconsole.E005",
            )
        )
    database = settings.DATABASES["default"]
    if database["ENGINE"].endswith("sqlite3") and database["NAME"] != ":memory:":
        kind = file_system(Path(database["NAME"]).parent.resolve())
        if kind in _NETWORK_FILE_SYSTEMS:
            found.append(
                Error(
                    f"The SQLite database lies on a network file system ({kind}).",
                    hint="Move MEMORYCONSOLE_STATE_DIR to a local disk, or use PostgreSQL.",
                    id="memoryconsole.E006",
                )
            )
    return found


def configuration(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """What the environment says of the configuration can be used: every call reads it.

    The row is not read: at this point its table may not be there.
    """
    try:
        config.in_force({})
    except DomainError:
        return [
            Error(
                "MEMORYCONSOLE_DEFAULT_BANK can be no name of a bank.",
                hint="Use 1 to 64 characters out of a-z, 0-9, _ and -, not beginning with - or _.",
                id="memoryconsole.E007",
            )
        ]
    return []


def webhooks(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """What webhooks may reach can be read: every delivery asks it."""
    try:
        address.allowed(tuple(settings.WEBHOOK_ALLOW))
    except address.BadAllowanceError as error:
        return [
            Error(
                "MEMORYCONSOLE_WEBHOOK_ALLOW has an entry that means nothing.",
                hint=str(error),
                id="memoryconsole.E008",
            )
        ]
    return []


def model(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Where a model is asked is an address."""
    if not settings.MODEL_BASE_URL or _is_address(settings.MODEL_BASE_URL):
        return []
    return [
        Error(
            "MEMORYCONSOLE_MODEL_BASE_URL is no http address.",
            hint="Use an address like https://models.example/v1, or unset it.",
            id="memoryconsole.E009",
        )
    ]


def embedder(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """A server that makes vectors has an address."""
    if settings.EMBEDDER != "http" or _is_address(settings.EMBEDDER_BASE_URL):
        return []
    return [
        Error(
            "MEMORYCONSOLE_EMBEDDER is http, but MEMORYCONSOLE_EMBEDDER_BASE_URL is no address.",
            hint="Use an address like https://models.example/v1, or unset MEMORYCONSOLE_EMBEDDER.",
            id="memoryconsole.E010",
        )
    ]


def _is_address(value: str) -> bool:
    try:
        parts = urlsplit(value)
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False


def file_system(path: Path, mounts: str | None = None) -> str:
    """The type of the file system that `path` (absolute, resolved) lies on, "" when unknown.

    `mounts` has the form of /proc/mounts, which is read when it is left out.
    """
    if mounts is None:
        mounts = _MOUNTS.read_text(encoding="utf-8") if _MOUNTS.exists() else ""
    best, kind = -1, ""
    for line in mounts.splitlines():
        _, point, this_kind, *_ = line.split(" ")
        place = Path(point.replace("\\040", " "))
        # Of two mounts on one point the later one hides the earlier.
        if path.is_relative_to(place) and len(place.parts) >= best:
            best, kind = len(place.parts), this_kind
    return kind
