"""Typed readers of the environment. Nonsense is refused at start with the name of the variable.

All names carry the prefix `MEMORYCONSOLE_`. A secret may also come from a file: `NAME_FILE`.
"""

import os
import secrets
from pathlib import Path

PREFIX = "MEMORYCONSOLE_"
_YES = frozenset({"1", "true", "yes", "on"})
_NO = frozenset({"0", "false", "no", "off", ""})


class BadEnvironmentError(ValueError):
    """A variable holds something that it cannot mean. Names the variable, never its value."""


def text(name: str, default: str = "") -> str:
    """The value without surrounding white space; `default` when unset or blank."""
    return os.environ.get(PREFIX + name, "").strip() or default


def flag(name: str, *, default: bool = False) -> bool:
    """1/true/yes/on or 0/false/no/off, in any case. Raises BadEnvironmentError for other words."""
    value = os.environ.get(PREFIX + name)
    if value is None:
        return default
    word = value.strip().casefold()
    if word not in _YES | _NO:
        raise BadEnvironmentError(f"{PREFIX}{name} must be 1 or 0")
    return word in _YES


def number(name: str, default: int, *, least: int, most: int) -> int:
    """A whole number within the limits. Raises BadEnvironmentError for anything else."""
    value = text(name)
    if not value:
        return default
    if not (value.isascii() and value.isdigit() and least <= int(value) <= most):
        raise BadEnvironmentError(f"{PREFIX}{name} must be a number from {least} to {most}")
    return int(value)


def word(name: str, default: str, *, allowed: tuple[str, ...]) -> str:
    """One of the allowed words. Raises BadEnvironmentError for any other."""
    value = text(name, default)
    if value not in allowed:
        raise BadEnvironmentError(f"{PREFIX}{name} must be one of: {', '.join(allowed)}")
    return value


def names(name: str) -> list[str]:
    """A comma-separated list, blanks dropped."""
    return [part.strip() for part in text(name).split(",") if part.strip()]


def folder(name: str, default: Path) -> Path:
    """An absolute path. A relative one counts from the current folder; `~` is the home."""
    value = text(name)
    return Path(value).expanduser().absolute() if value else default


def secret(name: str) -> str:
    """The value of `NAME`, else the content of the file that `NAME_FILE` names, else "".

    Raises BadEnvironmentError when the file cannot be read or is blank, or when both are set.
    """
    value, path = text(name), text(f"{name}_FILE")
    if value and path:
        raise BadEnvironmentError(f"set {PREFIX}{name} or {PREFIX}{name}_FILE, not both")
    if not path:
        return value
    try:
        content = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BadEnvironmentError(f"{PREFIX}{name}_FILE cannot be read") from error
    if not content:
        raise BadEnvironmentError(f"{PREFIX}{name}_FILE is empty")
    return content


def kept_secret(path: Path) -> str:
    """A random secret that lies in `path` (mode 0600), made at the first call.

    Several processes may start at once: the file appears whole or not at all, the first one wins.
    """
    if not path.exists():
        draft = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(64))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)
        except FileExistsError:
            pass  # another process was first; its secret is read below
        finally:
            draft.unlink()
    return path.read_text(encoding="ascii").strip()
