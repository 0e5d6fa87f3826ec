"""Log lines: two formats, a context that every line carries, and what must never be in one.

No memory text, no secret, no query string. Nothing here may need a started Django: logging is
set up before the apps are.
"""

import json
import logging
import re
import traceback
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType

from banks.store.redact import mask

#: Set by the middleware and the worker: request_id, job_id and the like. Shown on every line.
context: ContextVar[Mapping[str, str]] = ContextVar("log_context", default=MappingProxyType({}))

# A one-time sign-in link is a secret that stands in a path; anything may stand in a query string.
_SETUP_LINK = re.compile(r"/setup/[^\s\"'?]+")
_QUERY = re.compile(r"(/[^\s\"'?]*)\?[^\s\"']+")

# Exceptions whose message tells about the program or the machine. Others (a ValueError, a failed
# constraint, a schema error) quote the value that was refused, which may be memory text.
_SPEAKING = frozenset(
    {
        "DomainError", "StoreError", "OSError", "ImportError", "AttributeError", "TypeError",
        "NameError", "RuntimeError", "OperationalError", "ProgrammingError",
        "ImproperlyConfigured", "TemplateDoesNotExist", "TemplateSyntaxError", "NoReverseMatch",
    }
)  # fmt: skip
_MESSAGE_CHARS = 300


def quiet(line: str) -> str:
    """The line without secrets, query strings and one-time links."""
    return mask(_QUERY.sub(r"\1", _SETUP_LINK.sub("/setup/…", line))).text


class WithoutSecrets(logging.Filter):
    """Makes every record's message safe before any formatter sees it."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg = quiet(record.getMessage())
        record.args = None
        return True


def _stack(error: BaseException) -> list[str]:
    lines = [
        f"  {frame.filename.rpartition('site-packages/')[2]}:{frame.lineno} in {frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)
    ]
    speaking = any(cls.__name__ in _SPEAKING for cls in type(error).__mro__)
    message = quiet(str(error).partition("\n")[0])[:_MESSAGE_CHARS] if speaking else ""
    lines.append(f"{type(error).__module__}.{type(error).__qualname__}: {message or '(withheld)'}")
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None:
        lines = [*_stack(cause), "then", *lines]
    return lines


class TextFormatter(logging.Formatter):
    """One line for a person: time, level, logger, message, context."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).strftime("%H:%M:%S")
        extra = "".join(f" {key}={value}" for key, value in context.get().items())
        # A line end in a value must not look like a line of its own.
        message = record.getMessage().replace("\r", "\\r").replace("\n", "\\n")
        line = f"{at} {record.levelname:<7} {record.name}: {message}{extra}"
        error = record.exc_info[1] if record.exc_info else None
        return "\n".join([line, *_stack(error)]) if error else line


class JsonFormatter(logging.Formatter):
    """One JSON object a line, keys in a fixed order, context last."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        error = record.exc_info[1] if record.exc_info else None
        if error:
            fields["error"] = _stack(error)
        return json.dumps(fields | dict(context.get()), ensure_ascii=False)
