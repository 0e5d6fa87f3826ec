// One stream of counters a tab. What changed is told on <body> as "bank:changed".
// Closed while the tab is hidden: a browser has six connections for all its tabs.
"use strict";
(() => {
  const QUIET_MS = 1000, LATEST_MS = 5000, TRIES = 3, WAIT_MS = 2000;
  const WORDS = { live: "live", reconnecting: "reconnecting", paused: "paused", off: "not live" };
  let source = null, state = "", known = null, refused = 0, again = 0;
  let counters = null, due = 0, timer = 0;

  function show(next = state) {
    state = next;
    const light = document.getElementById("live");
    if (!light || !state) return;
    light.dataset.state = state;
    light.querySelector(".live-word").textContent = WORDS[state];
    light.querySelector("a").hidden = state !== "off";
  }

  function heard(event) {
    const now = JSON.parse(event.data), before = counters || { created: 0, changed: 0, retired: 0 };
    known = now.rev;
    if (!counters) due = Date.now() + LATEST_MS;
    counters = { ...now };
    for (const name of ["created", "changed", "retired"]) counters[name] += before[name];
    clearTimeout(timer);
    timer = setTimeout(tell, Math.min(QUIET_MS, Math.max(0, due - Date.now())));
  }
  function tell() {
    const detail = counters;
    counters = null;
    document.body.dispatchEvent(new CustomEvent("bank:changed", { detail }));
  }

  function close() {
    clearTimeout(again);
    if (source) source.close();
    source = null;
  }
  function open() {
    close();
    if (!document.body.dataset.live) return;
    if (document.hidden) { show("paused"); return; }
    const address = new URL(document.body.dataset.live, location.origin);
    if (known !== null) address.searchParams.set("since", known);
    const mine = source = new EventSource(address);
    mine.onopen = () => { refused = 0; show("live"); };
    mine.addEventListener("head", (event) => { known = JSON.parse(event.data).rev; });
    mine.addEventListener("bank", heard);
    mine.onerror = () => {
      if (mine !== source) return;
      // The browser tries again by itself after a break, but not after a refusal.
      if (mine.readyState !== EventSource.CLOSED) { show("reconnecting"); return; }
      close();
      refused += 1;
      show(refused < TRIES ? "reconnecting" : "off");
      if (refused < TRIES) again = setTimeout(open, WAIT_MS * 3 ** refused);
    };
  }
  function afresh() { refused = 0; open(); }
  function paused() { close(); show("paused"); }

  document.addEventListener("visibilitychange", () => (document.hidden ? paused() : afresh()));
  addEventListener("pagehide", paused);
  addEventListener("pageshow", (event) => { if (event.persisted) afresh(); });
  document.addEventListener("htmx:historyRestore", () => show());
  new MutationObserver(() => { known = null; afresh(); }).observe(document.body, { attributeFilter: ["data-live"] });
  show("reconnecting");
  open();
})();
