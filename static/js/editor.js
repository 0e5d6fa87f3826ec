// The editor of a rule: five buttons, and the keys for save, bold and italic. It is a plain text
// box, so without this nothing is missing but the short cuts.
"use strict";
(() => {
  const WORDS = { heading: "Heading", bold: "bold", italic: "italic", list: "item", code: "code" };
  const AROUND = { bold: "**", italic: "_", code: "`" }, BEFORE = { heading: "## ", list: "- " };
  const KEYS = { b: "bold", i: "italic" };
  const text = document.querySelector(".rule-form textarea");
  if (!text) return;

  // As if it was typed: the browser's own undo takes it back, and the preview follows.
  function put(from, to, written) {
    text.focus();
    text.setSelectionRange(from, to);
    if (!document.execCommand("insertText", false, written)) {
      text.setRangeText(written, from, to, "end");
      text.dispatchEvent(new Event("input", { bubbles: true }));
    }
  }

  function around(act) {
    const mark = AROUND[act], { selectionStart: from, selectionEnd: to, value } = text, inner = value.slice(from, to);
    const has = value.slice(from - mark.length, from) === mark && value.slice(to, to + mark.length) === mark;
    const start = has ? from - mark.length : from, words = inner || WORDS[act];
    put(start, has ? to + mark.length : to, has ? inner : mark + words + mark);
    const begin = has ? start : from + mark.length;
    text.setSelectionRange(begin, begin + (has ? inner : words).length);
  }

  function before(act) {
    const mark = BEFORE[act], { selectionStart, selectionEnd, value } = text;
    const from = value.lastIndexOf("\n", selectionStart - 1) + 1, end = value.indexOf("\n", selectionEnd);
    const to = end < 0 ? value.length : end, lines = value.slice(from, to).split("\n");
    const has = lines.every((line) => line.startsWith(mark));
    const written = lines.map((line) => (has ? line.slice(mark.length) : mark + (line || WORDS[act]))).join("\n");
    put(from, to, written);
    text.setSelectionRange(from, from + written.length);
  }

  const format = (act) => (AROUND[act] ? around(act) : before(act));

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-format]");
    if (button) format(button.dataset.format);
  });
  document.addEventListener("keydown", (event) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    const key = event.key.toLowerCase();
    if (key === "s") text.form.requestSubmit();
    else if (event.target === text && KEYS[key]) format(KEYS[key]);
    else return;
    event.preventDefault();
  });
})();
