"""The messages of a turn as an agent sends them: anybody's JSON, of which only texts are read.

A harness may keep what the memory appended as a message of its own, or join it with what somebody
typed; both read alike.
"""

from collections.abc import Callable, Iterator

from recall.engine.injection import own_words, update_starts, whole


def newest_question(messages: object) -> str:
    """The newest words of a user that no memory put there; "" when there are none."""
    return next(filter(None, map(own_words, _newest_first(messages))), "")


def standing_update(messages: object, bank: str, current: str) -> bool | None:
    """Whether the newest update of this bank in the window is `current`; None without any."""
    for text in _newest_first(messages):
        # The current one is looked for as a whole: the rules in it may quote anything.
        at = text.rfind(current)
        if at >= 0 and not update_starts(text, bank, after=at + len(current)):
            return True
        if update_starts(text, bank):
            return False
    return None


def _newest_first(messages: object) -> Iterator[str]:
    if not isinstance(messages, list):
        return
    for message in reversed(messages):
        if isinstance(message, dict) and message.get("role") == "user":
            text = text_of(message.get("content"), _part)
            if text.strip():
                yield whole(text)


def text_of(content: object, of_part: Callable[[object], object]) -> str:
    """The text of a content: a text itself, or parts of which some have one, as `of_part` finds."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part if isinstance(part, str) else of_part(part) for part in parts)
    return "\n".join(text for text in texts if isinstance(text, str))


def _part(part: object) -> object:
    return part.get("text") if isinstance(part, dict) else None
