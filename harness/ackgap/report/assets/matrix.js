// The matrix: rows in the order of the run, columns folded to the axes shown.
const state = { off: new Set(), shown: new Set(D.shown), selected: null, columns: [], lines: [] };
const gapSets = D.gaps.map((rows) => new Set(rows));
const indexOf = new Map();
const labels = new Map();
for (let number = 0; number * 4 < D.cells.length; number++) {
  indexOf.set(D.cells[number * 4] * D.variants.length + D.cells[number * 4 + 1], number);
  labels.set(cellId(number), number);
}

function rowOf(number) { return D.cells[number * 4]; }
function variantOf(number) { return D.cells[number * 4 + 1]; }
function kindOf(number) { return D.cells[number * 4 + 2]; }
function headlineOf(number) { return D.headlines[D.cells[number * 4 + 3]]; }

/** What is to be seen of a cell besides its verdict: a rate, the cell whose state it has, an order that decides. */
function specialOf(number) { return D.special[number] || {}; }

function variantText(variant) {
  const values = D.faults.length ? D.variants[variant].slice(0, -1) : D.variants[variant];
  return values.map((value, axis) => `${D.axes[axis].name}=${D.axes[axis].values[value].name}`).join(",") || "default";
}

/** Schedule of a cell as its id has it. */
function scheduleText(number) { return specialOf(number).schedule || D.rows[rowOf(number)].label; }

/** What is done in a cell, in words: `killed`, `answer lost`. */
function faultWords(number) { return D.faults.length ? D.axes.at(-1).values[D.variants[variantOf(number)].at(-1)].name : "killed"; }

function cellId(number) { return `${scheduleText(number)}@${variantText(variantOf(number))}`; }

function columnsOf(shown) {
  const axes = D.axes.map((_, axis) => axis).filter((axis) => shown.has(D.axes[axis].name));
  const groups = new Map();
  D.variants.forEach((values, variant) => {
    const key = axes.map((axis) => values[axis]).join("/");
    if (!groups.has(key)) groups.set(key, { axes, values: axes.map((axis) => values[axis]), variants: [] });
    groups.get(key).variants.push(variant);
  });
  return [...groups.values()];
}

function merged(rows, column) {
  const members = [];
  for (const row of rows) {
    for (const variant of column.variants) {
      const number = indexOf.get(row * D.variants.length + variant);
      if (number !== undefined) members.push(number);
    }
  }
  if (!members.length) return null;
  members.sort((a, b) => D.worst.indexOf(kindOf(a)) - D.worst.indexOf(kindOf(b)) || a - b);
  return { members, kind: kindOf(members[0]), mixed: members.some((member) => kindOf(member) !== kindOf(members[0])) };
}

function drawMatrix() {
  const columns = state.columns = columnsOf(state.shown);
  state.lines = linesOf();
  const table = byId("matrix");
  const keep = document.activeElement && document.activeElement.dataset ? document.activeElement.dataset.at : null;
  table.replaceChildren(head(columns), body(columns));
  fitLabels();
  applyFilter();
  markSelected();
  const first = (keep && table.querySelector(`button.cell[data-at="${keep}"]`)) || table.querySelector("button.cell");
  if (first) { first.tabIndex = 0; if (keep) first.focus(); }
  drawHint(columns);
}

// Names are as long as the room allows: less beside an open sheet and on a narrow screen.
function fitLabels() {
  const narrow = document.body.classList.contains("open") || innerWidth < 1000;
  const room = Math.min(Math.max(8, ...D.rows.map((row) => boundaryText(row).length)), narrow ? 24 : 38);
  byId("matrix").style.setProperty("--op-width", `${room}ch`);
  for (const label of document.querySelectorAll("#matrix .op")) label.textContent = middle(label.dataset.full, room);
}

function head(columns) {
  const top = el("thead");
  const axes = columns.length ? columns[0].axes : [];
  if (!axes.length) {
    top.append(el("tr", {}, el("th", { class: "corner", scope: "col" }, D.faults.length ? "Fault at" : "Killed at"),
      el("th", { scope: "col" }, D.variants.length > 1 ? `all ${D.variants.length} variants` : "verdict")));
    return top;
  }
  let offset = 0;
  axes.forEach((axis, level) => {
    const line = el("tr");
    const about = D.axes[axis];
    line.append(el("th", { class: "axis", scope: "row" }, level === axes.length - 1 ? el("span", { class: "killed" }, D.faults.length ? "Fault at" : "Killed at") : null, about.about ? term(about.title, about.about) : about.title));
    let place = 0;
    while (place < columns.length) {
      let span = 1;
      while (place + span < columns.length && same(columns[place], columns[place + span], level)) span++;
      const value = about.values[columns[place].values[level]];
      line.append(el("th", { class: `value${edge(columns, place) ? " edge" : ""}${level === axes.length - 1 ? " last" : ""}`, scope: span > 1 ? "colgroup" : "col", colspan: span, "data-tip": value.about || null }, value.name));
      place += span;
    }
    top.append(line);
    for (const cell of line.children) cell.style.top = `${offset}px`;
    offset += 34;
  });
  return top;
}

function same(left, right, level) {
  for (let axis = 0; axis <= level; axis++) if (left.values[axis] !== right.values[axis]) return false;
  return true;
}

// A line is drawn wherever any axis but the last takes another value.
function edge(columns, place) {
  const levels = columns[0].axes.length - 2;
  return place === 0 || levels < 0 ? place === 0 : !same(columns[place - 1], columns[place], levels);
}

function boundaryText(row) { return row.plain && row.name ? `${row.name}#${row.occurrence}` : row.label; }

function body(columns) {
  const rows = el("tbody");
  let before = null;
  const last = state.lines.length - 1;
  state.lines.forEach((line, number) => {
    if (line.depth) {
      const inGap = Boolean(before && before.gap);
      const shown = el("tr", { class: `branch${inGap ? " in-gap" : ""}${number === last ? " end" : ""}` }, lineHead(line));
      columns.forEach((column, place) => shown.append(cell(line, number, column, place, edge(columns, place))));
      rows.append(shown);
      return;
    }
    const row = D.rows[line.rows[0]];
    const boundary = boundaryText(row);
    const begins = !before || boundaryText(before) !== boundary;
    const opens = row.gap && !(before && before.gap);
    const names = [row.gap && "in-gap", begins && "boundary", !row.phase && "undisturbed",
      row.phase && !(before && before.phase) && "begin", number === last && "end"];
    const shown = el("tr", { class: names.filter(Boolean).join(" ") });
    const rail = row.phase ? (row.kind === "checkpoint" ? "checkpoint" : "") + (begins ? "" : " minor") : "none";
    shown.append(el("th", { scope: "row" }, el("div", { class: "stop" },
      el("span", { class: `rail ${rail}` }),
      row.phase ? el("span", { class: `op${begins ? "" : " again"}`, title: boundary, "data-full": boundary }, boundary) : el("span", { class: "phase first" }, "undisturbed"),
      el("span", { class: "phase", "data-tip": row.phase && row.plain ? PHASES[row.phase] : null }, row.phase && row.plain ? row.phase : ""),
      el("span", { class: "gap-name" }, opens ? "acknowledgment gap" : ""))));
    columns.forEach((column, place) => shown.append(cell(line, number, column, place, edge(columns, place))));
    rows.append(shown);
    before = row;
  });
  return rows;
}

function cell(line, number, column, place, atEdge) {
  const row = D.rows[line.rows[0]], rail = railOf(line.rows[0]);
  const inGap = column.variants.some((variant) => gapSets[D.gapOf[variant]].has(rail));
  const box = el("td", { class: `${inGap ? "in-gap " : ""}${atEdge ? "edge" : ""}` });
  const found = merged(line.rows, column);
  if (!found) {
    box.append(el("span", { class: "absent", "aria-label": "no such point in this variant", "data-tip": "This variant does not pass this point, or it was not run." }, "·"));
    return box;
  }
  const verdict = D.verdicts[found.kind];
  const names = column.values.map((value, level) => D.axes[column.axes[level]].values[value].name).join(", ");
  const special = specialOf(found.members[0]), notes = line.head ? [] : specialWords(found.members);
  const look = [found.mixed && "mixed", !line.head && found.members.every((member) => specialOf(member).equal) && "equal", special.order && "order", special.rate && !line.head && "raced"];
  box.append(el("button", {
    type: "button", class: `cell ${verdict.id} ${look.filter(Boolean).join(" ")}`.trim(), tabindex: "-1", "data-at": `${number}.${place}`,
    "data-kinds": [...new Set(found.members.map(kindOf))].join(" "),
    "aria-label": `${line.head ? `${D.rows[rail].label}, ${lineWords(line)}` : row.label}${names ? `, ${names}` : ""}: ${verdict.words}${found.mixed ? " in some of the cells that stand here" : ""}${notes.map((text) => `, ${text}`).join("")}`,
    "data-tip": [headlineOf(found.members[0]), found.mixed && "The cells that stand here differ; the worst is shown.", ...notes].filter(Boolean).join("\n"),
  }, verdict.glyph, special.rate && !line.head && !found.mixed ? el("small", {}, special.rate) : null));
  return box;
}

function specialWords(members) {
  const { rate, equal, order } = specialOf(members[0]);
  return [rate && `raced: ${rate} runs`, equal && `same state as ${equal}, not run`, order && "the order of two writes decides"].filter(Boolean);
}

function applyFilter() {
  for (const button of document.querySelectorAll("button.cell")) {
    button.classList.toggle("off", button.dataset.kinds.split(" ").every((kind) => state.off.has(Number(kind))));
  }
}

function markSelected() {
  for (const button of document.querySelectorAll('button.cell[aria-selected="true"]')) button.removeAttribute("aria-selected");
  if (state.selected === null) return;
  const place = state.columns.findIndex((column) => column.variants.includes(variantOf(state.selected)));
  const row = rowOf(state.selected);
  const own = state.lines.findIndex((line) => !line.head && line.rows[0] === row);
  const line = own >= 0 ? own : state.lines.findIndex((other) => other.rows.includes(row));
  const button = document.querySelector(`button.cell[data-at="${line}.${place}"]`);
  if (button) button.setAttribute("aria-selected", "true");
}

function drawChips() {
  const counts = new Array(D.verdicts.length).fill(0);
  for (let number = 0; number * 4 < D.cells.length; number++) counts[kindOf(number)]++;
  byId("chips").replaceChildren(...D.verdicts.map((verdict, kind) => counts[kind] ? el("button", {
    type: "button", class: "chip", "aria-pressed": String(!state.off.has(kind)), "data-tip": verdict.meaning,
    on: { click: (event) => {
      if (!state.off.delete(kind)) state.off.add(kind);
      event.currentTarget.setAttribute("aria-pressed", String(!state.off.has(kind)));
      applyFilter();
    } },
  }, mark(kind), verdict.words, el("b", {}, String(counts[kind]))) : null).filter(Boolean));
}

function drawAxes() {
  const varied = D.axes.filter((axis, place) => new Set(D.variants.map((values) => values[place])).size > 1);
  if (!varied.length) return;
  byId("axes").replaceChildren(el("span", {}, "Columns by"), ...varied.map((axis) => el("button", {
    type: "button", class: "chip", "aria-pressed": String(state.shown.has(axis.name)), "data-tip": axis.about,
    on: { click: (event) => {
      if (!state.shown.delete(axis.name)) state.shown.add(axis.name);
      event.currentTarget.setAttribute("aria-pressed", String(state.shown.has(axis.name)));
      drawMatrix();
      event.target.focus();
    } },
  }, axis.title)));
}

function drawHint(columns) {
  const hint = byId("hint");
  const parts = ["Round stops are ", term("call", GLOSSARY.call), "s, square ones ", term("checkpoint", GLOSSARY.checkpoint), "s. "];
  if (D.rows.some((row) => row.gap)) parts.push("The band is the ", term("acknowledgment gap"), ", column by column. ");
  if (columns.some((column) => column.variants.length > 1)) parts.push("A column can stand for several variants; a dot in a cell says that they differ. ");
  if (steps.size) parts.push("Rows that hang below a point are crashes there with something more: a second crash in the recovery, a race, another order of writes. ");
  const seen = Object.values(D.special);
  if (seen.some((special) => special.equal)) parts.push("A dashed cell was not run: another one has the same state. ");
  if (seen.some((special) => special.order)) parts.push("An arrow says that the order of two durable writes decides. ");
  hint.replaceChildren(...parts, "Arrow keys move, Enter opens, Esc closes.");
}

// Arrow keys walk over cells that exist; the table is one stop for the Tab key.
function walk(button, key) {
  let [row, column] = button.dataset.at.split(".").map(Number);
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[key];
  if (key === "Home" || key === "End") {
    const line = button.closest("tr").querySelectorAll("button.cell");
    return line[key === "Home" ? 0 : line.length - 1];
  }
  for (;;) {
    row += step[0];
    column += step[1];
    if (row < 0 || column < 0 || row >= state.lines.length || column >= state.columns.length) return null;
    const found = document.querySelector(`button.cell[data-at="${row}.${column}"]`);
    if (found) return found;
  }
}

function focusCell(button) {
  for (const other of document.querySelectorAll('button.cell[tabindex="0"]')) other.tabIndex = -1;
  button.tabIndex = 0;
  button.focus();
}

function listenToMatrix() {
  const table = byId("matrix");
  const membersAt = (button) => {
    const [row, column] = button.dataset.at.split(".").map(Number);
    return merged(state.lines[row].rows, state.columns[column]).members;
  };
  table.addEventListener("click", (event) => {
    const button = event.target.closest("button.cell");
    if (button) open(membersAt(button)[0], membersAt(button));
  });
  table.addEventListener("keydown", (event) => {
    const button = event.target.closest("button.cell");
    if (!button || !/^(Arrow|Home|End)/.test(event.key) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const next = walk(button, event.key);
    if (!next) return;
    focusCell(next);
  });
}
