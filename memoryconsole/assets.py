"""Static files with the hash of their content in the name, as far as they were collected."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from django.conf import settings
from django.contrib.staticfiles.finders import FileSystemFinder, get_finders
from django.core.management import call_command
from whitenoise.storage import CompressedManifestStaticFilesStorage

from banks import errors

TEXTS: Mapping[str, str] = MappingProxyType(
    {
        ".css": "text/css",
        ".js": "text/javascript",
        ".svg": "image/svg+xml",
    }
)
"""What is handed out as text, by the end of its name."""

_STAMP = ".collected"


@dataclass(frozen=True, slots=True)
class Asset:
    """A text file of the console, and its type for a browser."""

    content: str
    content_type: str


def asset(path: str) -> Asset:
    """One of our own static files, by its path below `static/`. Raises NotFound.

    The path is looked for among those of the files that are there, and never joined to a folder.
    """
    for known, storage in FileSystemFinder().list([]):
        content_type = TEXTS.get(Path(known).suffix)
        if known == path and content_type:
            return Asset(Path(storage.path(known)).read_text(encoding="utf-8"), content_type)
    raise errors.NotFound("There is no file of the console of that path.")


class HashedFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # has no types
    """Hashed, compressed files that a browser may keep for ever.

    In a checkout where nothing was collected the plain name is given: whitenoise then serves
    the file from where it lies, and a page works without a build step.
    """

    manifest_strict = False

    def stored_name(self, name: str) -> str:
        cached = self.hashed_files.get(self.hash_key(self.clean_name(name.replace("\\", "/"))))
        return cached or name


def collect() -> bool:
    """Collect the static files when any of them changed since the last time; whether it did.

    Compressing the API browser takes more than a second, which a restart need not cost.
    """
    stamp, now = Path(settings.STATIC_ROOT) / _STAMP, _sources()
    if stamp.exists() and stamp.read_text(encoding="ascii") == now:
        return False
    call_command("collectstatic", interactive=False, clear=True, verbosity=0)
    stamp.write_text(now, encoding="ascii")
    return True


def _sources() -> str:
    digest = hashlib.sha256(settings.VERSION.encode())
    for finder in get_finders():
        for path, storage in finder.list([]):
            looked = Path(storage.path(path)).stat()
            digest.update(f"{path}\0{looked.st_size}\0{looked.st_mtime_ns}\n".encode())
    return digest.hexdigest()
