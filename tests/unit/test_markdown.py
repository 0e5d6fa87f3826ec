"""Markdown of rules becomes HTML in which nothing acts and nothing loads."""

import re

import pytest

from memoryconsole.console.markdown import render


def shown(text: str) -> str:
    return str(render(text))


@pytest.mark.parametrize(
    "attack",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        '<b hx-get="/sign-out" data-hx-post=/x style="color:red" id=main onclick=x>b</b>',
        "<table><tr><td><table><tr><td>deep",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "```js onclick=alert(1)\n</code></pre><script>\n```",
        "`</code><svg/onload=alert(1)>`",
        "| a |\n|--:|\n| <iframe src=//x.test> |",
        '[a](https://x.test "onmouseover=alert(1)")',
    ],
)
def test_only_plain_elements_are_made(attack: str) -> None:
    tags = re.findall(r"<(?!/)([^>]*)>", shown(attack))
    plain = {"p", "pre", "code", "table", "thead", "tbody", "tr", "th", "td"}
    link = 'a href="https://x.test" rel="noopener noreferrer nofollow"'
    assert set(tags) <= plain | {link}


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)", "JaVaScRiPt:x", "&#106;avascript:x", "vbscript:x",
        "data:text/html,x", "file:///x", "//x.test", "/sign-out",
    ],
)  # fmt: skip
def test_a_link_that_leads_nowhere_good_is_shown_as_typed(url: str) -> None:
    for text in (f"[a]({url})", f"<{url}>", f"[a]\n\n[a]: {url}"):
        assert "<a" not in shown(text)


def test_links_to_the_web_and_to_mail_stay() -> None:
    found = shown("[a](http://x.test/b?c=1&d) <https://x.test> <mailto:kiln@x.test>")
    links = re.findall(r'href="([^"]*)" rel="noopener noreferrer nofollow"', found)
    assert links == ["http://x.test/b?c=1&amp;d", "https://x.test", "mailto:kiln@x.test"]


def test_an_image_is_the_words_that_stand_for_it() -> None:
    assert shown("![The *red* valve](https://x.test/valve.png)") == "<p>The red valve</p>\n"


def test_headings_go_down_one_by_one_whatever_they_were() -> None:
    found = shown("### A\n# B\n#### C\n## D\n### E\n\nF\n===")
    assert re.findall(r"<(h\d)>(\w)", found) == [
        ("h3", "A"), ("h3", "B"), ("h4", "C"), ("h4", "D"), ("h5", "E"), ("h3", "F"),
    ]  # fmt: skip


def test_lists_tables_and_code_are_rendered() -> None:
    found = shown("3. a\n4. ~~b~~\n\n| c | d |\n|---|--:|\n| 1 | 2 |\n\n    e\n")
    for part in ('<ol start="3">', "<s>b</s>", "<th>d</th>", "<pre><code>e"):
        assert part in found


@pytest.mark.parametrize("run", ["Close the valve. ", "[a](b ", "*a ", "`a", "|a|\n", "> - "])
def test_fifty_thousand_characters_of_anything_become_a_page(run: str) -> None:
    assert shown((run * 50_000)[:50_000])
