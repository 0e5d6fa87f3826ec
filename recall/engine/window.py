"""The messages of a turn as an agent sends them: anybody's JSON, of which only texts are read."""

from collections.abc import Iterator

from recall.engine.injection import is_injection, is_update


def newest_question(messages: object) -> str:
    """The newest text of a user that is not itself an injection; "" when there is none."""
    return next((text for text in _newest_first(messages) if not is_injection(text)), "")


def standing_update(messages: object, bank: str) -> str | None:
    """The newest update of the section of this bank that the window still holds."""
    return next((text for text in _newest_first(messages) if is_update(text, bank)), None)


def _newest_first(messages: object) -> Iterator[str]:
    if not isinstance(messages, list):
        return
    for message in reversed(messages):
        if isinstance(message, dict) and message.get("role") == "user":
            text = _text(message.get("content"))
            if text.strip():
                yield text


def _text(content: object) -> str:
    """The text of a content: a text itself, or parts of which some have one."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "\n".join(text for text in texts if isinstance(text, str))
