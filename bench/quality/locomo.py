"""LoCoMo: each turn of a conversation one memory, each question of categories 1 to 4 one query.

The data set's licence keeps it out of this repository: LOCOMO_PATH says where it lies.
"""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.quality.sets import Bank, Question, Said

KINDS = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
_SESSION = re.compile(r"session_(\d+)")
_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")


def conversations(path: Path) -> Iterator[Bank]:
    """One bank a conversation, in the order of the file."""
    for number, sample in enumerate(json.loads(path.read_text()), start=1):
        said = list(_turns(sample["conversation"]))
        yield Bank(f"locomo-{number}", said, list(_questions(sample["qa"], {s.key for s in said})))


def _turns(conversation: dict[str, Any]) -> Iterator[Said]:
    sessions = sorted(filter(_SESSION.fullmatch, conversation), key=lambda name: int(name[8:]))
    for session in sessions:
        moment = _moment(conversation[f"{session}_date_time"])
        for turn in conversation[session]:
            shown = f" [image: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            yield Said(
                key=turn["dia_id"],
                text=f"{turn['speaker']}: {turn['text']}{shown}",
                at=moment,
                session=session,
                entities=(turn["speaker"],),
                is_event=True,
            )


def _moment(told: str) -> datetime:
    return datetime.strptime(told.replace(",", ""), "%I:%M %p on %d %B %Y").replace(tzinfo=UTC)


def _questions(asked: list[dict[str, Any]], known: set[str]) -> Iterator[Question]:
    for each in asked:
        # Several turns may share a line, and numbers come with zeros in front.
        places = _EVIDENCE.findall(" ".join(each.get("evidence", [])))
        gold = frozenset(f"D{session}:{int(turn)}" for session, turn in places) & known
        if gold and each["category"] in KINDS:
            yield Question(KINDS[each["category"]], each["question"], gold)
