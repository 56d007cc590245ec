// Small helpers. Everything that came from a run goes through textContent or setAttribute, never through markup.
const byId = (id) => document.getElementById(id);

function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
  return node;
}

function mark(kind, big) {
  return el("span", { class: `mark ${D.verdicts[kind].id}${big ? " big" : ""}`, "aria-hidden": "true" }, D.verdicts[kind].glyph);
}

function term(text, meaning) {
  return el("span", { class: "term", tabindex: "0", "data-tip": meaning || GLOSSARY[text] || "" }, text);
}

function plural(count, one, many) {
  return `${count} ${count === 1 ? one : many || `${one}s`}`;
}

function short(text, length) {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

const LONG_WORDS = 220;

/** Announce to whoever listens; the same words twice are said twice. */
function say(text) {
  const said = byId("said");
  said.textContent = said.textContent === text ? `${text}\u00a0` : text;
}

/** A text, of which only the beginning is shown until the rest is asked for. */
function clipped(text, most = 1200) {
  if (text.length <= most * 1.2) return [text];
  const place = el("span", {}, `${text.slice(0, most)}… `);
  place.append(el("button", { type: "button", class: "link", on: { click: () => place.replaceChildren(text) } }, `all ${text.length.toLocaleString("en")} characters`));
  return [place];
}

// The end of a boundary's name tells it apart from its neighbours, so names are cut in the middle.
function middle(text, length) {
  if (text.length <= length) return text;
  const head = Math.floor((length - 1) / 3);
  return `${text.slice(0, head)}…${text.slice(text.length - (length - 1 - head))}`;
}

async function copy(text, button) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // A page opened from a file may have no clipboard; the old way still works there.
    const area = el("textarea", { class: "hidden" }, text);
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  button.textContent = "Copied";
  say("Copied");
  setTimeout(() => { button.textContent = before; }, 1600);
}

function command(text) {
  if (!text) return null;
  const button = el("button", { type: "button", class: "quiet" }, "Copy");
  button.addEventListener("click", () => copy(text, button));
  return el("div", { class: "command" }, el("code", {}, text), button);
}

// Tooltips: on hover and on keyboard focus, one element for all of them.
function tooltips() {
  const tip = byId("tip");
  const hide = () => { tip.hidden = true; };
  const show = (event) => {
    const owner = event.target instanceof Element && event.target.closest("[data-tip]");
    if (!owner || !owner.dataset.tip) return hide();
    tip.textContent = owner.dataset.tip;
    tip.hidden = false;
    owner.setAttribute("aria-describedby", "tip");
    const box = owner.getBoundingClientRect();
    const width = tip.offsetWidth, height = tip.offsetHeight;
    tip.style.left = `${Math.max(8, Math.min(innerWidth - width - 8, box.left + box.width / 2 - width / 2))}px`;
    tip.style.top = `${box.top - height - 8 < 4 ? box.bottom + 8 : box.top - height - 8}px`;
  };
  document.addEventListener("mouseover", show);
  document.addEventListener("focusin", show);
  document.addEventListener("focusout", hide);
  document.addEventListener("scroll", hide, true);
}

const GLOSSARY = {
  "acknowledgment gap": "From the moment an effect is real until the worker's durable state says so. A crash in here leaves an effect that nobody has written down.",
  call: "A request from the worker to an outside service.",
  checkpoint: "A durable write by the worker or its engine: what the next life can know.",
  life: "One run of the worker's process. After a kill it is started again: that is the next life.",
  ledger: "What the services counted, kept outside the worker. Verdicts rest on it, never on the worker's own account.",
  variant: "One combination of the settings that were varied.",
  effect: "A change of the outside world: a ticket that exists, a message that was sent.",
  "idempotency key": "A name the worker gives to a request, so that the service can recognise the same request when it comes again.",
};

const PHASES = {
  sending: "about to send: nothing has left the worker",
  received: "the service has the whole request and has done nothing yet",
  applied: "the effect is real, no answer has been sent",
  stream_begun: "the first part of a streamed answer has been sent",
  stream_half: "half of a streamed answer has been sent",
  stream_whole: "all of a streamed answer but its end has been sent",
  returned: "the whole answer has reached the worker",
  committing: "about to write its durable state",
  committed: "the durable state has been written",
};
