"""Odd texts, the same for the same chance: what people paste, what search languages choke on."""
# ruff: noqa: RUF001

import random
from collections.abc import Iterator

_PIECES = (
    "*", "**", "?", "~2", "^4", '"', "'", "(", ")", "[a TO]", "{", "}", "NOT", "AND", "OR", "+",
    "-",
    "title:(", "a:b:c", "\\", "/", "//", "%", "_", "\x00", "\x7f", "\u3000", "\u200b", "\u202e",
    "\ud800", "\ufeff", "\u0301", "🙂", "👩‍🏭", "空気弁の点検", "ปั๊มน้ำ", "हिन्दी", "서울에서",
    "насос",
    "مضخة", "C++", "C#", "src/main.py", "BENCH-000007", "v1.2.3", "don't", "O\u2019Brien", "1,250",
    "https://x.example/?q=pump&n=1#top", "SELECT * FROM pump;--", "<script>", "pump", "line",
    "leaks",
    "when did", "the latest", "my", "x" * 500, "ab" * 2_000, "\n", "\t", "....", "İı", "ſ", "ﬃ",
)  # fmt: skip


def odd_queries(chance: random.Random, count: int) -> Iterator[str]:
    """Texts of 0 to 12 pieces, with and without spaces, some of characters by chance."""
    for number in range(count):
        if number % 10:
            pieces = chance.choices(_PIECES, k=chance.randint(0, 12))
            yield chance.choice(("", " ", " ", ", ")).join(pieces)
        else:
            yield "".join(chr(chance.randrange(0x3000)) for _ in range(chance.randint(0, 200)))
