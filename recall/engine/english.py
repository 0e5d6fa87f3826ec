"""What English brings beside its stemmer: words without content, forms that no suffix explains,
and how it asks for a time and tells one."""

import re
import sys

_STOP_WORDS = """
a about above after again against all also am an and any are aren't as at be because been before
being below between both but by can can't cannot could couldn't did didn't do does doesn't doing
don't down during each either else ever few for from further had hadn't has hasn't have haven't
having he he'd he'll her here hers herself him himself his how however i i'd i'll i'm i've if in
into is isn't it its itself just let's like many me might more most much must mustn't my myself
neither no nor not of off on once only or other ought our ours ourselves out over own per please
same shall shan't she she'd she'll should shouldn't since so some such than that that'd that'll
the their theirs them themselves then there these they they'd they'll they're they've this those
though through to too under until up upon us very via was wasn't we we'd we'll we're we've were
weren't what whatever when where which while who who'd who'll whom whose why will with within
without won't would wouldn't yet you you'd you'll you're you've your yours yourself yourselves
"""

STOP_WORDS: frozenset[str] = frozenset(map(sys.intern, _STOP_WORDS.split()))
"""English grammar words. "may" is a month and "will" rarely a name: the first stays a term."""

# Left out are forms that are oftener another word: bit, bore, bound, ground, leaves, lives, wound.
_FORMS = """
arise arose arisen, beat beaten, become became, begin began begun, bend bent, bite bitten,
bleed bled, blow blew blown, break broke broken, breed bred, bring brought, build built,
burn burnt, buy bought, catch caught, choose chose chosen, cling clung, come came, creep crept,
deal dealt, dig dug, draw drew drawn, dream dreamt, drink drank drunk, drive drove driven,
eat ate eaten, fall fell fallen, feed fed, feel felt, fight fought, find found, flee fled,
fly flew flown, forget forgot forgotten, forgive forgave forgiven, freeze froze frozen,
get got gotten, give gave given, go went gone, grow grew grown, hang hung, hear heard,
hide hid hidden, hold held, keep kept, kneel knelt, know knew known, lay laid, lead led,
lean leant, leap leapt, learn learnt, leave left, lend lent, light lit, lose lost, make made,
mean meant, meet met, pay paid, ride rode ridden, ring rang rung, rise rose risen, run ran,
say said, see saw seen, seek sought, sell sold, send sent, shake shook shaken, shine shone,
shoot shot, show shown, shrink shrank shrunk, sing sang sung, sink sank sunk, sit sat,
sleep slept, slide slid, speak spoke spoken, speed sped, spend spent, spill spilt, spin spun,
spoil spoilt, spring sprang sprung, stand stood, steal stole stolen, stick stuck, sting stung,
strike struck stricken, swear swore sworn, sweep swept, swell swollen, swim swam swum,
swing swung, take took taken, teach taught, tear tore torn, tell told, think thought,
throw threw thrown, understand understood, undertake undertook undertaken, wake woke woken,
wear wore worn, weave wove woven, weep wept, win won, withdraw withdrew withdrawn,
write wrote written,
child children, foot feet, goose geese, half halves, knife knives, man men, mouse mice,
person people, shelf shelves, thief thieves, tooth teeth, wife wives, woman women,
bad worse worst, good better best
"""

IRREGULAR: dict[str, str] = {
    form: base for base, *forms in (group.split() for group in _FORMS.split(",")) for form in forms
}
"""The base of verbs, nouns and adjectives whose other forms a stemmer of suffixes cannot see."""

_ASKS = re.compile(
    r"\bwhen(?:['\u2019]s| (?:exactly )?(?:d(?:id|o|oes)|is|are|was|were|w(?:ill|ould)"
    r"|ha[sd]|have|should|can))\b"
    r"|\b(?:tell me|know|remember|since|until|by) when\b"
    r"|\bhow (?:long|often|recently)\b"
    r"|\b(?:what|which) (?:time|day|date|week|month|year)\b",
    re.IGNORECASE,
)
_TELLS = re.compile(
    r"\b(?:today|tonight|tomorrow|yesterday|ago|last|next|since|recently"
    r"|(?:to)?nights?|mornings?|evenings?|days?|week(?:end)?s?|months?|years?"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?-i:March|May)"
    r"|january|february|april|june|july|august|september|october|november|december"
    r"|\d{1,2}:\d\d|\d{1,2}(?:st|nd|rd|th)|(?:19|20)\d\d(?:-\d\d(?:-\d\d)?)?)\b",
    re.IGNORECASE,
)


def asks_for_time(text: str) -> bool:
    """Whether a question wants to know when something is, or how long it takes."""
    return _ASKS.search(text) is not None


def tells_time(text: str) -> bool:
    """Whether a text names a day, a part of one or a span of time. Linear in its length."""
    return _TELLS.search(text) is not None
