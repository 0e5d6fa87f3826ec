"""Markdown of rules as people read it. What an agent gets is the text itself.

A rule may come from anywhere, so nothing of it may act on a page or load anything: no HTML of its
own, no images, no links but to the web and to mail. The parser writes none of that, and an
allow-list takes out what it should not have let through.
"""

from collections.abc import Sequence

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

TOP_HEADING, LAST_HEADING = 3, 6
"""Headings of a rule are below those of its page, and never skip one."""

_TAGS = {
    *("p", "br", "hr", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code"),
    *("em", "strong", "s", "a", "table", "thead", "tbody", "tr", "th", "td"),
}
_ATTRIBUTES: dict[str, set[str]] = {"*": set(), "a": {"href"}, "ol": {"start"}}
_SCHEMES = {"http", "https", "mailto"}


def render(text: str) -> SafeString:
    """The text as HTML that is safe to put into a page. Links open with nothing of ours."""
    tokens = _PARSER.parse(text)
    _nest(tokens)
    written = _PARSER.renderer.render(tokens, _PARSER.options, {})
    clean = nh3.clean(
        written,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes=_SCHEMES,
        url_relative="deny",
        link_rel="noopener noreferrer nofollow",
    )
    return mark_safe(clean)  # noqa: S308  # that is what the allow-list is for


def _leads_out(url: str) -> bool:
    """Whether a link may stay one; else its markdown is shown as it was typed."""
    scheme, colon, _ = url.partition(":")
    return bool(colon) and scheme.lower() in _SCHEMES


def _alternative(
    renderer: RendererHTML,
    tokens: Sequence[Token],
    place: int,
    options: OptionsDict,
    env: EnvType,
) -> str:
    """An image is the words that stand for it."""
    return renderer.renderInlineAsText(tokens[place].children, options, env)


def _nest(tokens: Sequence[Token]) -> None:
    """Give headings levels that go down one by one, whatever marks they were typed with."""
    above: list[str] = []
    for token in tokens:
        if token.type not in ("heading_open", "heading_close"):
            continue
        if token.type == "heading_open":
            while above and above[-1] >= token.tag:
                above.pop()
            above.append(token.tag)
        token.tag = f"h{min(TOP_HEADING + len(above) - 1, LAST_HEADING)}"


def _parser() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False, "linkify": False})
    made.enable(["table", "strikethrough"])
    made.validateLink = _leads_out  # type: ignore[method-assign]  # its way to be configured
    made.add_render_rule("image", _alternative)
    return made


_PARSER = _parser()
