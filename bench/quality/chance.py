"""What a turn is given that has nothing to do with the bank, and what it loses by the floor.

A turn gets hits for a message that nobody wrote as a question to the memory. Counted is how often
one about something else gets any hit, and which share of the wanted memories among the first ten a
question still gets; with the floor of `recall.engine.relevance` and without it.
"""

from collections.abc import Callable, Sequence
from unittest.mock import patch

from bench.quality.ours import Ours
from bench.quality.sets import Bank
from recall.engine import relevance

MESSAGES = (
    "refactor the parser so that it returns early on blank lines",
    "why does the login test fail on postgres but pass on sqlite",
    "add a button to the settings page that exports a CSV",
    "please write a haiku about autumn leaves",
    "what is the capital of Mongolia",
    "how do I rebase my branch onto main without losing commits",
    "can you explain how a B-tree index is balanced",
    "the docker image is too large, make it smaller",
    "give me a regex that matches ISO dates",
    "draft an email to a customer about a delayed shipment",
    "is there a faster way to sort ten million integers",
    "convert this function to async and await",
    "the build is red again, look at the log and tell me what broke",
    "write unit tests for the date picker component",
    "what is a good recipe for lentil soup",
    "compare rust and go for a command line tool",
    "upgrade django to the newest version and fix deprecations",
    "generate a color palette for a bakery website",
    "prove that the square root of two is irrational",
    "summarise this article about monetary policy in three bullet points",
)
"""What people ask of an agent, about neither set."""

LONG = 3
"""So many messages, one behind the other, are a long one."""


def report(title: str, banks: Sequence[Bank], ours: Sequence[Ours], others: Sequence[str]) -> None:
    """Print both shares. `others`: questions to other banks, which say nothing about these."""
    joined = [" ".join(MESSAGES[n : n + LONG]) for n in range(len(MESSAGES) - LONG + 1)]
    print(f"\n{title}, what a turn is given{'':11}with the floor   without")
    rows: dict[str, Callable[[], float]] = {
        "messages that get a hit": lambda: _any(ours, MESSAGES),
        "long messages that get a hit": lambda: _any(ours, joined),
        "questions to others that get a hit": lambda: _any(ours, others),
        "wanted memories of the first ten": lambda: _wanted(banks, ours),
        "the same, within a long message": lambda: _wanted(
            banks, ours, f"{{}} {MESSAGES[0]}. {MESSAGES[3]}"
        ),
    }
    for name, share in rows.items():
        now = share()
        with patch.object(relevance, "FLOOR_SHARE", 0.0):
            before = share()
        print(f"  {name:40}{100 * now:10.1f}{100 * before:10.1f}")


def _any(ours: Sequence[Ours], messages: Sequence[str]) -> float:
    given = [bool(each.given(message)) for each in ours for message in messages]
    return sum(given) / max(1, len(given))


def _wanted(banks: Sequence[Bank], ours: Sequence[Ours], around: str = "{}") -> float:
    given = count = 0
    for bank, each in zip(banks, ours, strict=True):
        for question in bank.asked:
            text = around.format(question.text)
            given += len(question.gold & {*each.given(text)})
            count += len(question.gold & {*each(text)})
    return given / count
