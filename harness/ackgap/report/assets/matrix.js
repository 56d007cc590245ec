// The matrix: rows in the order of the run, columns folded to the axes shown.
const state = { off: new Set(), shown: new Set(D.shown), query: "", operation: "", fault: "", values: new Map(), match: null, kept: null, selected: null, members: [], columns: [], lines: [] };
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
    for (const [axis, value] of state.values) if (values[axis] !== value) return;
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
  // What the filters leave comes first; where they leave nothing, the cell is shown faintly.
  members.sort((a, b) => state.match[b] - state.match[a] || D.worst.indexOf(kindOf(a)) - D.worst.indexOf(kindOf(b)) || a - b);
  return { members, kind: kindOf(members[0]), off: !state.match[members[0]], mixed: members.some((member) => kindOf(member) !== kindOf(members[0])) };
}

function drawMatrix() {
  const table = byId("matrix"), focused = document.activeElement?.closest?.("#matrix button.cell");
  const kept = focused ? focused.dataset.number : null;
  state.columns = columnsOf(state.shown);
  state.lines = dressed(linesOf());
  table.replaceChildren(head(state.columns));
  drawLines();
  if (kept !== null) focusCell(buttonOf(Number(kept)) || table.querySelector("button.cell"));
  drawHint(state.columns);
}

// What a line shows follows from those before it: whose name is written, where the rail begins and the gap opens.
function dressed(lines) {
  let before = null, inGap = false;
  lines.forEach((line, number) => {
    const row = D.rows[line.rows[0]];
    line.last = number === lines.length - 1;
    if (line.depth) { line.inGap = inGap; return; }
    line.begins = !before || boundaryText(before) !== boundaryText(row);
    line.opens = row.gap && !(before && before.gap);
    line.first = Boolean(row.phase) && !(before && before.phase);
    line.inGap = inGap = Boolean(row.gap);
    before = row;
  });
  return lines;
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

function drawLine(number) {
  const line = state.lines[number], row = D.rows[line.rows[0]];
  const cells = state.columns.map((column, place) => cell(line, number, column, place, edge(state.columns, place)));
  const names = line.depth ? ["branch"] : [line.begins && "boundary", !row.phase && "undisturbed", line.first && "begin"];
  const shown = el("tr", { class: [...names, line.inGap && "in-gap", line.last && "end"].filter(Boolean).join(" "), "aria-rowindex": number + 1 + byId("matrix").tHead.rows.length });
  shown.append(line.depth ? lineHead(line) : railHead(line, row), ...cells);
  return shown;
}

function railHead(line, row) {
  const boundary = boundaryText(row);
  const rail = row.phase ? (row.kind === "checkpoint" ? "checkpoint" : "") + (line.begins ? "" : " minor") : "none";
  return el("th", { scope: "row" }, el("div", { class: "stop" },
    el("span", { class: `rail ${rail}` }),
    row.phase ? el("span", { class: `op${line.begins ? "" : " again"}`, title: boundary, "data-full": boundary }, boundary) : el("span", { class: "phase first" }, "undisturbed"),
    el("span", { class: "phase", "data-tip": row.phase && row.plain ? PHASES[row.phase] : null }, row.phase && row.plain ? row.phase : ""),
    el("span", { class: "gap-name" }, line.opens ? "acknowledgment gap" : "")));
}

function cell(line, number, column, place, atEdge) {
  const row = D.rows[line.rows[0]], rail = railOf(line.rows[0]);
  const inGap = column.variants.some((variant) => gapSets[D.gapOf[variant]].has(rail));
  const box = el("td", { class: `${inGap ? "in-gap " : ""}${atEdge ? "edge" : ""}` });
  const found = merged(line.rows, column);
  if (!found) {
    box.append(el("span", { class: "absent", "data-tip": "This variant does not pass this point, or it was not run." }, el("span", { "aria-hidden": "true" }, "·"), el("span", { class: "hidden" }, "not run")));
    return box;
  }
  const verdict = D.verdicts[found.kind];
  const names = column.values.map((value, level) => D.axes[column.axes[level]].values[value].name).join(", ");
  const special = specialOf(found.members[0]), notes = line.head ? [] : specialWords(found.members);
  const look = [found.mixed && "mixed", !line.head && found.members.every((member) => specialOf(member).equal) && "equal", special.order && "order", special.gap && !line.head && "declared", special.rate && !line.head && "raced", found.off && "off"];
  box.append(el("button", {
    type: "button", class: `cell ${verdict.id} ${look.filter(Boolean).join(" ")}`.trim(), tabindex: "-1", "data-at": `${number}.${place}`,
    "data-number": found.members[0],
    "aria-label": `${line.head ? `${D.rows[rail].label}, ${lineWords(line)}` : row.label}${names ? `, ${names}` : ""}: ${verdict.words}${found.mixed ? " in some of the cells that stand here" : ""}${notes.map((text) => `, ${text}`).join("")}`,
    "data-tip": [short(headlineOf(found.members[0]), LONG_WORDS), found.mixed && "The cells that stand here differ; the worst is shown.", ...notes].filter(Boolean).join("\n"),
  }, verdict.glyph, special.rate && !line.head && !found.mixed ? el("small", {}, special.rate) : null));
  return box;
}

function specialWords(members) {
  const { rate, equal, order, gap } = specialOf(members[0]);
  return [rate && `raced: ${rate} runs`, equal && `same state as ${equal}, not run`, order && "the order of two writes decides", gap].filter(Boolean);
}

/** Line and column in which a cell stands. */
function placeOf(number) {
  const row = rowOf(number), own = state.lines.findIndex((line) => !line.head && line.rows[0] === row);
  return [own >= 0 ? own : state.lines.findIndex((line) => line.rows.includes(row)), state.columns.findIndex((column) => column.variants.includes(variantOf(number)))];
}

function buttonOf(number) { return buttonAt(...placeOf(number)); }

function markSelected() {
  for (const button of document.querySelectorAll('button.cell[aria-current="true"]')) button.removeAttribute("aria-current");
  if (state.selected === null) return;
  const [line, column] = placeOf(state.selected);
  const button = drawn.get(line)?.querySelector(`button.cell[data-at="${line}.${column}"]`);
  if (button) button.setAttribute("aria-current", "true");
}

function drawHint(columns) {
  const hint = byId("hint");
  const parts = ["Round stops are ", term("call", GLOSSARY.call), "s, square ones ", term("checkpoint", GLOSSARY.checkpoint), "s. "];
  if (D.rows.some((row) => row.gap)) parts.push("The band is the ", term("acknowledgment gap"), ", column by column. ");
  if (columns.some((column) => column.variants.length > 1)) parts.push("A column can stand for several variants; a dot in a cell says that they differ. ");
  if (steps.size) parts.push("Rows that hang below a point are crashes there with something more: a second crash in the recovery, a race, another order of writes. ");
  const seen = Object.values(D.special);
  if (seen.some((special) => special.equal)) parts.push("A dashed cell was not run: another one has the same state. ");
  if (seen.some((special) => special.gap)) parts.push("A cell with a bar below is a known gap, as the scenario declares it. ");
  if (seen.some((special) => special.order)) parts.push("An arrow says that the order of two durable writes decides. ");
  hint.replaceChildren(...parts, "Arrow keys move, Enter opens, Esc closes, ? tells more.");
}

// Arrow keys walk over cells that exist; the table is one stop for the Tab key.
function walk([row, column], key) {
  const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[key];
  for (;;) {
    row += step[0];
    column += step[1];
    if (row < 0 || column < 0 || row >= state.lines.length || column >= state.columns.length) return null;
    const found = merged(state.lines[row].rows, state.columns[column]);
    if (found) return [row, column];
  }
}

/** Where a key leads from a place: to a neighbour, an end of the line, a page further, a corner of the matrix. */
function leadsTo(place, event) {
  const [row, column] = place;
  if (event.key.startsWith("Arrow")) return walk(place, event.key);
  if (event.key.startsWith("Page")) {
    const far = Math.max(1, Math.floor(byId("card").clientHeight / lineHeight()) - 3), line = Math.min(state.lines.length - 1, Math.max(0, row + (event.key === "PageDown" ? far : -far)));
    return merged(state.lines[line].rows, state.columns[column]) ? [line, column] : walk([line, column], event.key === "PageDown" ? "ArrowDown" : "ArrowUp") || walk([line, column], event.key === "PageDown" ? "ArrowUp" : "ArrowDown");
  }
  const line = event.ctrlKey ? (event.key === "Home" ? 0 : state.lines.length - 1) : row;
  return event.key === "Home" ? walk([line, -1], "ArrowRight") : walk([line, state.columns.length], "ArrowLeft");
}

function focusCell(button) {
  if (!button) return;
  for (const other of document.querySelectorAll('button.cell[tabindex="0"]')) other.tabIndex = -1;
  button.tabIndex = 0;
  reveal(button);
  button.focus({ preventScroll: true });
}

/** The first cell that passes the filters. */
function focusFirst() {
  for (let line = 0; line < state.lines.length; line++) {
    for (let column = 0; column < state.columns.length; column++) {
      const found = merged(state.lines[line].rows, state.columns[column]);
      if (found && !found.off) { focusCell(buttonAt(line, column)); return; }
    }
  }
}

function placeOfButton(button) { return button.dataset.at.split(".").map(Number); }

function membersAt([line, column]) { return merged(state.lines[line].rows, state.columns[column]).members; }

function listenToMatrix() {
  const table = byId("matrix");
  table.addEventListener("click", (event) => {
    const button = event.target.closest("button.cell");
    if (!button) return;
    const members = membersAt(placeOfButton(button));
    open(members[0], members);
  });
  table.addEventListener("keydown", (event) => {
    const button = event.target.closest("button.cell");
    if (!button || !/^(Arrow|Home|End|Page)/.test(event.key) || event.altKey || event.metaKey || (event.ctrlKey && !/^(Home|End)$/.test(event.key))) return;
    event.preventDefault();
    const next = leadsTo(placeOfButton(button), event);
    if (next) focusCell(buttonAt(...next));
  });
}
