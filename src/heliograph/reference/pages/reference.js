// The page works without this: it adds tabs and copy buttons to the samples, a search, and forms that call this gateway.
"use strict";

const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const one = (selector, within = document) => within.querySelector(selector);

function made(kind, properties = {}, ...children) {
  const element = Object.assign(document.createElement(kind), properties);
  element.append(...children);
  return element;
}

// --- contents: a phone shows the text first, and the contents on a click

const narrow = matchMedia("(max-width: 59.99rem)");
const fold = () => { one("#contents").open = !narrow.matches; };
narrow.addEventListener("change", fold);
fold();

// --- samples: tabs of languages, one choice for the whole page

const REMEMBERED = "heliograph-language";

function remembered() {
  try {
    return localStorage.getItem(REMEMBERED) || "curl";
  } catch {
    return "curl"; // storage may be switched off
  }
}

function choose(language) {
  for (const samples of all(".samples")) {
    for (const tab of all("[role=tab]", samples)) {
      const chosen = tab.textContent === language;
      tab.setAttribute("aria-selected", chosen);
      tab.tabIndex = chosen ? 0 : -1;
    }
    for (const panel of all("[role=tabpanel]", samples)) panel.hidden = panel.dataset.language !== language;
  }
  try {
    localStorage.setItem(REMEMBERED, language);
  } catch {
    // then it is chosen again next time
  }
}

function withTabs(samples, number) {
  const languages = [...new Set(all("details", samples).map((each) => each.dataset.language))];
  const tabs = made("div", { role: "tablist", ariaLabel: "Language of the example" });
  const panels = languages.map((language, place) => {
    const panel = made("div", { role: "tabpanel", id: `sample-${number}-${place}` });
    panel.dataset.language = language;
    panel.append(...all(`details[data-language="${language}"] pre`, samples));
    const tab = made("button", { type: "button", role: "tab", textContent: language, id: `${panel.id}-tab` });
    tab.setAttribute("aria-controls", panel.id);
    panel.setAttribute("aria-labelledby", tab.id);
    tab.addEventListener("click", () => keepingPlace(tab, () => choose(language)));
    tabs.append(tab);
    return panel;
  });
  tabs.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const buttons = all("[role=tab]", tabs);
    const next = buttons[(buttons.indexOf(event.target) + step + buttons.length) % buttons.length];
    next.click();
    next.focus();
  });
  samples.replaceChildren(tabs, ...panels);
}

// Other samples on the page change their height too: what was clicked stays where it is.
function keepingPlace(element, change) {
  const before = element.getBoundingClientRect().top;
  change();
  scrollBy({ top: element.getBoundingClientRect().top - before, behavior: "instant" });
}

// --- samples: this gateway's address and the credentials above. Secrets are dots until they are copied.

const credentials = one("#credentials");
const sources = new Map(all(".samples pre code").map((code) => [code, code.textContent]));
const PLAIN = /^[\w.~@%+=:,/-]+$/; // needs no quotation marks in any of the languages

function personal(source, withSecrets) {
  let text = source.replaceAll(credentials.dataset.base, location.origin);
  for (const { type, value, dataset } of all("input", credentials)) {
    const shown = type === "password" && !withSecrets ? "••••••••" : value;
    if (PLAIN.test(value)) text = text.replaceAll(dataset.sample, () => shown);
  }
  return text;
}

function personalise() {
  for (const [code, source] of sources) code.textContent = personal(source, false);
}

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // without HTTPS a page has no clipboard
    const area = made("textarea", { value: text });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    button.focus();
  }
  button.textContent = "Copied";
  setTimeout(() => (button.textContent = "Copy"), 2000);
}

function withCopy(pre) {
  const code = one("code", pre);
  const button = made("button", { type: "button", textContent: "Copy" });
  button.addEventListener("click", () => copy(sources.has(code) ? personal(sources.get(code), true) : code.textContent, button));
  const box = made("div", { className: "copyable" });
  pre.replaceWith(box);
  box.append(pre, button);
  return box;
}

// --- search: sections, and the fields and errors in them, that have all words

const found = [
  ...all("main section").map((section) => {
    const heading = one("h2", section);
    return { title: heading.textContent, id: heading.id, text: `${heading.textContent} ${one("p", section)?.textContent ?? ""}` };
  }),
  ...all("main tbody tr").map((row) => {
    const section = row.closest("section");
    const heading = section ? one("h2", section) : one("h1");
    row.id ||= `row-${heading.id}-${[...row.parentElement.children].indexOf(row)}-${row.cells[0].textContent.trim()}`;
    return { title: `${row.cells[0].textContent.trim()} (${heading.textContent})`, id: row.id, text: row.textContent };
  }),
].map((each) => ({ ...each, text: each.text.toLowerCase(), name: each.title.toLowerCase() }));

const MOST_HITS = 40;

function search(words) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = found
    .filter((each) => wanted.every((word) => each.text.includes(word) || each.name.includes(word)))
    .map((each) => ({ ...each, rank: wanted.filter((word) => each.name.includes(word)).length }))
    .sort((first, second) => second.rank - first.rank);
  one("#contents").hidden = wanted.length > 0;
  one("#hits").replaceChildren(
    ...(wanted.length ? hits.slice(0, MOST_HITS) : []).map((hit) =>
      made("li", {}, made("a", { href: `#${encodeURIComponent(hit.id)}`, textContent: hit.title })),
    ),
  );
  const more = hits.length > MOST_HITS ? `, the first ${MOST_HITS}` : "";
  one("#found").textContent = wanted.length ? `${hits.length || "Nothing"} found${more}` : "";
}

// --- trials: calls of this gateway with the credentials above

function target(form) {
  let path = form.dataset.path;
  const query = new URLSearchParams();
  for (const input of all("input[data-in]", form)) {
    const value = input.value.trim();
    if (input.dataset.in === "path") path = path.replace(`{${input.name}}`, encodeURIComponent(value));
    else if (value) query.append(input.name, value);
  }
  return query.size ? `${path}?${query}` : path;
}

function authorization(id) {
  const { scheme } = credentials.dataset;
  if (scheme === "Bearer") return `Bearer ${one(`#${id}`).value}`;
  const octets = new TextEncoder().encode(`${one("#user").value}:${one(`#${id}`).value}`);
  return `${scheme} ${btoa(String.fromCharCode(...octets))}`;
}

// A reference of its own for each call: a second request with another text under the same one is refused.
function renew(body) {
  const next = `try-${Math.random().toString(36).slice(2, 10)}`;
  body.value = body.value.replace(body.dataset.reference, next);
  body.dataset.reference = next;
}

async function attempt(form) {
  const method = form.dataset.method;
  const headers = {};
  if (form.dataset.secret) headers.Authorization = authorization(form.dataset.secret);
  const body = one("textarea", form)?.value;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const shown = one(".trial-answer", form);
  const button = one("button[type=submit]", form);
  button.disabled = true;
  shown.replaceChildren("Asking …");
  const begun = performance.now();
  try {
    // without the browser's own credentials, so that it never asks for some itself
    const answer = await fetch(target(form), { method, headers, body, credentials: "omit", cache: "no-store" });
    shown.replaceChildren(...(await told(answer, performance.now() - begun)));
    if (answer.ok) all("[data-reference]", form).forEach(renew);
  } catch (problem) {
    shown.replaceChildren(made("p", { className: "failed", textContent: `No answer: ${problem.message}` }));
  } finally {
    button.disabled = false;
  }
}

async function told(answer, ms) {
  const text = await answer.text();
  const line = made("p", { className: answer.ok ? "" : "failed" });
  line.append(made("strong", { textContent: `${answer.status} ${answer.statusText}` }), ` in ${Math.round(ms)} ms`);
  const names = ["x-request-id", "retry-after", "idempotency-replayed"].filter((name) => answer.headers.has(name));
  const head = names.map((name) => `${name}: ${answer.headers.get(name)}\n`).join("");
  const pre = made("pre", { tabIndex: 0 }, made("code", { textContent: `${head}\n${pretty(text)}` }));
  return [line, withCopy(pre)];
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

// --- the page

all(".samples").forEach(withTabs);
all("main pre").forEach(withCopy);
all("[data-reference]").forEach(renew);
personalise();
choose(remembered());
if (!one(".samples [aria-selected=true]")) choose("curl");

one(".search").hidden = false;
one("#search").addEventListener("input", (event) => search(event.target.value));
one("#search").addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    event.target.value = "";
    search("");
  } else if (event.key === "Enter") {
    one("#hits a")?.click();
  }
});
document.addEventListener("keydown", (event) => {
  const writing = event.target.matches("input, textarea, select");
  if (event.key !== "/" || writing || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  one("#search").focus();
});

credentials.hidden = false;
credentials.addEventListener("submit", (event) => event.preventDefault());
credentials.addEventListener("input", personalise);
for (const form of all(".trial")) {
  form.hidden = false;
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(form);
  });
}
