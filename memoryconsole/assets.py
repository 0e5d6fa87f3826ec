"""Static files with the hash of their content in the name, as far as they were collected."""

import hashlib
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from whitenoise.storage import CompressedManifestStaticFilesStorage

_STAMP = ".collected"


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
