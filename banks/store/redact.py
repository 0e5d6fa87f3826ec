"""Secrets in a text become labels, so that nothing that opens a door is stored or sent.

Each pattern is anchored on a literal and runs in linear time. What marks a secret is its form: a
provider's prefix, a key block, a password in an address, or a value behind a telling name. Prose
about passwords stays as it is; both tables are in the tests.
"""

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Masked:
    """A text without its secrets, and what kinds there were (unique, in the order of search)."""

    text: str
    labels: tuple[str, ...]


def mask(text: str) -> Masked:
    """The text with every secret replaced by `[redacted:<label>]`.

    Masking a masked text changes nothing. The names around a secret stay, so that the sentence
    can still be read.
    """
    labels: dict[str, None] = {}
    for rule in _RULES:
        if any(hint in text for hint in rule.hints):
            text = rule.pattern.sub(_replacement(rule, labels), text)
    lowered = text.lower()
    if any(hint in lowered for hint in _NAME_HINTS):
        text = _mask_named(text, labels)
    return Masked(text, tuple(labels))


@dataclass(frozen=True, slots=True)
class _Rule:
    """Group `secret` of the pattern is what goes, if `accepts` says so. No hint, no search."""

    label: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    accepts: Callable[[str], bool]


def _any(_: str) -> bool:
    return True


def _replacement(rule: _Rule, labels: dict[str, None]) -> Callable[[re.Match[str]], str]:
    def replaced(match: re.Match[str]) -> str:
        secret = match["secret"]
        if _is_placeholder(secret) or not rule.accepts(secret):
            return match[0]
        return _without(match, "secret", rule.label, labels)

    return replaced


def _without(match: re.Match[str], group: str, label: str, labels: dict[str, None]) -> str:
    """The matched text with a label in place of one group; the label is noted."""
    labels[label] = None
    start, end = match.start(group) - match.start(), match.end(group) - match.start()
    return f"{match[0][:start]}[redacted:{label}]{match[0][end:]}"


# --- What a value looks like ---------------------------------------------------------------------

_PLACEHOLDER_STARTS = (
    *("<", "{", "%(", "%s", "${", "$(", "[redacted", "os.environ", "process.env", "env.", "self."),
    *("settings.", "config.", "args.", "this.", "request."),
)
_PLACEHOLDER_CHARS = frozenset("*xX.•…_-?")
_STATE_WORDS = (
    "any bad blank bool boolean bytes change changed correct default disabled empty enabled "
    "encrypted expired false hashed hidden incorrect int invalid length masked missing must needed "
    "never nil no none not null off ok on optional plain random redacted required reset rotated "
    "safe same secret see set shared str string stored strong tba tbd text todo true undefined "
    "unknown unset unused used valid weak when where wrong yes your"
)
_STATES = frozenset(_STATE_WORDS.split())
_NAME_WORDS = frozenset(
    {"password", "passwd", "passwort", "pwd", "pass", "passphrase", "secret", "token", "key"}
)
_CALL = re.compile(r"[A-Za-z_][\w.]*[(\[]")
_VARIABLE = re.compile(r"\$(?:[A-Z_][A-Z0-9_]*|[a-z_]+)")
_PLACE = re.compile(
    r"(?:~|\.{1,2})?(?:/[\w.-]{0,24})+|[a-z]{2,10}://[^@]*|.*\.(?:json|ya?ml|pem|key|txt|env|toml|md)",
    re.DOTALL,
)
_COUNTED = re.compile(
    r"\d+[-\u2013]?[a-z]+|\d{4}-\d\d-\d\dT[\d:.+Z-]*|v?\d+(?:\.\d+)+[a-z]*", re.IGNORECASE
)
_LONG_RUN = re.compile(r"[A-Za-z0-9]{16,}")
_SYMBOLS = frozenset("!@#$%^&*+~?=/\\|")
_SHORTEST = 4
_FIRM = 6
_STRONG = 8
_LONG = 16
_VERY_LONG = 20


def _is_placeholder(value: str) -> bool:
    """A stand-in, a state or a piece of code rather than a value."""
    lowered = value.lower()
    return (
        value.startswith(_PLACEHOLDER_STARTS)
        or _PLACEHOLDER_CHARS.issuperset(value)
        or lowered in _STATES
        # `password=password`, `token=session.token`
        or lowered.rpartition(".")[2] in _NAME_WORDS
        or _CALL.match(value) is not None
        or any(form.fullmatch(value) is not None for form in (_VARIABLE, _PLACE))
    )


def _has_letter_and_digit(value: str) -> bool:
    return any(map(str.isalpha, value)) and any(map(str.isdigit, value))


def _is_firm(value: str) -> bool:
    """A word that nobody writes in a sentence: letters with digits or symbols, six at least."""
    return (
        len(value) >= _FIRM
        and _COUNTED.fullmatch(value) is None
        and (
            _has_letter_and_digit(value)
            or (any(map(str.isalpha, value)) and not _SYMBOLS.isdisjoint(value))
        )
    )


def _is_strong(value: str) -> bool:
    """Letters with digits, eight at least, or a long word of small and capital letters."""
    if _COUNTED.fullmatch(value) is not None:
        return False
    mixed = value.lower() != value != value.upper() and not value.istitle()
    return (len(value) >= _STRONG and _has_letter_and_digit(value)) or (
        len(value) >= _VERY_LONG and mixed
    )


def _is_bearer(value: str) -> bool:
    return len(value) >= _LONG and _is_strong(value)


def _has_key_run(value: str) -> bool:
    """A run of 16 letters and digits with a digit in it: no words joined by hyphens."""
    return any(any(map(str.isdigit, run)) for run in _LONG_RUN.findall(value))


def _is_basic(value: str) -> bool:
    """`user:password` in base64."""
    try:
        return b":" in base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except binascii.Error:
        return False


# --- Forms that tell by themselves ---------------------------------------------------------------


def _prefixed(
    label: str, *prefixes: str, body: str, accepts: Callable[[str], bool] = _any
) -> _Rule:
    """A token with a literal prefix that no letter or digit stands before."""
    starts = "|".join(map(re.escape, prefixes))
    pattern = re.compile(rf"(?<![A-Za-z0-9])(?P<secret>(?:{starts}){body})")
    return _Rule(label, prefixes, pattern, accepts)


def _shaped(label: str, pattern: str, *hints: str, accepts: Callable[[str], bool] = _any) -> _Rule:
    return _Rule(label, hints, re.compile(pattern, re.IGNORECASE), accepts)


_RULES: tuple[_Rule, ...] = (
    # With its end: all between. Torn off: as far as the lines look like base64.
    _Rule(
        "private-key",
        ("-----BEGIN ",),
        re.compile(
            r"(?P<secret>-----BEGIN (?P<kind>[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----"
            r"(?:(?:(?!-----)[\s\S]){0,20000}?-----END (?P=kind)-----"
            r"|(?:\s|\\[nr])*(?:(?:[A-Za-z-]+: [^\n]*|[A-Za-z0-9+/=]{16,})(?:\s|\\[nr])*)+))"
        ),
        _any,
    ),
    _Rule(
        "private-key",
        ("AGE-SECRET-KEY-1",),
        re.compile(r"(?P<secret>AGE-SECRET-KEY-1[A-Z0-9]{40,})"),
        _any,
    ),
    _prefixed("aws-key", "AKIA", "ASIA", "ABIA", "ACCA", body=r"[A-Z2-7]{16}(?![A-Za-z0-9])"),
    _shaped(
        "signed-url",
        r"[?&](?:sig|x-amz-signature|x-goog-signature)=(?P<secret>[A-Za-z0-9%+/=_-]{30,})",
        "sig=",
        "ignature=",
    ),
    _prefixed("google-key", "AIza", body=r"[A-Za-z0-9_-]{35}"),
    _prefixed("google-key", "GOCSPX-", "ya29.", body=r"[A-Za-z0-9_.-]{20,}"),
    _Rule(
        "azure-key",
        ("Q~",),
        re.compile(r"(?<![\w~.-])(?P<secret>[\w~.-]{3}\dQ~[\w~.-]{31,34})"),
        _any,
    ),
    _prefixed("api-key", "sk-", body=r"[A-Za-z0-9_-]{20,}", accepts=_has_key_run),
    _prefixed("api-key", "sk_live_", "sk_test_", "rk_live_", "rk_test_", body="[A-Za-z0-9]{16,}"),
    _prefixed("api-key", "whsec_", body=r"[A-Za-z0-9+/=]{20,}"),
    _prefixed(
        "api-key",
        *("hf_", "gsk_", "r8_", "xai-", "pplx-", "nvapi-", "tvly-", "fw_", "csk-", "ntn_"),
        *("lin_api_", "sbp_", "glsa_", "glc_", "NRAK-", "hvs.", "hvb.", "tskey-", "sntrys_"),
        *("sntryu_", "pscale_tkn_", "phc_", "phx_", "PMAK-", "dp.pt.", "ATATT3", "figd_"),
        body=r"[A-Za-z0-9_=+/.-]{20,}",
        accepts=_has_key_run,
    ),
    _prefixed("api-key", "SG.", body=r"[\w-]{16,}\.[\w-]{16,}"),
    _prefixed("api-key", "SK", "AC", "key-", "dapi", body=r"[0-9a-f]{32}(?![A-Za-z0-9])"),
    _prefixed("api-key", "shpat_", "shpca_", "shppa_", "shpss_", body=r"[a-fA-F0-9]{32}"),
    _prefixed("api-key", "dop_v1_", "doo_v1_", "dor_v1_", body=r"[a-f0-9]{64}"),
    _prefixed(
        "slack-token",
        *("xoxa-", "xoxb-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"),
        body=r"[A-Za-z0-9.-]{10,}",
    ),
    _shaped(
        "webhook-url",
        r"(?:hooks\.slack\.com/(?:services|workflows)|discord(?:app)?\.com/api/webhooks)"
        r"/(?P<secret>[A-Za-z0-9_/-]{20,})",
        "hooks.slack.com",
        "/api/webhooks",
    ),
    _Rule(
        "bot-token",
        (":AA",),
        re.compile(r"(?<![\w-])(?P<secret>\d{8,10}:AA[\w-]{33})(?![\w-])"),
        _any,
    ),
    _prefixed("vcs-token", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", body=r"[A-Za-z0-9]{30,}"),
    _prefixed("vcs-token", "github_pat_", body=r"[A-Za-z0-9_]{22,}"),
    _prefixed(
        "vcs-token",
        *("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "gloas-"),
        body=r"[\w.-]{20,}",
        accepts=_is_strong,
    ),
    _prefixed("vcs-token", "ATBB", "ATCTT3", body=r"[A-Za-z0-9_=-]{28,}"),
    _prefixed("package-token", "npm_", body=r"[A-Za-z0-9]{36}"),
    _prefixed("package-token", "pypi-", body=r"[A-Za-z0-9_-]{50,}"),
    _prefixed("package-token", "rubygems_", body=r"[a-f0-9]{48}"),
    _prefixed("package-token", "dckr_pat_", "dckr_oat_", body=r"[A-Za-z0-9_-]{20,}"),
    _prefixed("package-token", "oy2", body=r"[a-z0-9]{43}(?![A-Za-z0-9])"),
    _prefixed("package-token", "cio", body=r"[A-Za-z0-9]{32}(?![A-Za-z0-9])", accepts=_has_key_run),
    _prefixed("jwt", "eyJ", body=r"[\w-]{10,}\.[\w-]{4,}(?:\.[\w-]*){1,3}"),
    # The last @ before the path ends the password: it may hold one itself.
    _shaped(
        "url-password",
        r"[a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'<>`]{0,200}:(?P<secret>[^\s/\"'<>`]{1,500})@",
        "://",
    ),
    _shaped(
        "bearer",
        r"(?<![a-z0-9])bearer[ \t]{1,4}(?P<secret>[A-Za-z0-9._~+/=-]{16,})",
        *("bearer", "Bearer", "BEARER"),
        accepts=_is_bearer,
    ),
    _shaped(
        "basic-auth",
        r"(?<![a-z0-9])basic[ \t]{1,4}(?P<secret>[A-Za-z0-9+/]{8,}={0,2})",
        *("basic", "Basic", "BASIC"),
        accepts=_is_basic,
    ),
    _shaped(
        "authorization",
        r"(?<![a-z0-9])authorization[\"']?[ \t]*[:=][ \t]*[\"']?(?:[a-z]{3,10}[ \t]+)?"
        r"(?P<secret>(?!authorization[\"']?[ \t]*[:=])[^\s\"'`,;\[\]]{8,})",
        *("authorization", "Authorization", "AUTHORIZATION"),
        accepts=_is_strong,
    ),
)

# --- A telling name, a separator, a value --------------------------------------------------------

# A bare "pass" is a verb and the outcome of a test: only `PASS=` and `db_pass` are names.
_PASSWORDS = r"passw(?:or[dt]|d)|passphrase|kennwort|pwd|(?<=[_-])pass|(?<![a-z])pass(?=[ \t]*=)"
_SECRETS = (
    r"(?:secret|api|access|private|account|encryption|signing|auth|master|admin|service|license)"
    r"[ _-]?key(?:[_-]base)?|secret|token|credentials?"
)
_NAME_HINTS = ("pass", "kennwort", "pwd", "key", "secret", "token", "credential")
_BARE = r"(?:[^\s\"'`;,&]|[;,&](?!\s|$|[\w. -]{1,40}[=:])){1,500}"
_NAMED = re.compile(
    rf"(?:(?P<password>{_PASSWORDS})|(?P<other>{_SECRETS}))\d?"
    r"(?P<sep>\\?[\"'`]?[ \t]{0,8}(?:=>|:=|={1,3}|:)[ \t]{0,8})"
    rf"(?:(?P<quote>\\?[\"'`])(?P<quoted>[^\n]{{1,400}}?)(?P=quote)|(?P<bare>{_BARE}))",
    re.IGNORECASE,
)
_FLAG = re.compile(
    rf"(?<!\S)--?[a-z0-9_-]{{0,40}}?(?:(?P<password>{_PASSWORDS})|(?P<other>{_SECRETS}))"
    rf"[ \t]{{1,4}}(?P<bare>{_BARE})",
    re.IGNORECASE,
)
_TRAILING = ".,;:!?)]}>"
_LINE_MARKS = " \t-*\"'`"


def _mask_named(text: str, labels: dict[str, None]) -> str:
    """The text without the values behind telling names and command line flags."""
    parts: list[str] = []
    done = at = 0
    # What is no secret is looked at again: in "token: password=…" it is the next name.
    while match := _NAMED.search(text, at):
        group = "bare" if match["quoted"] is None else "quoted"
        start = match.start(group)
        value = match[group] if group == "quoted" else match[group].rstrip(_TRAILING)
        at = start
        if not _is_placeholder(value) and _is_value(match, value):
            label = _label_of(match)
            labels[label] = None
            parts += [text[done:start], f"[redacted:{label}]"]
            done = at = start + len(value)
    text = "".join([*parts, text[done:]])
    return _FLAG.sub(_flag_replacement(labels), text)


def _flag_replacement(labels: dict[str, None]) -> Callable[[re.Match[str]], str]:
    def replaced(match: re.Match[str]) -> str:
        if _is_placeholder(match["bare"]) or not _is_firm(match["bare"]):
            return match[0]
        return _without(match, "bare", _label_of(match), labels)

    return replaced


def _label_of(match: re.Match[str]) -> str:
    if match["password"]:
        return "password"
    lowered = match["other"].lower()
    if lowered == "token":
        return "token"
    return "api-key" if lowered.startswith("api") else "secret"


def _is_value(match: re.Match[str], value: str) -> bool:
    """Whether what stands behind the name is a value, given how it stands there."""
    is_password, is_set = match["password"] is not None, "=" in match["sep"]
    if " " in value:
        # Quoted words: a passphrase, if anything, and only where something is set to it.
        return is_password and is_set
    if match["quoted"] is not None:
        return len(value) >= _SHORTEST if is_password else _is_firm(value) or len(value) >= _LONG
    if not is_password:
        return _is_firm(value) if is_set else _is_strong(value)
    if is_set or _fills_line(match):
        return len(value) >= _SHORTEST
    return _is_firm(value)


def _fills_line(match: re.Match[str]) -> bool:
    """Whether name and value are all that their line holds, as in a settings file."""
    text = match.string
    above = text.rfind("\n", 0, match.start()) + 1
    below = text.find("\n", match.end())
    before = text[above : match.start()].strip(_LINE_MARKS)
    after = text[match.end() : below if below >= 0 else len(text)]
    return not after.strip(" \t\"',") and (not before or before[-1] in "_.")
