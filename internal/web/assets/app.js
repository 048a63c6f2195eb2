// Keeps a page as it is now. One tab of a browser holds the stream of what changes and tells the others; a page whose runs
// changed is fetched again, and the parts of it that differ take the place of the old ones. Without this script all pages
// can be read and all forms sent.
"use strict";
(() => {
  const base = document.body.dataset.base;
  const live = document.getElementById("live");
  const channel = new BroadcastChannel("loops" + base);
  let waiting = 0, busy = false, again = false;

  function say(text) { if (live.textContent !== text) live.textContent = text; }

  // inUse reports whether the user is at work in a part of the page, which stays as it is then.
  function inUse(part) {
    return part.contains(document.activeElement) && document.activeElement.matches("input, textarea, select, button, summary, a") || part.querySelector("details.do[open]");
  }

  function swap(text) {
    const fresh = new DOMParser().parseFromString(text, "text/html");
    for (const part of document.querySelectorAll("[data-swap]")) {
      const next = fresh.getElementById(part.id);
      if (!next || next.innerHTML === part.dataset.was || inUse(part)) continue;
      const open = new Set([...part.querySelectorAll("details[data-keep][open]")].map((d) => d.dataset.keep));
      part.dataset.was = next.innerHTML;
      part.replaceChildren(...next.childNodes);
      for (const d of part.querySelectorAll("details[data-keep]")) d.open = open.has(d.dataset.keep);
    }
  }

  async function refresh() {
    if (busy) { again = true; return; }
    busy = true;
    try {
      const answer = await fetch(location.href, { credentials: "same-origin" });
      if (answer.status === 401) say("The server was started again: open the address that it printed.");
      else if (answer.ok) { swap(await answer.text()); say("live"); }
    } catch { say("not connected"); } finally {
      busy = false;
      if (again) { again = false; later(); }
    }
  }

  function later() {
    if (!waiting) waiting = setTimeout(() => { waiting = 0; refresh(); }, 150);
  }

  function concerns(changed) {
    return [...document.querySelectorAll("[data-watch]")].some((part) => part.dataset.watch === "*" || changed.includes(part.dataset.watch));
  }

  function take(message) {
    if (message.state) { say(message.state); if (message.state === "live") later(); }
    if (message.changed && concerns(message.changed)) later();
  }
  channel.onmessage = (e) => take(e.data);

  // lead holds the stream for all tabs until this one is closed.
  function lead() {
    return new Promise(() => {
      const tell = (message) => { take(message); channel.postMessage(message); };
      const connect = () => {
        const stream = new EventSource(base + "/api/v1/stream");
        stream.addEventListener("hello", () => tell({ state: "live" }));
        stream.addEventListener("runs", (e) => tell({ changed: JSON.parse(e.data).changed }));
        stream.onerror = () => {
          tell({ state: "not connected" });
          stream.close();
          later(); // which finds out whether the token still holds
          setTimeout(connect, 1000);
        };
      };
      connect();
    });
  }
  if (document.querySelector("[data-watch]")) navigator.locks.request("loops" + base, lead);
})();
