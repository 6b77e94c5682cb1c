// The console without a framework: pieces of pages that refresh themselves, a quote as one types, the theme, copying.
"use strict";

(function () {
  const root = document.documentElement;

  async function piece(url, options) {
    const answer = await fetch(url, { ...options, headers: { "X-Piece": "1" }, credentials: "same-origin" });
    if (answer.status === 401) location.reload();
    return answer.ok ? answer.text() : null;
  }

  // [data-refresh]: its content is fetched anew every so many milliseconds, until `data-until` matches in it. While
  // somebody is in it, with the focus, a button held down or something ticked, it stays: what is swapped under a press is
  // not clicked.
  // Where no answer comes, or none of use, it is marked as old, and a line above says since when.
  for (const part of document.querySelectorAll("[data-refresh]")) {
    const used = () => part.contains(document.activeElement) || part.matches(":active") || part.querySelector(":checked") || document.querySelector("dialog[open]");
    const warning = document.createElement("p");
    warning.className = "trouble";
    warning.setAttribute("role", "alert");
    let seen = new Date();
    const show = (fresh) => {
      if (fresh) {
        seen = new Date();
        warning.remove();
      } else if (!warning.isConnected) {
        warning.textContent = `The gateway gives no answer. What stands here is of ${seen.toLocaleTimeString()}.`;
        part.before(warning);
      }
      part.classList.toggle("stale", !fresh);
    };
    const later = () => {
      if (!part.dataset.until || !part.querySelector(part.dataset.until)) setTimeout(again, Number(part.dataset.every));
    };
    const again = async () => {
      if (!document.hidden && !used()) {
        try {
          const html = await piece(part.dataset.refresh);
          if (html !== null && !used()) part.innerHTML = html;
          show(html !== null);
        } catch {
          show(false);
        }
      }
      later();
    };
    later();
  }

  // [data-load]: its content is fetched once, after the page. The event `loaded` tells other scripts of it.
  for (const part of document.querySelectorAll("[data-load]")) {
    const load = async () => {
      const html = await piece(part.dataset.load).catch(() => null);
      part.removeAttribute("aria-busy");
      if (html === null) part.innerHTML = '<div class="trouble" role="alert">The gateway gives no figures. Reload the page to try again.</div>';
      else part.innerHTML = html;
      part.dispatchEvent(new CustomEvent("loaded", { bubbles: true }));
    };
    load();
  }

  // form[data-quote]: what is typed is posted there, and the answer stands in `data-target`.
  for (const form of document.querySelectorAll("form[data-quote]")) {
    const target = document.querySelector(form.dataset.target);
    let timer = 0;
    let asked = 0;
    const ask = async () => {
      const mine = ++asked;
      const html = await piece(form.dataset.quote, { method: "POST", body: new URLSearchParams(new FormData(form)) });
      if (html !== null && mine === asked) target.innerHTML = html;
    };
    const later = () => {
      clearTimeout(timer);
      timer = setTimeout(() => ask().catch(() => {}), 250);
    };
    form.addEventListener("input", later);
    form.addEventListener("change", later);
  }

  // [data-suggest]: the search is a combobox. Suggestions come once typing pauses; the arrow keys go along them, Enter
  // opens the chosen one, and searches for the text if none is chosen.
  const list = document.querySelector("[data-suggest]");
  if (list) {
    const field = document.getElementById("find");
    const told = document.querySelector("[data-suggested]");
    const PAUSE_MS = 250;
    const FEWEST = 2;
    let timer = 0;
    let asked = 0;
    let chosen = -1;
    const choose = (at) => {
      chosen = at;
      [...list.children].forEach((each, index) => each.setAttribute("aria-selected", String(index === at)));
      if (at < 0) field.removeAttribute("aria-activedescendant");
      else {
        field.setAttribute("aria-activedescendant", list.children[at].id);
        list.children[at].scrollIntoView({ block: "nearest" });
      }
    };
    const show = (open) => {
      list.hidden = !open;
      field.setAttribute("aria-expanded", String(open));
      if (!open) choose(-1);
    };
    const hide = () => {
      clearTimeout(timer);
      asked++;
      show(false);
    };
    const ask = async () => {
      const mine = ++asked;
      const html = await piece(`${list.dataset.suggest}?q=${encodeURIComponent(field.value.trim())}`);
      if (html === null || mine !== asked || document.activeElement !== field) return;
      list.innerHTML = html;
      const count = list.children.length;
      told.textContent = count ? `${count} suggestion${count === 1 ? "" : "s"}` : "";
      choose(-1);
      show(count > 0);
    };
    for (const [name, value] of Object.entries({
      role: "combobox", "aria-expanded": "false", "aria-controls": list.id, "aria-autocomplete": "list",
    })) field.setAttribute(name, value);
    field.addEventListener("input", () => {
      clearTimeout(timer);
      if (field.value.trim().length < FEWEST) hide();
      else timer = setTimeout(() => ask().catch(hide), PAUSE_MS);
    });
    field.addEventListener("keydown", (event) => {
      if (list.hidden || event.isComposing) return;
      const count = list.children.length;
      if (event.key === "ArrowDown") choose(chosen + 1 < count ? chosen + 1 : -1);
      else if (event.key === "ArrowUp") choose(chosen < 0 ? count - 1 : chosen - 1);
      else if (event.key === "Enter" && chosen >= 0) location.assign(list.children[chosen].dataset.href);
      else if (event.key === "Escape") hide();
      else return;
      event.preventDefault();
    });
    field.addEventListener("blur", hide);
    list.addEventListener("mousedown", (event) => event.preventDefault()); // the field keeps the focus
    list.addEventListener("click", (event) => {
      const option = event.target.closest("[role=option]");
      if (option) location.assign(option.dataset.href);
    });
  }

  // input[data-into]: the text of a chosen file goes into a field. A file in another encoding than UTF-8, or UTF-16 with
  // its mark, is refused, because wrong letters would be sent to phones.
  const encodingOf = (octets) => ({ "255,254": "utf-16le", "254,255": "utf-16be" })[octets.slice(0, 2)] ?? "utf-8";
  for (const input of document.querySelectorAll("input[data-into]")) {
    input.addEventListener("change", async () => {
      const field = document.querySelector(input.dataset.into);
      if (!input.files.length) return;
      let problem = "";
      try {
        const octets = new Uint8Array(await input.files[0].arrayBuffer());
        field.value = new TextDecoder(encodingOf(octets), { fatal: true }).decode(octets);
      } catch {
        field.value = input.value = ""; // the same file, saved again, can then be chosen again
        problem = "The file is not UTF-8. Save it as “CSV UTF-8”, as Excel calls it.";
      }
      field.dispatchEvent(new Event("input", { bubbles: true }));
      field.setCustomValidity(problem);
      if (problem) field.reportValidity();
    });
    document.querySelector(input.dataset.into).addEventListener("input", ({ target }) => target.setCustomValidity(""));
  }

  // [data-selects]: ticks all fields of that name; [data-submits]: what is changed there is asked for at once.
  document.addEventListener("change", (event) => {
    const { selects, submits } = event.target.dataset;
    if (selects) for (const box of document.getElementsByName(selects)) box.checked = event.target.checked;
    if (submits !== undefined) event.target.form.requestSubmit();
  });

  // input[data-narrows]: shows only the settings with the typed words in their names, meanings or group, and the groups
  // that have such settings. Without a script the input is hidden.
  for (const input of document.querySelectorAll("input[data-narrows]")) {
    const within = document.querySelector(input.dataset.narrows);
    const none = input.parentElement.nextElementSibling;
    const plain = (text) => text.toLowerCase().replaceAll("_", " ");
    const settings = [...within.querySelectorAll(".field, .facts > div")].map((each) => {
      const group = each.closest("fieldset, details, section");
      const title = within.contains(group) ? group.querySelector("legend, summary, h3").textContent : "";
      const parts = [...each.querySelectorAll("label, .hint, dt, dd")].map((part) => part.textContent);
      return [each, plain([...parts, each.querySelector("[name]")?.name, title].join(" "))];
    });
    const groups = [...within.querySelectorAll("fieldset, details, section")];
    const opened = new Set(groups.filter((each) => each.open));
    const narrow = () => {
      const words = plain(input.value).split(/\s+/).filter(Boolean);
      for (const [each, text] of settings) each.hidden = !words.every((word) => text.includes(word));
      for (const each of groups) {
        each.hidden = !settings.some(([setting]) => each.contains(setting) && !setting.hidden);
        if (each.tagName === "DETAILS") each.open = words.length ? !each.hidden : opened.has(each);
      }
      none.hidden = settings.some(([each]) => !each.hidden);
    };
    input.addEventListener("input", narrow);
    // A wrong value in a hidden field would keep the form from being sent, without a word.
    within.addEventListener("invalid", () => { input.value = ""; narrow(); }, true);
    input.parentElement.hidden = false;
  }

  // form[data-confirm]: a dialog asks first, and shows what is at stake: the row of the table, the rows that are ticked,
  // or [data-stake], an object of titles and texts.
  const dialog = document.getElementById("confirm");
  const stake = (form) => {
    if (form.dataset.stake) return Object.entries(JSON.parse(form.dataset.stake)).filter(([, text]) => text !== "0");
    const ticked = [...form.elements].filter((each) => each.type === "checkbox" && each.name && each.checked);
    const row = form.closest("tr");
    if (ticked.length) return [["Selected", ticked.length]];
    if (!row) return [];
    const titles = [...row.closest("table").querySelectorAll("thead th")].map((each) => each.textContent);
    return [...row.cells]
      .filter((cell) => !cell.querySelector("form, input"))
      .map((cell) => [titles[cell.cellIndex], cell.innerText.trim()])
      .filter(([title, text]) => title && text);
  };
  document.addEventListener("submit", (event) => {
    const form = event.target;
    const question = form.dataset.confirm;
    if (!question || "confirmed" in form.dataset) return;
    event.preventDefault();
    const button = event.submitter;
    const yes = dialog.querySelector("[value=yes]");
    dialog.querySelector("h2").textContent = question;
    yes.textContent = button.textContent;
    yes.classList.toggle("danger", button.classList.contains("danger"));
    yes.classList.toggle("primary", !button.classList.contains("danger"));
    dialog.querySelector("dl").replaceChildren(...stake(form).map(([title, text]) => {
      const part = document.createElement("div");
      part.append(
        Object.assign(document.createElement("dt"), { textContent: title }),
        Object.assign(document.createElement("dd"), { textContent: text }),
      );
      return part;
    }));
    dialog.returnValue = "";
    dialog.onclose = () => {
      if (dialog.returnValue !== "yes") return;
      form.dataset.confirmed = "";
      form.requestSubmit(button);
      delete form.dataset.confirmed;
    };
    dialog.showModal();
  });

  const octets = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (each) => each.charCodeAt(0));
  const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

  // what the browser takes has octets where JSON has text
  const passkey = async (options) => {
    const asked = options.publicKey;
    asked.challenge = octets(asked.challenge);
    for (const each of [...(asked.allowCredentials || []), ...(asked.excludeCredentials || [])]) each.id = octets(each.id);
    if (asked.user) asked.user.id = octets(asked.user.id);
    const found = await (asked.user ? navigator.credentials.create(options) : navigator.credentials.get(options));
    const response = {};
    for (const name of ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"])
      if (found.response[name]) response[name] = text(found.response[name]);
    return { id: found.id, rawId: text(found.rawId), type: found.type, response };
  };

  document.addEventListener("click", async (event) => {
    const ask = event.target.closest("[data-passkey-ask]");
    if (!ask) return;
    const form = ask.closest("form");
    const problem = form.querySelector("[data-passkey-problem]");
    problem.hidden = true;
    try {
      if (!navigator.credentials) throw new Error("This browser uses passkeys on pages with HTTPS only.");
      form.elements.passkey.value = JSON.stringify(await passkey(JSON.parse(form.dataset.passkey)));
      form.requestSubmit();
    } catch (error) {
      problem.textContent = error.name === "InvalidStateError" ? "That device has a passkey for you already." : error.message;
      problem.hidden = false;
    }
  });

  document.addEventListener("click", async (event) => {
    const copy = event.target.closest("[data-copy]");
    if (copy) {
      await navigator.clipboard.writeText(document.querySelector(copy.dataset.copy).textContent);
      const before = copy.textContent;
      copy.textContent = "Copied";
      setTimeout(() => { copy.textContent = before; }, 1500);
    }
  });

  // The menu is longer than some screens: the current page is in sight.
  const current = document.querySelector(".side [aria-current]");
  if (current) {
    const side = current.closest(".side");
    side.scrollTop = current.offsetTop - side.clientHeight / 2;
  }

  // [data-attention]: numbers of things that need somebody, by the paths of the menu's pages.
  const pages = document.querySelector("[data-attention]");
  if (pages) {
    const count = async () => {
      const found = document.hidden ? null : await piece(pages.dataset.attention).catch(() => null);
      const numbers = found === null ? null : JSON.parse(found);
      for (const link of numbers ? pages.querySelectorAll("a") : []) {
        link.querySelector(".count")?.remove();
        const number = numbers[link.getAttribute("href")];
        if (!number) continue;
        const shown = Object.assign(document.createElement("span"), { className: "count", textContent: number });
        shown.append(Object.assign(document.createElement("span"), { className: "visually-hidden", textContent: " need attention" }));
        link.append(" ", shown);
      }
      setTimeout(count, 15000);
    };
    count();
  }

  const menu = document.querySelector("[data-menu]");
  if (menu) {
    const side = document.getElementById(menu.getAttribute("aria-controls"));
    const show = (open) => {
      side.classList.toggle("open", open);
      menu.setAttribute("aria-expanded", String(open));
    };
    menu.addEventListener("click", () => show(menu.getAttribute("aria-expanded") !== "true"));
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && side.classList.contains("open")) {
        show(false);
        menu.focus();
      }
    });
  }

  // The theme: kept in a cookie, so that pages come in it at once.
  const theme = document.querySelector("[data-theme-form] select");
  if (theme) {
    theme.addEventListener("change", () => {
      const secure = location.protocol === "https:" ? "; Secure" : "";
      const age = theme.value ? 31536000 : 0;
      document.cookie = `heliograph_theme=${theme.value}; Path=/console; Max-Age=${age}; SameSite=Strict${secure}`;
      if (theme.value) root.dataset.theme = theme.value;
      else delete root.dataset.theme;
    });
  }

  root.classList.add("script");
  const trouble = document.getElementById("trouble");
  if (trouble) trouble.focus();
})();
