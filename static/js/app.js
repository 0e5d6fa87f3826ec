// What pages do beyond links and forms, each of which works without it.
"use strict";
(() => {
  const TOAST_MS = 10000, TOASTS_AT_ONCE = 3, PLACES = ["page", "found", "drawer", "log"];
  const UNSAVED = "What you typed is not saved. Go on without it?";
  const one = (id) => document.getElementById(id), all = (css) => [...document.querySelectorAll(css)];
  const say = (text) => { one("say").textContent = text; };

  document.documentElement.classList.add("has-script");

  // --- toasts: ten seconds, but not while one is pointed at or holds the focus
  function startToast(toast) {
    let timer = 0;
    const stop = () => clearTimeout(timer);
    const start = () => { stop(); timer = setTimeout(() => dismiss(toast), TOAST_MS); };
    for (const [event, act] of [["mouseenter", stop], ["focusin", stop], ["mouseleave", start], ["focusout", start]]) toast.addEventListener(event, act);
    start();
    const shown = one("toasts").children;
    while (shown.length > TOASTS_AT_ONCE) shown[0].remove();
  }
  function dismiss(box) {
    const held = box.contains(document.activeElement);
    box.remove();
    if (held) keepFocus();
  }

  // --- focus: after a swap it is never on nothing
  let wanted = null;  // ids, best first
  let leading = null;  // the request that leads elsewhere
  const first = (row) => row?.querySelector(".pick, a[id]");
  function keepFocus() {
    if (document.activeElement && document.activeElement !== document.body) return;
    for (const id of [...(wanted || []), "list", "main"]) {
      const found = id && one(id);
      if (!found || !found.getClientRects().length) continue;
      if (!found.matches("a,button,input,select,textarea,summary,[tabindex]")) found.tabIndex = -1;
      found.focus({ preventScroll: id === "main" });
      if (document.activeElement === found) break;
    }
    wanted = null;
  }

  // Whether somebody asked for it: it does not refresh by itself.
  const isAsked = ({ triggeringEvent }) => triggeringEvent && triggeringEvent.type !== "bank:changed";
  // A list that is shown again has as many rows as before.
  document.addEventListener("htmx:configRequest", (event) => {
    event.detail.headers["HX-Rows"] = all(".row, .deed").length;
  });
  document.addEventListener("htmx:beforeRequest", (event) => {
    const { elt, target, requestConfig } = event.detail;
    if (target.id === "drawer" && !target.getClientRects().length && elt.href) {
      event.preventDefault();  // no room for a drawer: the link leads to the page
      location.assign(elt.href);
      return;
    }
    const asked = isAsked(requestConfig);
    if (isUnsaved(target, elt) && !(asked && confirm(UNSAVED))) { event.preventDefault(); return; }
    if (requestConfig.verb === "get" && PLACES.includes(target.id)) {
      if (asked) leading?.abort();  // the last click decides what is shown, and the address
      leading = event.detail.xhr;
    }
    if (!asked) return;
    const row = target.closest(".row"), pick = first(row?.nextElementSibling) || first(row?.previousElementSibling);
    if (elt.id || elt.dataset.focus || pick) wanted = [elt.dataset.focus, elt.id, document.activeElement.id, pick && pick.id];
    if (target.id === "more") wanted = [`after ${target.previousElementSibling?.id}`, ...wanted];
    target.setAttribute("aria-busy", "true");
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    event.detail.target.removeAttribute("aria-busy");
    if (event.detail.successful) event.detail.elt.closest(".toast")?.remove();  // not before: htmx swaps from where it stands
  });
  document.addEventListener("htmx:afterSettle", () => {
    const above = wanted?.[0]?.startsWith("after ") && one(wanted[0].slice(6));
    first(above?.nextElementSibling)?.focus();
    keepFocus();
    count();
  });
  // --- how many are picked
  const count = () => all(".bulk-word").forEach((word) => { word.textContent = `${all(".pick:checked").length} picked`; });
  document.addEventListener("change", count);
  document.addEventListener("htmx:load", (event) => {
    if (event.detail.elt.matches?.(".toast")) startToast(event.detail.elt);
  });
  // What was done in the drawer shows in its row too; one that came back, in the list.
  document.addEventListener("htmx:afterSwap", (event) => {
    const { target, requestConfig } = event.detail;
    if (target?.id !== "drawer") return;  // Back has no target
    const open = one(`m-${one("drawer")?.dataset.id}`);
    all(".row.is-open")[0]?.classList.remove("is-open");
    open?.classList.add("is-open");
    const source = open || one("found");
    if (source && requestConfig.verb === "post") htmx.ajax("GET", location.href, { source, target: source, swap: "outerHTML" });
  });

  // --- failures: the old content stays, and a strip says what failed
  const isPlain = (xhr) => (xhr.getResponseHeader("Content-Type") || "").startsWith("text/plain");
  function failed(event) {
    const { elt, xhr } = event.detail, status = xhr ? xhr.status : 0;
    const plain = xhr && isPlain(xhr) ? xhr.responseText : "";
    const text = plain || (status ? "The server could not do that." : "The server cannot be reached.");
    const id = xhr && xhr.getResponseHeader("X-Request-Id");
    const strip = one("failed").content.firstElementChild.cloneNode(true);
    strip.querySelector("p").textContent = `${text} (${new Date().toLocaleTimeString()})`;
    strip.querySelector("[data-copy-text]").dataset.copyText = `status ${status}, request ${id || "unknown"}, ${new Date().toISOString()}`;
    strip.querySelector("[data-retry]").addEventListener("click", () => {
      strip.remove();
      if (elt.requestSubmit) elt.requestSubmit(); else elt.click();
    });
    one("err").replaceChildren(strip);
  }
  // A refusal in one sentence is told; it takes the place of nothing.
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (!isPlain(event.detail.xhr)) return;
    event.detail.shouldSwap = false;
    event.detail.isError = true;
  });
  for (const name of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) document.addEventListener(name, failed);
  document.addEventListener("htmx:afterOnLoad", (event) => {
    const { successful, requestConfig } = event.detail;
    if (successful && isAsked(requestConfig)) one("err").querySelector("[data-retry]")?.closest(".strip").remove();
  });

  // --- clicks
  document.addEventListener("click", (event) => {
    // A link opened in a new tab or window is the browser's.
    if ((event.ctrlKey || event.metaKey || event.shiftKey) && event.target.closest("a[hx-get]")) { event.stopImmediatePropagation(); return; }
    const button = event.target.closest("[data-close], [data-copy], [data-copy-text], [data-cancel]");
    if (!button) return;
    const { copy, copyText } = button.dataset;
    if ("close" in button.dataset) dismiss(button.closest(".toast, .strip"));
    if ("cancel" in button.dataset) button.closest("dialog").close();
    if (copy !== undefined || copyText !== undefined) {
      const from = copy ? one(copy) : null, text = from ? (from.value ?? from.textContent) : copyText;
      navigator.clipboard.writeText(text).then(() => say("Copied"), () => { from?.select?.(); say("Press the copy keys: the browser does not let this page copy."); });
    }
  }, true);

  // --- confirm: the box of <details> as a dialog
  document.addEventListener("toggle", (event) => {
    const dialog = event.target.matches?.(".confirm[open]") && event.target.querySelector("dialog");
    if (!dialog) return;
    dialog.open = false;  // close() would tell of it later, to the listener below
    dialog.showModal();
    dialog.addEventListener("close", () => { event.target.open = false; event.target.querySelector("summary").focus(); }, { once: true });
  }, true);

  // --- keys
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && !all("dialog:modal")[0]) {
      const menu = all(".topbar details[open]")[0];
      if (menu) { menu.open = false; menu.querySelector("summary").focus(); return; }
      const row = event.target.closest(".is-editing");
      if (row && isUnsaved(row) && !confirm(UNSAVED)) return;
      (row?.querySelector("[data-escape]") || all("#drawer [data-escape]")[0])?.click();
    }
    const form = event.target.closest("form");
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && form) form.requestSubmit();
  });

  // --- what was typed is not lost by a click on a link
  const isChanged = (field) => {
    if (field.options) return field.selectedIndex !== Math.max(0, [...field.options].findIndex((option) => option.defaultSelected));
    const [now, before] = /checkbox|radio/.test(field.type) ? ["checked", "defaultChecked"] : ["value", "defaultValue"];
    return before in field && field[now] !== field[before];
  };
  const leaving = new WeakSet();  // sent on purpose
  const isUnsavedForm = (form) => !leaving.has(form) && [...form.elements].some(isChanged);
  // Whether the box holds a form with words that would be lost; not the one that asks.
  const isUnsaved = (box, asking) => [...box.querySelectorAll("form[data-guard]")].some((form) => !(asking && form.contains(asking)) && isUnsavedForm(form));
  document.addEventListener("submit", (event) => leaving.add(event.target), true);
  addEventListener("beforeunload", (event) => { if (isUnsaved(document)) event.preventDefault(); });
})();
