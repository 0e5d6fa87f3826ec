"""What a model proposes, weighed against what was said: who said it, and how far it is believed.

The model is not believed about that. Its quote has to stand in a message: in one of the user, and
the memory may come from the user; pasted there, or anywhere else, and it is of low trust. A rule is
no paraphrase: it is whole sentences of what the user said, word for word.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from banks.store import names
from banks.store.types import Category, Origin, Trust
from recall.learning import sentences
from recall.learning.llm.replies import LONGEST, SHORTEST, Element
from recall.learning.transcript import ASSISTANT, TOOL, USER, Said

QUOTE_LEAST = 8
"""A shorter quote proves nothing, unless it is the whole message."""

_FENCED = re.compile(r"^\s*(```|~~~).*?(?:^\s*\1|\Z)", re.DOTALL | re.MULTILINE)
_QUOTED = re.compile(r"^\s*>.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Something that may be remembered. `message` is the id of where it was said, "" for nowhere.

    `rule`: the user's own words when they are a standing instruction, else "".
    """

    text: str
    category: Category
    origin: Origin
    trust: Trust
    message: str
    rule: str = ""
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()


def judged(elements: Sequence[Element], window: Sequence[Said]) -> Iterator[Judged]:
    """Each element with its origin, every text once. The window has one message at least."""
    seen: set[str] = set()
    for element in elements:
        folded = names.normalise(element.text)
        if folded not in seen:
            seen.add(folded)
            yield _judge(element, window)


def _judge(element: Element, window: Sequence[Said]) -> Judged:
    evidence = element.quote or element.text
    by_role = _holding(evidence, window)
    category = element.category
    if by_role[USER]:
        message = by_role[USER][0].id
        is_feedback = category is Category.FEEDBACKS
        origin = Origin.USER_FEEDBACK if is_feedback else Origin.USER_MESSAGE
        # What somebody pasted is the word of whoever wrote it.
        is_own = any(_says(words, evidence) for words in _spoken(by_role[USER]))
        trust = Trust.MEDIUM if is_own else Trust.LOW
    else:
        found = by_role[TOOL] or by_role[ASSISTANT]
        message = found[0].id if found else ""
        origin = Origin.TOOL_RESULT if by_role[TOOL] else Origin.AGENT
        trust = Trust.LOW
    rule = ""
    if category is Category.RULES:
        rule = _rule(evidence, by_role[USER])
        # An instruction of anybody else is no rule, only something that was said.
        category = Category.RULES if rule else Category.FACTS
    return Judged(
        text=element.text,
        category=category,
        origin=origin,
        trust=trust,
        message=message,
        rule=rule,
        tags=element.tags,
        entities=element.entities,
    )


def _holding(quote: str, window: Sequence[Said]) -> dict[str, list[Said]]:
    """The messages that have these words, by who said them."""
    found: dict[str, list[Said]] = {USER: [], ASSISTANT: [], TOOL: []}
    for said in window:
        if _says(said.text, quote):
            found[said.role].append(said)
    return found


def _rule(quote: str, messages: Sequence[Said]) -> str:
    """The sentences of a user that are quoted, if they were not pasted; else ""."""
    line = next(filter(None, (sentences.whole(text, quote) for text in _spoken(messages))), "")
    return line if SHORTEST <= len(line) <= LONGEST else ""


def _says(text: str, quote: str) -> bool:
    folded, wanted = names.normalise(text), sentences.bare(quote)
    if len(wanted) >= QUOTE_LEAST:
        return wanted in folded
    return bool(wanted) and wanted == sentences.bare(text)


def _spoken(messages: Sequence[Said]) -> list[str]:
    """Messages without what is quoted or fenced in them: that is a document, not the user. So is
    a message of several pieces."""
    whole = [each.text for each in messages if not each.is_part]
    return [_QUOTED.sub("\n", _FENCED.sub("\n", text)) for text in whole]
