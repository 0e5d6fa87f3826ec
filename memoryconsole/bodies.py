"""The body of a call: how large it is, also without a length, and JSON of which little is used."""

import json
import re
import time
from typing import Any

from django.http import HttpRequest
from django.http.request import UnreadablePostError

from banks import errors

DRAINED_BYTES = 64 * 1024 * 1024
"""As much of a body that is too large is read and dropped: who is still sending hears no answer."""

PATIENCE_S = 20
"""How long a body without a length, or one that is dropped, may take altogether."""

TOKENS_MOST = 1_000_000
"""Strings and brackets looked at where JSON is nested too deep: about half a second."""

_PIECE_BYTES = 64 * 1024
_DEPTH = 32
_DIGITS = 18
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{}]', re.DOTALL)


def check(request: HttpRequest, limit: int) -> None:
    """Raise TooLarge for a body over `limit` bytes; one that comes in pieces is read for that.

    Raises Invalid when its sender stops in the middle.
    """
    size = request.headers.get("Content-Length", "")
    if size.isdecimal():
        large = int(size) > limit
        if large:
            _drain(request)
    else:
        large = _chunked(request) and not _read_pieces(request, limit)
    if large:
        raise errors.TooLarge(f"The body has more than {limit} bytes.")


def tolerant(body: bytes) -> Any:
    """JSON with what stands in an old message: NaN, endless numbers, half characters, any depth.

    What is nested very deep becomes null. Raises ValueError or RecursionError for what is no JSON.
    """
    text = body.decode(errors="replace")
    try:
        return json.loads(text, parse_int=_number)
    except RecursionError:
        return json.loads(_shallow(text), parse_int=_number)


def _number(digits: str) -> int | float:
    return int(digits) if len(digits) <= _DIGITS else float(digits)


def _shallow(text: str) -> str:
    parts: list[str] = []
    depth = done = 0
    for count, token in enumerate(_STRING_OR_BRACKET.finditer(text)):
        if count == TOKENS_MOST:
            raise ValueError("too many values to look for deep ones")
        if token[0] in ("[", "{"):
            depth += 1
            if depth == _DEPTH + 1:
                parts += [text[done : token.start()], "null"]
        elif token[0] in ("]", "}"):
            if depth == _DEPTH + 1:
                done = token.end()
            depth -= 1
    if depth > _DEPTH:
        raise ValueError("a bracket is not closed")
    return "".join([*parts, text[done:]])


def _chunked(request: HttpRequest) -> bool:
    return request.headers.get("Transfer-Encoding", "").strip().lower() == "chunked"


def _read_pieces(request: HttpRequest, limit: int) -> bool:
    """Read a body without a length, which the framework takes for none; False when too large."""
    source, body, until = request.META["wsgi.input"], bytearray(), time.monotonic() + PATIENCE_S
    dropped = 0
    try:
        while piece := source.read(_PIECE_BYTES):
            if time.monotonic() > until:
                raise errors.Invalid("The body took too long.", loc="body")
            if len(body) + len(piece) > limit:
                dropped += len(piece)
                if dropped > DRAINED_BYTES:
                    return False
            else:
                body += piece
    except OSError as error:
        raise errors.Invalid("The body ended in the middle.", loc="body") from error
    if dropped:
        return False
    request._body = bytes(body)
    return True


def _drain(request: HttpRequest) -> None:
    left, until = DRAINED_BYTES, time.monotonic() + PATIENCE_S
    try:
        while left > 0 and time.monotonic() < until and (piece := request.read(_PIECE_BYTES)):
            left -= len(piece)
    except UnreadablePostError:
        # Nobody is there any more to hear the answer; it is made all the same.
        return
