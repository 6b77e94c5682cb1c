// Keys for who uses no mouse: / searches, ? lists them all, g and a letter leads to a page, j and k go along rows.
"use strict";

(function () {
  const list = document.getElementById("shortcuts");
  if (!list) return;
  const search = document.getElementById("find");
  const on = list.querySelector("[data-shortcuts-on]");
  const KEPT = "heliograph-shortcuts";
  const AWAIT_MS = 1500; // the letter after g

  // a browser that keeps nothing has them
  const kept = () => { try { return localStorage.getItem(KEPT); } catch { return null; } };
  const keep = (value) => { try { localStorage.setItem(KEPT, value); } catch { /* until the page is left */ } };
  on.checked = kept() !== "off";
  on.addEventListener("change", () => keep(on.checked ? "on" : "off"));
  document.querySelector("[data-shortcuts]").addEventListener("click", () => list.showModal());
  list.addEventListener("click", (event) => { if (event.target === list) list.close(); });

  // the link of a row that it is about
  const rows = () => [...document.querySelectorAll("main tbody tr")].map((row) => row.querySelector("th a, td a")).filter(Boolean);
  const step = (by) => {
    const links = rows();
    if (!links.length) return;
    const row = document.activeElement.closest("tr");
    const at = links.findIndex((link) => row && row.contains(link));
    links[at < 0 ? 0 : Math.min(Math.max(at + by, 0), links.length - 1)].focus();
  };

  const typing = (target) => target.closest("input, textarea, select, [contenteditable]");
  let leading = -Infinity;
  document.addEventListener("keydown", (event) => {
    if (!on.checked || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (typing(event.target)) {
      if (event.key === "Escape" && event.target === search) search.blur();
      return;
    }
    const led = event.timeStamp - leading < AWAIT_MS;
    leading = -Infinity;
    if (led) {
      const link = [...list.querySelectorAll("[data-key]")].find((each) => each.dataset.key === event.key);
      if (link) {
        event.preventDefault();
        location.assign(link.href);
        return;
      }
    }
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "/") {
      search.focus();
      search.select();
    } else if (event.key === "?") list.showModal();
    else if (event.key === "g") leading = event.timeStamp;
    else if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
    else return;
    event.preventDefault();
  });
})();
