// Keeps a page as it is now. One tab of a browser holds the stream of what changes and tells the others; a page whose runs
// changed is fetched again, and the parts of it that differ take the place of the old ones. Links inside a run swap its
// parts in the same manner, and long lists of steps are fetched as they come into view. Without this script all pages can
// be read and all forms sent.
"use strict";
(() => {
  const base = document.body.dataset.base;
  const live = document.getElementById("live");
  const channel = new BroadcastChannel("loops" + base);
  let waiting = 0, busy = false, again = false, wanted = 0;

  function say(text) {
    if (live.textContent !== text) live.textContent = text;
    live.classList.toggle("on", text === "live");
  }

  // inUse reports whether the user is at work in a part of the page, which stays as it is then.
  function inUse(part) {
    const at = document.activeElement;
    const selection = getSelection();
    return part.contains(at) && at.matches("input, textarea, select, button, summary") || part.querySelector("details.do[open]") ||
      selection && !selection.isCollapsed && part.contains(selection.anchorNode);
  }

  const atEnd = (e) => e.scrollHeight - e.scrollTop - e.clientHeight < 30;
  function showEnd() {
    for (const e of document.querySelectorAll("[data-tail]")) e.scrollTop = e.scrollHeight;
  }

  // place returns how to find a focused link again after its part was replaced.
  function place(part) {
    const at = document.activeElement;
    if (!part.contains(at) || at === part) return () => {};
    const links = [...part.querySelectorAll("a, [tabindex]")];
    const n = links.indexOf(at), href = at.getAttribute("href");
    return () => {
      const now = [...part.querySelectorAll("a, [tabindex]")];
      const next = href && now.find((a) => a.getAttribute("href") === href) || now[Math.min(n, now.length - 1)];
      if (next) next.focus({ preventScroll: true });
    };
  }

  // pressed holds between the two halves of a click: a part that was replaced between them would lose it.
  let pressed = false;
  addEventListener("pointerdown", () => { pressed = true; }, true);
  for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => setTimeout(() => { pressed = false; }, 50), true);

  function swap(fresh) {
    if (pressed) { later(); return; }
    for (const part of document.querySelectorAll("[data-swap]")) {
      const next = fresh.getElementById(part.id);
      if (!next || next.innerHTML === part.dataset.was || inUse(part)) continue;
      if (part.dataset.was === undefined && next.innerHTML === part.innerHTML) { part.dataset.was = next.innerHTML; continue; }
      const open = new Set([...part.querySelectorAll("details[open]")].map((d) => d.textContent));
      const refocus = place(part), end = part.dataset.tail !== undefined && atEnd(part);
      part.dataset.was = next.innerHTML;
      for (const name of ["first", "all", "again"]) {
        if (next.dataset[name] === undefined) delete part.dataset[name]; else part.dataset[name] = next.dataset[name];
      }
      part.replaceChildren(...next.childNodes);
      for (const d of part.querySelectorAll("details")) if (open.has(d.textContent)) d.open = true;
      refocus();
      if (end) part.scrollTop = part.scrollHeight;
    }
    listSteps();
    showZone();
    if (document.querySelector("[data-again]")) setTimeout(later, 600, true);
  }

  // get reads a page. With again it is one that is read again by itself, and says how long to wait before the next time.
  async function get(href, again) {
    const answer = await fetch(href, { credentials: "same-origin", headers: again ? { "X-Loops-Again": "1" } : {} });
    if (again) rest = Date.now() + Number(answer.headers.get("X-Loops-Rest") || 0);
    if (answer.status === 401) { say("The server was started again: open the address that it printed."); return null; }
    return answer.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
  }

  async function refresh() {
    if (busy) { again = true; return; }
    busy = true;
    const asked = wanted;
    try {
      const fresh = await get(location.href, true);
      if (fresh && asked === wanted) { swap(fresh); say("live"); }
    } catch { say("not connected"); } finally {
      busy = false;
      if (again) { again = false; later(true); }
    }
  }

  // later reads the page again when its turn comes, and with soon at once; a page that is hidden does so when it is shown.
  let stale = false, rest = 0, due = 0;
  function later(soon) {
    if (document.hidden) { stale = true; return; }
    const at = Math.max(Date.now() + 150, soon ? 0 : rest);
    if (waiting && due <= at) return;
    clearTimeout(waiting);
    due = at;
    waiting = setTimeout(() => { waiting = 0; refresh(); }, at - Date.now());
  }

  document.addEventListener("visibilitychange", () => { if (!document.hidden && stale) { stale = false; later(true); } });

  // go shows another part of the same run without the rest of the page jumping.
  async function go(href, push) {
    const asked = ++wanted;
    let fresh = null;
    try { fresh = await get(href); } catch { /* the browser says so itself */ }
    if (asked !== wanted) return;
    if (!fresh) { location.href = href; return; }
    const main = document.getElementById("main"), y = scrollY;
    if (push) history.pushState(null, "", href);
    main.replaceChildren(...fresh.getElementById("main").childNodes);
    document.title = fresh.title;
    scrollTo(0, y);
    ready();
    const step = new URL(href, location.href).hash === "#step" && document.getElementById("step");
    if (step) { step.focus({ preventScroll: true }); if (innerWidth <= 1100) step.scrollIntoView(); }
  }
  document.addEventListener("click", (e) => {
    const a = e.target.closest("a");
    if (!a || e.defaultPrevented || e.button || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
    const href = a.href && a.href.baseVal !== undefined ? new URL(a.href.baseVal, location.href).href : a.href;
    if (!href || a.hasAttribute("download") || !document.getElementById("tabs")) return;
    const to = new URL(href);
    if (to.origin !== location.origin || to.pathname !== location.pathname || !to.search && to.hash) return;
    e.preventDefault();
    go(href, true);
  });
  // A slider shows what it stands at, without its button.
  document.addEventListener("change", (e) => {
    const slide = e.target.closest("[data-slide]");
    if (slide) go(slide.form.action + "?" + new URLSearchParams(new FormData(slide.form)), true).then(() => document.querySelector("[data-slide]")?.focus());
  });
  addEventListener("popstate", () => { if (document.getElementById("tabs")) go(location.href, false); });

  // listSteps puts an empty place for each window of older steps below the newest; it is filled when it comes into view.
  const seen = new IntersectionObserver((entries) => {
    for (const e of entries) if (e.isIntersecting) fill(e.target); else empty(e.target);
  }, { rootMargin: "800px" });

  function listSteps() {
    const newest = document.getElementById("steps");
    if (!newest || newest.dataset.still !== undefined) return;
    const chunk = Number(newest.dataset.chunk), first = Number(newest.dataset.first);
    if (!first) return;
    let list = document.getElementById("older");
    if (!list) {
      list = document.createElement("table");
      list.id = "older";
      list.className = "runs steps";
      newest.after(list);
      const pages = document.getElementById("pages");
      if (pages) pages.hidden = true;
    }
    const top = list.firstElementChild ? Number(list.firstElementChild.dataset.until) : 0;
    for (let until = top + chunk; until <= first; until += chunk) {
      const body = document.createElement("tbody");
      body.dataset.until = until;
      list.prepend(body);
      empty(body);
      seen.observe(body);
    }
  }

  function empty(body) {
    if (body.dataset.empty !== undefined) return;
    const row = document.querySelector("#steps tbody tr"), n = Number(document.getElementById("steps")?.dataset.chunk || 0);
    const high = body.offsetHeight > 60 ? body.offsetHeight : n * (row ? row.offsetHeight : 29);
    body.dataset.empty = "";
    const tr = document.createElement("tr"), td = document.createElement("td");
    td.colSpan = 9;
    td.style.height = high + "px";
    tr.append(td);
    body.replaceChildren(tr);
  }

  async function fill(body) {
    if (body.dataset.empty === undefined || body.dataset.busy !== undefined) return;
    body.dataset.busy = "";
    const to = new URL(location.href);
    to.searchParams.delete("step");
    to.searchParams.set("tab", "steps");
    to.searchParams.set("until", body.dataset.until);
    try {
      const rows = (await get(to.href))?.querySelectorAll("#steps tbody tr");
      if (rows && rows.length) { delete body.dataset.empty; body.replaceChildren(...rows); }
    } catch { /* it is tried again when it comes into view */ }
    delete body.dataset.busy;
  }

  // ago says how long ago a moment was, or in how much time it comes, as the server does.
  function ago(at) {
    const d = (Date.now() - at) / 1000, s = Math.abs(d);
    if (s < 1) return "just now";
    const text = s < 60 ? Math.floor(s) + " s" : s < 3600 ? Math.floor(s / 60) + " min" : s < 172800 ? Math.floor(s / 3600) + " h" : Math.floor(s / 86400) + " days";
    return d < 0 ? "in " + text : text + " ago";
  }

  // showZone writes the times of the page as they were sent, in the zone of the server, or in that of the browser.
  const zone = document.getElementById("zone");
  function showZone() {
    if (!zone) return;
    let own = false;
    try { own = localStorage.getItem("loops-zone") === "browser"; } catch { /* nothing is kept then */ }
    zone.hidden = false;
    zone.textContent = own ? zone.dataset.server : zone.dataset.browser;
    for (const t of document.querySelectorAll("time[datetime]")) {
      const at = new Date(t.dateTime);
      t.dataset.sent ??= t.title || t.textContent;
      const exact = own ? at.toLocaleString("sv-SE", { dateStyle: "short", timeStyle: "medium" }) + " " +
        new Intl.DateTimeFormat("en", { timeZoneName: "short" }).formatToParts(at).find((p) => p.type === "timeZoneName").value : t.dataset.sent;
      if (t.title) t.title = exact;
      if (t.dataset.ago !== undefined) t.textContent = ago(at);
      else if (t.dataset.day !== undefined) {
        t.dataset.short ??= t.textContent;
        t.textContent = own ? at.toLocaleTimeString("sv-SE") : t.dataset.short;
      } else t.textContent = exact;
    }
  }
  zone?.addEventListener("click", () => {
    try { localStorage.setItem("loops-zone", zone.textContent === zone.dataset.browser ? "browser" : "server"); } catch { return; }
    showZone();
  });

  function ready() {
    showZone();
    listSteps();
    showEnd();
    if (document.querySelector("[data-again]")) setTimeout(later, 600, true);
  }

  function concerns(changed) {
    return [...document.querySelectorAll("[data-watch]")].some((part) => part.dataset.watch === "*" || changed.includes(part.dataset.watch));
  }

  function take(message) {
    if (message.state) { say(message.state); if (message.state === "live") later(true); }
    if (message.changed && concerns(message.changed)) later(message.turned?.length > 0 && concerns(message.turned));
  }
  channel.onmessage = (e) => take(e.data);

  // lead holds the stream for all tabs until this one is closed.
  function lead() {
    return new Promise(() => {
      const tell = (message) => { take(message); channel.postMessage(message); };
      const connect = () => {
        const stream = new EventSource(base + "/api/v1/stream");
        stream.addEventListener("hello", () => tell({ state: "live" }));
        stream.addEventListener("runs", (e) => { const { changed, turned } = JSON.parse(e.data); tell({ changed, turned }); });
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
  setInterval(() => { if (!document.hidden && document.querySelector("[data-alive]")) later(); }, 5000); // times pass without news
  setInterval(() => { if (!document.hidden) showZone(); }, 30000); // what is said to be so long ago
  ready();
  document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  if (document.querySelector("[data-watch]")) navigator.locks.request("loops" + base, lead);
})();
