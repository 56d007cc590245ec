// Which cells are shown: by verdict, operation, fault, values of the axes, and words.
const OPERATIONS = new Map();
for (const kind of ["call", "checkpoint"]) for (const row of D.rows) if (row.name && row.kind === kind) OPERATIONS.set(row.name, kind);
for (const names of Object.values(D.touched)) for (const name of names) if (!OPERATIONS.has(name)) OPERATIONS.set(name, "call");

/** What is done in a cell besides where: the fault of its column, and what its row adds to that. */
function faultsOf(number) {
  const words = D.rows[rowOf(number)].phase ? [faultWords(number)] : ["undisturbed"];
  for (let row = rowOf(number); D.rows[row].parent !== null; row = D.rows[row].parent) {
    const step = D.rows[row].step;
    words.push(/^unsettled/.test(step) ? "raced" : /order/.test(step) ? "writes in another order" : step);
  }
  return words;
}

const FAULTS = new Set();
for (let number = 0; number * 4 < D.cells.length; number++) for (const words of faultsOf(number)) FAULTS.add(words);

const texts = [];
function textOf(number) {
  return texts[number] ??= `${cellId(number)} ${D.verdicts[kindOf(number)].words} ${headlineOf(number)} ${faultsOf(number).join(" ")} ${(D.touched[number] || []).join(" ")}`.toLowerCase();
}

/** Whether a cell passes all filters but that of verdicts, for which the chips count. */
function passes(number, query) {
  const row = D.rows[rowOf(number)];
  if (state.operation && row.name !== state.operation && !(D.touched[number] || []).includes(state.operation)) return false;
  if (state.fault && !faultsOf(number).includes(state.fault)) return false;
  const values = D.variants[variantOf(number)];
  for (const [axis, value] of state.values) if (values[axis] !== value) return false;
  return query.every((word) => textOf(number).includes(word));
}

function filtered() { return Boolean(state.query || state.operation || state.fault || state.values.size || state.off.size); }

function refilter() {
  const counts = new Array(D.verdicts.length).fill(0);
  const query = state.query.toLowerCase().split(/\s+/).filter(Boolean);
  state.match = new Uint8Array(D.cells.length / 4);
  state.kept = filtered() ? new Set() : null;
  let shown = 0;
  for (let number = 0; number < state.match.length; number++) {
    if (!passes(number, query)) continue;
    counts[kindOf(number)]++;
    if (state.off.has(kindOf(number))) continue;
    state.match[number] = 1;
    shown++;
    if (state.kept) for (let row = rowOf(number); row !== null && !state.kept.has(row); row = D.rows[row].parent) state.kept.add(row);
  }
  for (const chip of byId("chips").children) {
    const kind = Number(chip.dataset.kind);
    chip.setAttribute("aria-pressed", String(!state.off.has(kind)));
    chip.querySelector("b").textContent = String(counts[kind]);
  }
  for (const field of byId("find").querySelectorAll("select")) field.value = field.read();
  if (document.activeElement !== byId("search")) byId("search").value = state.query;
  byId("clear").hidden = !filtered();
  const text = filtered() ? `${shown} of ${plural(state.match.length, "cell")}` : "";
  byId("count").textContent = text;
  byId("more").dataset.active = String([state.operation, state.fault].filter(Boolean).length + state.values.size || "");
  drawMatrix();
  return text;
}

let speaking = 0;
function filterChanged() {
  const text = refilter();
  writeAddress();
  clearTimeout(speaking);
  speaking = setTimeout(() => say(text || "All cells are shown"), 400);
}

function clearFilters() {
  Object.assign(state, { query: "", operation: "", fault: "", off: new Set(), values: new Map() });
  byId("search").value = "";
  filterChanged();
}

function drawChips() {
  const present = new Set();
  for (let number = 0; number * 4 < D.cells.length; number++) present.add(kindOf(number));
  byId("chips").replaceChildren(...D.verdicts.map((verdict, kind) => present.has(kind) ? el("button", {
    type: "button", class: "chip", "data-kind": kind, "aria-pressed": "true", "data-tip": `${verdict.meaning}\nClick to hide or show.`,
    on: { click: () => { if (!state.off.delete(kind)) state.off.add(kind); filterChanged(); } },
  }, mark(kind), verdict.words, el("b", {})) : null).filter(Boolean));
}

function choice(title, options, read, write) {
  const field = el("select", { on: { change: (event) => { write(event.target.value); filterChanged(); } } }, el("option", { value: "" }, "all"), options);
  field.read = read;
  return el("label", {}, el("span", {}, title), field);
}

function option(value, text) { return el("option", { value }, text ?? value); }

function drawFind() {
  const choices = [];
  const grouped = ["call", "checkpoint"].map((kind) => [kind, [...OPERATIONS].filter(([, each]) => each === kind).map(([name]) => option(name))]).filter(([, each]) => each.length);
  if (OPERATIONS.size > 1) choices.push(choice("Operation", grouped.map(([kind, each]) => el("optgroup", { label: `${kind}s` }, each)), () => state.operation, (value) => { state.operation = value; }));
  if (FAULTS.size > 1) choices.push(choice("Fault", [...FAULTS].map((words) => option(words)), () => state.fault, (value) => { state.fault = value; }));
  const last = D.faults.length ? D.axes.length - 1 : D.axes.length;
  D.axes.slice(0, last).forEach((axis, place) => {
    const used = [...new Set(D.variants.map((values) => values[place]))];
    if (used.length > 1) choices.push(choice(axis.title, used.map((value) => option(String(value), axis.values[value].name)), () => String(state.values.get(place) ?? ""), (value) => {
      if (value === "") state.values.delete(place);
      else state.values.set(place, Number(value));
    }));
  });
  let waiting = 0;
  const search = el("input", { id: "search", type: "search", placeholder: "Search cells", autocomplete: "off", spellcheck: "false", "aria-label": "Search cells", "aria-keyshortcuts": "/", on: {
    input: (event) => { clearTimeout(waiting); waiting = setTimeout(() => { state.query = event.target.value.trim(); filterChanged(); }, 120); },
    keydown: (event) => {
      if (event.key === "Enter" || event.key === "ArrowDown") {
        event.preventDefault();
        clearTimeout(waiting);
        if (state.query !== event.target.value.trim()) { state.query = event.target.value.trim(); filterChanged(); }
        focusFirst();
      }
    },
  } });
  const panel = el("div", { class: "choices", id: "choices", hidden: true }, choices);
  const more = el("button", { type: "button", class: "chip plain", id: "more", "aria-expanded": "false", "aria-controls": "choices", on: { click: () => showChoices(panel.hidden) } }, "Filter");
  if (!choices.length) more.hidden = true;
  byId("find").hidden = false;
  byId("find").replaceChildren(el("div", { class: "field" }, search, el("kbd", { "aria-hidden": "true" }, "/")), more, ...axisChips(),
    el("span", { class: "count" }, el("span", { id: "count" }), " ", el("button", { type: "button", class: "link", id: "clear", hidden: true, on: { click: () => { clearFilters(); byId("search").focus(); } } }, "Show all")), panel);
}

function showChoices(shown) {
  byId("choices").hidden = !shown;
  byId("more").setAttribute("aria-expanded", String(shown));
}

/** Buttons that fold columns to the axes chosen. */
function axisChips() {
  const varied = D.axes.filter((axis, place) => new Set(D.variants.map((values) => values[place])).size > 1);
  if (!varied.length) return [];
  return [el("span", { class: "axes", role: "group", "aria-label": "Axes shown as columns" }, el("span", {}, "Columns by"), varied.map((axis) => el("button", {
    type: "button", class: "chip plain", "aria-pressed": String(state.shown.has(axis.name)), "data-tip": axis.about || null,
    on: { click: (event) => {
      if (!state.shown.delete(axis.name)) state.shown.add(axis.name);
      event.currentTarget.setAttribute("aria-pressed", String(state.shown.has(axis.name)));
      drawMatrix();
    } },
  }, axis.title)))];
}
