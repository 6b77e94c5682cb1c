// Times come in UTC. Here they are shown in the zone of whoever looks, unless they choose UTC; what is typed follows.
// Charts are cut into hours and days by the gateway, which has the zone in a cookie.
"use strict";

(function () {
  const KEPT = "heliograph-zone";
  const zone = new Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
  // a browser that keeps nothing shows its own
  const kept = () => { try { return localStorage.getItem(KEPT); } catch { return null; } };
  const keep = (value) => { try { localStorage.setItem(KEPT, value); } catch { /* until the page is left */ } };
  const isUtc = zone === "UTC" || zone === "Etc/UTC";
  let own = kept() !== "utc" && !isUtc;

  // returns whether the gateway took another one
  const tell = () => {
    const given = `heliograph_zone=${own ? zone : "UTC"}`;
    const cookies = () => document.cookie.split("; ");
    const known = () => cookies().includes(given);
    const none = !cookies().some((each) => each.startsWith("heliograph_zone="));
    if (known() || (none && !own)) return false;
    const secure = location.protocol === "https:" ? "; Secure" : "";
    document.cookie = `${given}; Path=/console; Max-Age=31536000; SameSite=Strict${secure}`;
    return known();
  };
  const tellCharts = () => { if (tell() && document.querySelector("figure.chart, svg.bars")) location.reload(); };
  tellCharts();
  const choice = document.querySelector("[data-zone-choice]");
  if (!choice) return;

  const two = (number) => String(number).padStart(2, "0");
  const minute = (at) =>
    `${String(at.getFullYear()).padStart(4, "0")}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}`;
  const words = (at, precise) =>
    `${minute(at).replace("T", " ")}:${two(at.getSeconds())}` + (precise ? `.${String(at.getMilliseconds()).padStart(3, "0")}` : "");

  const showTime = (time) => {
    const at = new Date(time.dateTime);
    time.dataset.utc ??= time.textContent;
    if (Number.isNaN(at.getTime())) return;
    time.textContent = own ? words(at, time.dataset.utc.includes(".")) : time.dataset.utc;
    if (own) time.title = `${time.dataset.utc} UTC`;
    else time.removeAttribute("title");
  };
  const showTimes = (part) => {
    for (const time of part.querySelectorAll("time[datetime]")) showTime(time);
    for (const name of part.querySelectorAll("[data-zone]")) name.textContent = own ? zone : "UTC";
  };

  // input[data-utc]: its value is sent in UTC, whatever it is shown in
  const moment = (text) => { const at = new Date(text); return text && !Number.isNaN(at.getTime()) ? at : null; };
  const toUtc = (text) => moment(text)?.toISOString().slice(0, 16) ?? "";
  const toOwn = (text) => (text && moment(`${text}Z`) ? minute(moment(`${text}Z`)) : "");
  const fields = [...document.querySelectorAll("input[data-utc]")];
  const turnFields = () => { for (const field of fields) field.value = own ? toOwn(field.value) : toUtc(field.value); };
  for (const form of new Set(fields.map((field) => field.form))) {
    form.addEventListener("formdata", (event) => {
      if (!own) return;
      for (const field of fields) if (field.form === form) event.formData.set(field.name, toUtc(field.value));
    });
  }

  choice.hidden = isUtc;
  choice.querySelector("[data-own]").textContent = zone;
  const select = choice.querySelector("select");
  select.value = own ? "own" : "utc";
  select.addEventListener("change", () => {
    own = select.value === "own";
    keep(select.value);
    turnFields();
    showTimes(document);
    tellCharts();
  });
  if (own) {
    turnFields();
    showTimes(document);
  }

  // pieces that refresh themselves
  new MutationObserver((changes) => {
    if (!own) return;
    for (const change of changes)
      for (const node of change.addedNodes)
        if (node.nodeType === Node.ELEMENT_NODE) {
          if (node.matches("time[datetime]")) showTime(node);
          showTimes(node);
        }
  }).observe(document.getElementById("main"), { childList: true, subtree: true });
})();
