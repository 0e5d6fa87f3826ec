"""A client for one call. Nothing that was asked or answered is logged or put into an error."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from banks import errors
from banks.retrying import retry_after_s

if TYPE_CHECKING:
    import openai

LATE = "The model did not answer in time."
AWAY = "The model cannot be reached."
CHECK_S = 3.0
LONGEST_PAUSE_S = 3_600.0
_LATER = frozenset({408, 409, 425, 429})
"""Beside those of the server's own faults, statuses after which the same call may work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Where it is asked, and of how many bytes an answer is none any more. `settings` names what
    somebody looks at when it refuses."""

    base_url: str
    api_key: str = field(repr=False)
    longest_bytes: int
    settings: str

    @contextmanager
    def client(self, timeout_s: float) -> Iterator["openai.OpenAI"]:
        """A client for one call; its faults in the product's terms: may it work later, or has
        somebody to act? Raises ModelUnavailable, ModelRefused, ReplyUnusable."""
        # Slow to import, and most processes never ask a model.
        import openai  # noqa: PLC0415

        from recall.servers.bounded import Bound, TooLongError  # noqa: PLC0415

        bound = Bound(seconds=timeout_s, most=self.longest_bytes)
        hooks: dict[str, Any] = {"request": [bound.request], "response": [bound.response]}
        try:
            with (
                bound,
                openai.DefaultHttpxClient(event_hooks=hooks, follow_redirects=False) as http,
                openai.OpenAI(
                    base_url=self.base_url,
                    api_key=self.api_key or "none",
                    timeout=timeout_s,
                    max_retries=0,
                    http_client=http,
                ) as client,
            ):
                yield client
            if bound.is_over:
                raise errors.ModelUnavailable(LATE)
        except TooLongError as error:
            raise errors.ReplyUnusable("The model's answer has no end.") from error
        except openai.APIStatusError as error:
            raise self._refusal(error) from error
        except openai.APIConnectionError as error:
            is_late = bound.is_over or isinstance(error, openai.APITimeoutError)
            raise errors.ModelUnavailable(LATE if is_late else AWAY) from error

    def trouble(self) -> str:
        """Why it cannot be reached now, as a sentence, "" when it can: what a list of its models
        is answered with. A server without such a list is there."""
        try:
            with self.client(CHECK_S) as client:
                client.models.with_raw_response.list()
        except errors.ModelUnavailable as error:
            return error.message
        except errors.ReplyUnusable:
            return ""
        except errors.ModelRefused as error:
            return error.message if error.status in (401, 403) else ""
        return ""

    def _refusal(self, error: "openai.APIStatusError") -> errors.DomainError:
        status = error.status_code
        if status in _LATER or status >= 500:
            wished = error.response.headers.get("retry-after", "")
            after_s = retry_after_s(wished, most_s=LONGEST_PAUSE_S)
            return errors.ModelUnavailable(
                f"The model cannot answer now (status {status}).",
                retry_after_s=None if after_s is None else int(after_s),
            )
        return errors.ModelRefused(status, self.settings)
