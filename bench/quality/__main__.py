"""How well memories are found: `make bench-quality`.

A set of our own, by kind of question, beside a substring search and plain BM25. LOCOMO_PATH adds
LoCoMo, one bank a conversation. PARTS=1 switches off each part of the recipe on both.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.quality import chance
from bench.quality.baselines import PlainBm25, Substring
from bench.quality.figures import ALL, Figures, by_kind, pooled
from bench.quality.locomo import conversations
from bench.quality.made import plant
from bench.quality.ours import Ours, installation
from bench.quality.parts import PARTS, switched_off
from bench.quality.sets import Bank

Way = dict[str, Figures]


def _measure(banks: Sequence[Bank], made: Sequence[Any]) -> Way:
    answered = zip(banks, made, strict=True)
    return pooled(by_kind(bank.asked, ask) for bank, ask in answered)


def _shares(*shares: float) -> str:
    return "".join(f"{100 * share:7.1f}" for share in shares)


def _report(title: str, banks: Sequence[Bank], ours: Sequence[Ours]) -> None:
    found = _measure(banks, ours)
    plain = _measure(banks, [PlainBm25(bank) for bank in banks])
    substring = _measure(banks, [Substring(bank) for bank in banks])
    memories = sum(len(bank.said) for bank in banks)
    print(f"\n{title}: {memories} memories in {len(banks)} banks")
    print(f"{'':19}{'ours':>16}{'':19}{'plain BM25':>15}{'':6}substring")
    print(f"{'':14}    n  first    R@5   R@10   nDCG wrong    R@5   nDCG wrong    R@5")
    for kind in sorted(found, key=lambda kind: kind == ALL):
        one, other = found[kind], plain[kind]
        print(
            f"{kind:14}{one.count:5}{_shares(one.first, one.at_5, one.at_10, one.ndcg)}"
            f"{one.never:6}{_shares(other.at_5, other.ndcg)}{other.never:6}"
            f"{_shares(substring[kind].at_5)}"
        )


def _parts(title: str, banks: Sequence[Bank], ours: Sequence[Ours]) -> None:
    print(f"\n{title}, parts switched off{'':19}R@5   R@10   nDCG")
    for part in PARTS:
        with switched_off(part):
            for each in ours:
                each.rebuild()
            found = _measure(banks, ours)[ALL]
            print(f"  {part:40}{_shares(found.at_5, found.at_10, found.ndcg)}")


def main() -> None:
    sets = {"made": [plant()]}
    if path := os.environ.get("LOCOMO_PATH"):
        every = list(conversations(Path(path)))
        sets["LoCoMo"] = every
    with installation():
        for title, banks in sets.items():
            ours = [Ours(bank) for bank in banks]
            _report(title, banks, ours)
            others = [each for other in sets if other != title for each in sets[other]]
            chance.report(title, banks, ours, [q.text for each in others for q in each.asked][::4])
            if os.environ.get("PARTS"):
                _parts(title, banks, ours)
                if len(banks) > 1:
                    half = (len(banks) + 1) // 2
                    _parts(f"{title}, the first {half}", banks[:half], ours[:half])
                    _parts(f"{title}, the others", banks[half:], ours[half:])


if __name__ == "__main__":
    sys.exit(main())
