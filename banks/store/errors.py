"""Errors of the store: a name, a text or a disk that will not do. No HTTP in here."""


class StoreError(Exception):
    """Base of all store errors. `code` is stable; `message` tells a person what to do next.

    A message never holds a server path or the text of a memory.
    """

    code = "store_error"

    def __init__(self, message: str, *, field: str = "", **data: str | int) -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        self.data = data


class InvalidName(StoreError):
    """A bank, rule, procedure, tag or id that may not name anything."""

    code = "invalid_name"


class InvalidContent(StoreError):
    """A text or field that cannot be written so that it reads back the same."""

    code = "invalid_content"


class FileChanged(StoreError):
    """Somebody else changed the file between our look and our write."""

    code = "file_changed"


class LockTimeout(StoreError):
    """Another writer held the lock for longer than we wait."""

    code = "lock_timeout"


class FolderMoved(StoreError):
    """The bank's folder is not there any more (trashed or renamed while we waited)."""

    code = "folder_moved"


class DiskFault(StoreError):
    """The disk refused: full, read-only, I/O error. `data["errno"]` names the cause.

    `certain` says that the file is byte for byte as before (the write was taken back).
    """

    code = "disk_fault"

    def __init__(self, message: str, *, certain: bool, errno_name: str) -> None:
        super().__init__(message, errno=errno_name)
        self.certain = certain


class FileMissing(StoreError):
    """There is no such file or folder. `data["path"]` is relative to the bank."""

    code = "file_missing"


class NotAFile(StoreError):
    """A link, a device or a folder where a plain file or folder of ours should be."""

    code = "not_a_file"


class FolderExists(StoreError):
    """A bank, in use or in the trash, has that name already."""

    code = "folder_exists"
