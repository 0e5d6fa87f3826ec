"""What may be a name, an id, a text or a label, and what is derived from a text or a title.

Everything is checked by hand, character by character, against what is allowed; nothing is cut
down to fit. No disk, no clock and no randomness in here.
"""

import hashlib
import string
import unicodedata
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from banks.store.errors import InvalidContent, InvalidName
from banks.store.types import Category

NAME_LENGTH = 64
ID_LENGTH = 128
SUMMARY_LENGTH = 200
SENTENCE_LENGTH = 120
LABEL_LENGTH = 64
LABEL_COUNT = 16
SLUG_LENGTH = 80
TEXT_SHORTEST = 3
TEXT_LONGEST = 2_000
STORY_LONGEST = 20_000

_SHORT_TEXTS = frozenset({Category.FACTS, Category.RULES, Category.PREFERENCES})
_NAME_FIRST = frozenset(string.ascii_lowercase + string.digits)
_NAME_REST = _NAME_FIRST | frozenset("_-")
_ID_FIRST = frozenset(string.ascii_letters + string.digits)
_ID_REST = _ID_FIRST | frozenset("_.-")
_SUFFIX = frozenset("0123456789abcdef")
_SUFFIX_LENGTH = 6
_LINE_ENDS = str.maketrans({"\r": "\n", "\x85": "\n", "\u2028": "\n", "\u2029": "\n"})
_FENCE = "---"

# FNV-1a, 64 bit: offset basis and prime as in the published parameters of the hash.
_FNV_BASIS = 0xCBF29CE484222325
_FNV_PRIME = 0x100000001B3
_FNV_MASK = 0xFFFFFFFFFFFFFFFF

# "index" is a router. The others are devices on Windows, where a clone would fail.
_RESERVED_SLUGS = frozenset(
    {"index", "con", "prn", "aux", "nul"}
    | {f"{device}{number}" for device in ("com", "lpt") for number in range(1, 10)}
)
# Letters that no Unicode decomposition turns into ASCII.
_LETTERS = str.maketrans(
    {
        "æ": "ae",
        "œ": "oe",
        "ø": "o",
        "ł": "l",
        "đ": "d",
        "ð": "d",
        "þ": "th",
        "\u0131": "i",
        "ħ": "h",
    }
)
_APOSTROPHES = frozenset("'\u2019")
_ENDS = frozenset(".!?")
_WIDE_ENDS = frozenset("\u3002\uff01\uff1f")
_CLOSERS = frozenset("\"')]»\u201d\u2019")
_ABBREVIATIONS = frozenset(
    {"e.g", "i.e", "etc", "vs", "no", "nr", "dr", "mr", "mrs", "ms", "st", "approx", "ca"}
)
_BULLETS = ("- ", "* ", "+ ", "> ", "|")


def bank_name(value: str) -> str:
    """The name itself, when it may name a bank. Raises InvalidName with field "bank"."""
    return _name(value, "bank")


def rule_name(value: str) -> str:
    """The name itself, when it may name an injected rule. Raises InvalidName with field "name"."""
    return _name(value, "name")


def is_entry_id(value: str) -> bool:
    """Whether a file may use this as the id of an entry: one harmless path component."""
    return (
        0 < len(value) <= ID_LENGTH
        and value[0] in _ID_FIRST
        and _ID_REST.issuperset(value)
        and ".." not in value
    )


def mint(created: datetime, suffix: str) -> str:
    """A new entry id: `mem_`, the UTC day of `created` (aware), `_` and six hex digits.

    Raises ValueError for a naive time or another suffix: both are faults of the caller.
    """
    if created.utcoffset() is None:
        raise ValueError("created must be an aware time")
    if len(suffix) != _SUFFIX_LENGTH or not _SUFFIX.issuperset(suffix):
        raise ValueError("suffix must be six lower-case hex digits")
    return f"mem_{created.astimezone(UTC).date().isoformat()}_{suffix}"


def normalise(text: str) -> str:
    """The form in which two texts count as the same one: NFC, folded case, single spaces."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def fingerprint(text: str) -> str:
    """`fp` and 16 hex digits: 64-bit FNV-1a over the UTF-8 bytes of `normalise(text)`."""
    value = _FNV_BASIS
    for byte in normalise(text).encode("utf-8", "surrogatepass"):
        value = ((value ^ byte) * _FNV_PRIME) & _FNV_MASK
    return f"fp{value:016x}"


def clean_text(text: str) -> str:
    r"""The text of an entry as it can be stored: every line end is `\n`, no white space around.

    Raises InvalidContent (field "text", `data["line"]` from 1 in what was given) for a line that
    is exactly `---`, for a control character other than tab and line feed, for a lone surrogate.
    """
    lined = text.replace("\r\n", "\n").translate(_LINE_ENDS)
    for number, line in enumerate(lined.split("\n"), start=1):
        found = _forbidden(line, allowed="\t")
        if found:
            raise InvalidContent(
                f"Line {number} of the text holds {found}. Take it out and save again.",
                field="text",
                line=number,
            )
    # The fence is looked for last: trimming is what turns "  ---" into one.
    cleaned = lined.strip()
    above = lined[: len(lined) - len(lined.lstrip())].count("\n")
    for number, line in enumerate(cleaned.split("\n"), start=above + 1):
        if line == _FENCE:
            raise InvalidContent(
                f"Line {number} of the text is exactly three hyphens, which separate entries. "
                "Write *** or ---- for a rule across the page.",
                field="text",
                line=number,
            )
    return cleaned


def clean_line(value: str, field: str, limit: int, *, what: str = "") -> str:
    """A single-line field without white space around it; may be empty. `what` is its name in a
    refusal: "The title" unless told.

    Raises InvalidContent for control characters (tab too), line separators, lone surrogates and
    for more than `limit` characters.
    """
    trimmed, named = value.strip(" \t\r\n"), what or f"The {field}"
    found = _forbidden(trimmed, allowed="")
    if found:
        raise InvalidContent(f"{named} holds {found}. Write it on one line.", field=field)
    trimmed = trimmed.strip()
    if len(trimmed) > limit:
        raise InvalidContent(
            f"{named} has {len(trimmed)} characters; {limit} are allowed.",
            field=field,
            limit=limit,
        )
    return trimmed


def clean_labels(values: Iterable[str], field: str) -> tuple[str, ...]:
    """Tags or entities: lower case, NFC, trimmed, unique, in order of first appearance.

    Empty ones are dropped. Raises InvalidContent for a label that is no clean line of at most 64
    characters, and for more than 16 labels.
    """
    labels: dict[str, None] = {}
    for value in values:
        lowered = unicodedata.normalize("NFC", value.lower())
        label = clean_line(lowered, field, LABEL_LENGTH, what=f"One of the {field}")
        if label:
            labels[label] = None
    if len(labels) > LABEL_COUNT:
        raise InvalidContent(
            f"There are {len(labels)} {field}; {LABEL_COUNT} are allowed.",
            field=field,
            limit=LABEL_COUNT,
        )
    return tuple(labels)


def check_length(text: str, category: Category) -> None:
    """Raise InvalidContent (field "text") when a clean text is too short or long for its category.

    The unit is characters, not bytes.
    """
    longest = TEXT_LONGEST if category in _SHORT_TEXTS else STORY_LONGEST
    if not TEXT_SHORTEST <= len(text) <= longest:
        raise InvalidContent(
            f"The text has {len(text)} characters; {category} take {TEXT_SHORTEST} to {longest}.",
            field="text",
            limit=longest,
        )


def first_sentence(text: str) -> str:
    """The first sentence of a text on one line of at most 120 characters; "" for a blank text.

    A longer one is cut between words and ends in an ellipsis. Always the same for the same text:
    a summary follows its text as long as it equals this.
    """
    line = _first_paragraph(text)
    return _shortened(line[: _sentence_end(line)], SENTENCE_LENGTH)


def slug(title: str, taken: Callable[[str], bool]) -> str:
    """A file name (no suffix) for a procedure: ASCII words joined by `-`, at most 80 characters.

    A short hash of the title stands in when no ASCII is left, and is added when the slug is
    reserved or `taken`. `taken` is asked until it says no.
    """
    base = _words(title, SLUG_LENGTH)
    if base and base not in _RESERVED_SLUGS and not taken(base):
        return base
    stem = _words(title, SLUG_LENGTH - 9)
    attempt = 0
    while True:
        seed = f"{title}\n{attempt}".encode("utf-8", "surrogatepass")
        digest = hashlib.sha256(seed).hexdigest()[:8]
        candidate = f"{stem}-{digest}" if stem else digest
        if not taken(candidate):
            return candidate
        attempt += 1


def _name(value: str, field: str) -> str:
    if 0 < len(value) <= NAME_LENGTH and value[0] in _NAME_FIRST and _NAME_REST.issuperset(value):
        return value
    raise InvalidName(
        f"A {'bank' if field == 'bank' else 'rule'} name has 1 to {NAME_LENGTH} characters out of "
        "a-z, 0-9, _ and -, and begins with a letter or a digit.",
        field=field,
        limit=NAME_LENGTH,
    )


def _forbidden(line: str, *, allowed: str) -> str:
    """What is wrong with a line of text, in words; "" when nothing is."""
    # Most lines are printable, and this test runs in C.
    if line.isprintable():
        return ""
    for char in line:
        kind = unicodedata.category(char)
        if kind == "Cs":
            return f"half a character (U+{ord(char):04X})"
        if kind in {"Zl", "Zp"} or (kind == "Cc" and char not in allowed):
            return f"the control character U+{ord(char):04X}"
    return ""


def _first_paragraph(text: str) -> str:
    """The first lines with content as one line, up to a blank line, a heading or a list item.

    A heading is a paragraph of its own, and its marks go.
    """
    parts: list[str] = []
    for raw in text.splitlines():
        line = " ".join(raw.split())
        marks, _, heading = line.partition(" ")
        if marks.strip("#"):
            if parts and line.startswith(_BULLETS):
                break
            parts.append(line)
        elif parts:
            break
        elif heading:
            return heading
    return " ".join(parts) or " ".join(text.split())


def _sentence_end(line: str) -> int:
    """Offset just behind the first sentence of a line."""
    for at, char in enumerate(line):
        if char in _WIDE_ENDS:
            return at + 1
        if char not in _ENDS:
            continue
        end = at + 1
        while end < len(line) and line[end] in _CLOSERS:
            end += 1
        if end == len(line):
            return end
        if line[end] == " " and (char != "." or _is_stop(line[:at], line[end + 1 :])):
            return end
    return len(line)


def _is_stop(before: str, after: str) -> bool:
    """Whether a full stop between these two ends a sentence, not an abbreviation or a number."""
    word = before.rpartition(" ")[2].lstrip("(\"'").casefold()
    if word in _ABBREVIATIONS or (len(word) == 1 and word.isalpha()):
        return False
    # "1. Open the valve" at the very beginning is a list number.
    if word == before and word.isdigit():
        return False
    return not after[0].islower()


def _shortened(line: str, limit: int) -> str:
    if len(line) <= limit:
        return line
    cut = limit - 1
    space = line.rfind(" ", 0, cut + 1)
    if space > limit // 2:
        cut = space
    else:
        # No word to end at: at least an accent stays with its letter.
        while cut > 1 and unicodedata.combining(line[cut]):
            cut -= 1
    return line[:cut].rstrip(" ,;:-") + "…"


def _words(title: str, limit: int) -> str:
    """The ASCII words of a title in lower case, joined by `-`, cut between words if possible."""
    # Folded again at the end: decomposing "№" gives a capital.
    folded = unicodedata.normalize("NFKD", title.casefold().translate(_LETTERS)).casefold()
    # Neither an accent nor an apostrophe makes one word two.
    plain = "".join(
        char for char in folded if not unicodedata.combining(char) and char not in _APOSTROPHES
    )
    spaced = "".join(char if char in _NAME_FIRST else " " for char in plain)
    joined = "-".join(spaced.split())
    if len(joined) <= limit:
        return joined
    cut = joined.rfind("-", 0, limit + 1)
    return joined[: cut if cut > 0 else limit]
