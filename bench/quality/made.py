"""A set of our own, the same each time: a plant whose machines have much in common.

Each machine has every kind of fact, so that a question has to find the right fact of the right
machine: the others with that machine, and that fact of the others, distract.
"""

import itertools
import random
from datetime import timedelta

from bench.quality.sets import DAY, Bank, Question, Said

SEED = 11
ASKED_A_KIND = 24

_MACHINES = [
    f"{kind} {name}"
    for kind in ("kiln", "press", "boiler", "crane", "mixer", "lathe")
    for name in ("Alder", "Birch", "Cedar", "Elm", "Hazel")
]
_COLOURS = ("amber", "black", "blue", "green", "grey", "orange", "red", "violet", "white", "yellow")
_PARTS = ("bearing", "belt", "filter", "gasket", "hose", "nozzle", "sensor", "spindle", "valve")
_FAULTS = ("cracked", "leaked", "froze", "broke", "wore out", "stuck fast")

# What is stated; asked in its own words, in other forms of them, and in other words.
_FACTS = (
    (
        "The {m} runs on oil of grade {n}, and nothing thinner.",
        "the {m} runs on oil of grade",
        "which grades of oil is the {m} running on",
        "what lubricant does the {m} take, which grade",
    ),
    (
        "Stop the {m} with the {c} button before opening its hatch.",
        "stop the {m} with the",
        "which button stops the {m} when opened hatches are needed",
        "how do I halt the {m} so that I may open the hatch",
    ),
    (
        "The spare {p} for the {m} lies in cupboard {n}.",
        "the spare {p} for the {m} lies in",
        "which cupboards hold spares of the {p} for the {m}",
        "where do we keep a replacement {p} for the {m}",
    ),
    (
        "Its crew cleans the {m} every {n} hours with {c} cloths.",
        "its crew cleans the {m} every",
        "how is the {m} cleaned, how many hours between cleanings",
        "how frequently does somebody wipe the {m} with cloths",
    ),
    (
        "The warranty of the {m} ends after {n} months of use.",
        "the warranty of the {m} ends after",
        "in how many months are the warranties ending for the {m}",
        "until which month would the maker of the {m} still pay under warranty",
    ),
    (
        "The noise of the {m} reaches {n} decibels beside the {c} door.",
        "the noise of the {m} reaches",
        "what noises have reached the {c} doors from the {m}",
        "how loud is the {m}, in decibels",
    ),
    (
        "Ada bought the {m} second-hand for {n} thousand.",
        "Ada bought the {m} second-hand for",
        "who buys a {m} second-hand",
        "what was the price when the {m} was purchased by Ada",
    ),
    (
        "Ada taught the night shift how to tune the {m} by its {c} dial.",
        "Ada taught the night shift how to tune the {m}",
        "whom does Ada teach tuning of the {m}",
        "from whom did the shift at night learn to adjust the {m} dial",
    ),
)
_FORMS = ("verbatim", "inflected", "paraphrase")

# A statement, and a part of it that one would look for.
# ruff: noqa: RUF001
_SCRIPTS = (
    ("圧縮機の潤滑油は毎月交換する", "潤滑油の交換"),
    ("非常口は倉庫の北側にある", "非常口"),
    ("溶接ロボットの校正は金曜日", "ロボット 校正"),
    ("冷却塔的水泵每周检查一次", "水泵检查"),
    ("仓库钥匙放在三号办公室", "钥匙在哪个办公室"),
    ("传送带的速度不得超过两米", "传送带速度"),
    ("용접기의 전압은 매일 확인한다", "용접기 전압"),
    ("창고 열쇠는 경비실에 있다", "창고 열쇠"),
    ("냉각수 온도는 사십 도이다", "냉각수 온도"),
    ("насос охлаждения проверяют по средам", "насос охлаждения"),
    ("ключ от склада лежит у охраны", "ключ склада"),
    ("давление в котле держат ниже шести", "давление котле"),
    ("कंप्रेसर का तेल हर महीने बदलता है", "कंप्रेसर तेल"),
    ("गोदाम की चाबी पहरेदार के पास है", "गोदाम चाबी"),
    ("ปั๊มน้ำตรวจสอบทุกวันพุธ", "ปั๊มน้ำ"),
    ("กุญแจคลังสินค้าอยู่ที่ป้อมยาม", "กุญแจคลังสินค้า"),
    ("η αντλία ελέγχεται κάθε τετάρτη", "αντλία τετάρτη"),
    ("το κλειδί της αποθήκης είναι στον φύλακα", "κλειδί αποθήκης"),
    ("المضخة تفحص كل أربعاء", "المضخة"),
    ("مفتاح المخزن عند الحارس", "مفتاح المخزن"),
    ("המשאבה נבדקת בכל יום רביעי", "המשאבה נבדקת"),
    ("Die Wärmepumpe für die Öfen läuft nachts", "wärmepumpe öfen"),
    ("La vanne d’arrêt est derrière l’échelle", "vanne d'arrêt échelle"),
    ("İtfaiye dolabı şantiyenin girişinde", "İTFAİYE DOLABI"),
)


def plant() -> Bank:
    """The bank `plant`: about 580 memories and 290 questions."""
    chance, said, asked = random.Random(SEED), list[Said](), list[Question]()
    for part in (_facts, _two_facts, _dated, _updated, _strengthened, _newest, _dialogues):
        memories, questions = part(chance)
        said += memories
        asked += questions
    said += [Said(key=f"script-{n}", text=text) for n, (text, _) in enumerate(_SCRIPTS)]
    asked += [
        Question("other scripts", query, frozenset({f"script-{n}"}))
        for n, (_, query) in enumerate(_SCRIPTS)
    ]
    # Sessions stay in one piece: only blocks that are no part of one are mixed.
    groups = [list(group) for _, group in itertools.groupby(said, key=lambda each: each.session)]
    alone = [[each] for group in groups if group[0].session is None for each in group]
    mixed = alone + [group for group in groups if group[0].session is not None]
    chance.shuffle(mixed)
    ordered = [each for group in mixed for each in group]
    return Bank("plant", sorted(ordered, key=lambda each: each.replaces is not None), asked)


Part = tuple[list[Said], list[Question]]


def _one(*keys: str) -> frozenset[str]:
    return frozenset(keys)


def _sample(chance: random.Random, asked: list[Question]) -> list[Question]:
    return chance.sample(asked, min(ASKED_A_KIND, len(asked)))


def _facts(chance: random.Random) -> Part:
    said, asked = [], dict[str, list[Question]]()
    for machine, (place, (fact, *forms)) in itertools.product(_MACHINES, enumerate(_FACTS)):
        values = {
            "m": machine,
            "n": chance.randint(3, 99),
            "c": chance.choice(_COLOURS),
            "p": chance.choice(_PARTS),
        }
        key = f"{machine}-{place}"
        said.append(Said(key=key, text=fact.format(**values), entities=(machine,)))
        for kind, form in zip(_FORMS, forms, strict=True):
            asked.setdefault(kind, []).append(Question(kind, form.format(**values), _one(key)))
        asked.setdefault("distracted", []).append(
            Question("distracted", _distracted(values, place), _one(key))
        )
    return said, [each for kind in asked.values() for each in _sample(chance, kind)]


def _distracted(values: dict[str, object], place: int) -> str:
    """About one machine, with words that are said of it elsewhere too."""
    words = ("oil grade", "stop button hatch", "spare cupboard", "cleans cloths")
    more = ("warranty months", "noise decibels", "bought second-hand", "tune dial")
    return f"{(*words, *more)[place]} of the {values['m']}, not of another machine in the hall"


def _two_facts(chance: random.Random) -> Part:
    asked = []
    for _ in range(ASKED_A_KIND):
        one, other = chance.sample(_MACHINES, 2)
        asked.append(
            Question(
                "two facts",
                f"compare the noise in decibels of the {one} and the {other}",
                _one(f"{one}-5", f"{other}-5"),
            )
        )
    return [], asked


def _dated(chance: random.Random) -> Part:
    said, asked = list[Said](), list[Question]()
    for machine in _MACHINES[:12]:
        for turn, part in enumerate(chance.sample(_PARTS, 3)):
            at = DAY - timedelta(days=chance.randint(20, 400))
            fault = chance.choice(_FAULTS)
            key = f"{machine}-fault-{turn}"
            text = f"The {part} of the {machine} {fault} during the shift."
            said.append(Said(key=key, text=text, at=at, entities=(machine,), is_event=True))
            day = f"{at.day} {at:%B %Y}"
            about = f"what went wrong with the {machine} on {day}"
            asked.append(Question("dated", about, _one(key)))
    when = list[Question]()
    for number, machine in enumerate(_MACHINES[12:]):
        key, day = f"{machine}-audit", _DAYS[number % len(_DAYS)]
        said.append(Said(key=key, text=f"The {machine} passed its audit {day}."))
        said.append(Said(key=f"{key}-x", text=f"The audit of the {machine} needs a form."))
        when.append(Question("when", f"When did the {machine} have its audit?", _one(key)))
    return said, [*_sample(chance, asked), *when]


_DAYS = ("last Tuesday", "two weeks ago", "in May 2025", "on the 3rd", "yesterday", "on 2026-01-14")


def _updated(chance: random.Random) -> Part:
    said, asked = list[Said](), list[Question]()
    for machine in _MACHINES[:ASKED_A_KIND]:
        old, new = f"{machine}-speed-1", f"{machine}-speed-2"
        one, two = chance.sample(range(100, 900, 10), 2)
        said.append(Said(key=old, text=f"The {machine} turns at {one} revolutions."))
        text = f"The {machine} turns at {two} revolutions."
        said.append(Said(key=new, text=text, replaces=old))
        about = f"at how many revolutions does the {machine} turn"
        asked.append(Question("updated", about, _one(new), _one(old)))
    return said, asked


def _strengthened(chance: random.Random) -> Part:
    """Two memories that fit alike; one was stated again and again, or is pinned."""
    said, asked = list[Said](), list[Question]()
    for number, machine in enumerate(_MACHINES):
        kind = "corroborated" if number % 2 else "pinned"
        keys = [f"{machine}-{kind}-{n}" for n in (1, 2)]
        # Whichever is saved later is a little fresher.
        chance.shuffle(keys)
        for key, colour in zip(keys, chance.sample(_COLOURS, 2), strict=True):
            strong = key.endswith("1")
            said.append(
                Said(
                    key=key,
                    text=f"Paint the guard rail of the {machine} {colour}.",
                    again=5 if strong and kind == "corroborated" else 0,
                    pinned=strong and kind == "pinned",
                )
            )
        about = f"how to paint the guard rail of the {machine}"
        asked.append(Question(kind, about, _one(f"{machine}-{kind}-1")))
    return said, asked


def _newest(chance: random.Random) -> Part:
    said, asked = list[Said](), list[Question]()
    for machine in _MACHINES[:ASKED_A_KIND]:
        ages = [400, 250, 120]
        keys = [f"{machine}-reading-{age}" for age in ages]
        pairs = list(zip(keys, ages, strict=True))
        chance.shuffle(pairs)
        for (key, age), bar in zip(pairs, chance.sample(range(10, 99), 3), strict=True):
            text = f"The gauge of the {machine} reads {bar} bar."
            said.append(Said(key=key, text=text, at=DAY - timedelta(days=age), is_event=True))
        about = f"what is the latest reading of the gauge of the {machine}"
        asked.append(Question("newest", about, _one(keys[-1])))
    return said, asked


def _dialogues(chance: random.Random) -> Part:
    """A question in a session, and the answer that does not name what it is about."""
    said, asked = list[Said](), list[Question]()
    for number, machine in enumerate(_MACHINES[:ASKED_A_KIND]):
        session, key = f"talk-{number}", f"{machine}-answer"
        said.append(
            Said(
                key=f"{key}-0",
                text=f"Did anybody find the manual of the {machine}?",
                session=session,
            )
        )
        where = f"on the {chance.choice(_COLOURS)} shelf, under box {number}"
        said.append(Said(key=key, text=f"Yes, it was {where}.", session=session))
        thanks = "Good. Then we can go on tomorrow."
        said.append(Said(key=f"{key}-2", text=f"{thanks} ({number})", session=session))
        about = f"on which shelf was the manual of the {machine} found"
        asked.append(Question("dialogue", about, _one(key)))
    return said, asked
