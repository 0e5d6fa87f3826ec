"""What a log line may hold, and how it looks."""

import json
import logging

import pytest

from memoryconsole import logs
from tests.canaries import TOKEN


def record(message: str, *args: object, error: BaseException | None = None) -> logging.LogRecord:
    exc_info = (type(error), error, error.__traceback__) if error else None
    made = logging.LogRecord("banks.services", logging.INFO, __file__, 1, message, args, exc_info)
    logs.WithoutSecrets().filter(made)
    return made


def raised(error: Exception) -> BaseException:
    with pytest.raises(type(error)) as caught:
        raise error
    return caught.value


# field case A26
@pytest.mark.parametrize(
    "line",
    [
        f'"GET /api/v1/banks?token={TOKEN} HTTP/1.1" 200 17',
        f"Not Found: /setup/{TOKEN}",
        f"Forbidden: /api/v1/events?after=3&access_token={TOKEN}",
        f"Authorization: Bearer {TOKEN}",
    ],
)
def test_a_token_never_reaches_a_log_line(line: str) -> None:
    shown = logs.TextFormatter().format(record("%s", line))
    assert TOKEN not in shown
    assert TOKEN[-12:] not in shown


# field case A26
def test_a_query_string_is_cut_and_the_rest_of_the_line_stays() -> None:
    shown = record('"GET /memories?q=valve+seven HTTP/1.1" %d', 200).getMessage()
    assert shown == '"GET /memories HTTP/1.1" 200'


def test_an_error_that_may_quote_memory_text_is_shown_without_its_message() -> None:
    error = raised(ValueError("could not read 'the kiln stands in hall four'"))
    shown = logs.TextFormatter().format(record("failed", error=error))
    assert "kiln" not in shown
    assert "ValueError: (withheld)" in shown
    assert "test_logs.py" in shown


def test_an_error_about_the_machine_is_shown_with_its_message() -> None:
    shown = logs.TextFormatter().format(record("failed", error=raised(OSError(28, "disk is full"))))
    assert "disk is full" in shown


def test_the_cause_of_an_error_comes_before_it() -> None:
    error = RuntimeError("second")
    error.__cause__ = RuntimeError("first")
    shown = logs.TextFormatter().format(record("failed", error=raised(error)))
    assert shown.index("first") < shown.index("then") < shown.index("second")


def test_json_is_one_object_a_line_and_carries_the_context() -> None:
    token = logs.context.set({"request_id": "r-1"})
    try:
        line = logs.JsonFormatter().format(record("entry saved bank=%s", "main\nforged"))
        failed = logs.JsonFormatter().format(record("x", error=raised(OSError(5, "I/O"))))
    finally:
        logs.context.reset(token)
    assert "\n" not in line
    fields = json.loads(line)
    assert fields["message"] == "entry saved bank=main\nforged"
    assert fields["request_id"] == "r-1"
    assert fields["level"] == "INFO"
    assert json.loads(failed)["error"][-1] == "builtins.OSError: [Errno 5] I/O"


def test_text_carries_the_context_and_cannot_be_forged_into_two_lines() -> None:
    token = logs.context.set({"request_id": "r-1"})
    try:
        line = logs.TextFormatter().format(record("entry saved bank=%s", "main\n12:00:00 ERROR"))
    finally:
        logs.context.reset(token)
    assert "\n" not in line
    assert line.endswith("request_id=r-1")
