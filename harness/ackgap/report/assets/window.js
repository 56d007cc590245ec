// Which lines of the matrix are in the page: all of them where they are few, else those near what is to be seen.
const ALL_LINES = 120;
const AROUND = 24;
const drawn = new Map();
let printing = false;

function isLong() { return state.lines.length > ALL_LINES; }

function drawLines() {
  const table = byId("matrix"), rows = el("tbody");
  byId("card").classList.toggle("long", isLong());
  table.querySelector("tbody")?.remove();
  table.append(rows);
  table.setAttribute("aria-rowcount", String(state.lines.length + table.tHead.rows.length));
  drawn.clear();
  state.range = null;
  if (!state.lines.length) rows.append(el("tr", {}, el("td", { class: "none", colspan: state.columns.length + 1 }, "No cell is like that.")));
  showLines();
}

/** Heights of the lines, of which all but the first are alike. */
function lineHeight() {
  const sample = [...drawn.values()].find((row) => row.offsetHeight && !row.classList.contains("undisturbed"));
  return sample ? sample.getBoundingClientRect().height : 34;
}

function showLines(also = []) {
  const rows = byId("matrix").tBodies[0], card = byId("card"), count = state.lines.length;
  let from = 0, to = count;
  const height = lineHeight();
  if (isLong() && !printing) {
    const seen = Math.min(card.clientHeight || innerHeight, innerHeight);
    from = Math.max(0, Math.floor(card.scrollTop / height) - AROUND);
    to = Math.min(count, Math.ceil((card.scrollTop + seen) / height) + AROUND);
  }
  const wanted = new Set(also);
  for (let line = from; line < to; line++) wanted.add(line);
  const focus = document.activeElement?.closest?.("button.cell");
  if (focus) wanted.add(Number(focus.dataset.at.split(".")[0]));
  const key = [...wanted].sort((a, b) => a - b);
  if (state.range && state.range.length === key.length && state.range.every((line, place) => line === key[place])) return;
  state.range = key;
  for (const [line, row] of drawn) if (!wanted.has(line)) { row.remove(); drawn.delete(line); }
  for (const gap of rows.querySelectorAll("tr.space")) gap.remove();
  let next = rows.firstChild, before = -1;
  const space = (lines) => {
    if (!lines || !count) return;
    const gap = el("tr", { class: "space", "aria-hidden": "true" }, el("td", { colspan: state.columns.length + 1 }));
    gap.firstChild.style.height = `${lines * height}px`;
    rows.insertBefore(gap, next);
  };
  for (const line of key) {
    space(line - before - 1);
    let row = drawn.get(line);
    if (row) next = row.nextSibling;
    else {
      row = drawLine(line);
      drawn.set(line, row);
      rows.insertBefore(row, next);
    }
    before = line;
  }
  if (count) space(count - before - 1);
  fitLabels();
  markSelected();
  if (!rows.querySelector('button.cell[tabindex="0"]')) { const first = rows.querySelector("button.cell"); if (first) first.tabIndex = 0; }
}

/** The button of a line and a column, drawn if it has not been. */
function buttonAt(line, column) {
  if (line < 0 || !state.lines[line]) return null;
  if (!drawn.has(line)) showLines([line]);
  return drawn.get(line)?.querySelector(`button.cell[data-at="${line}.${column}"]`) || null;
}

/** Scroll so that a line is to be seen below the head and beside the names. */
function reveal(button) {
  const card = byId("card"), box = button.getBoundingClientRect();
  if (isLong()) {
    const frame = card.getBoundingClientRect(), head = byId("matrix").tHead.offsetHeight;
    if (box.top < frame.top + head) card.scrollTop -= frame.top + head - box.top;
    else if (box.bottom > frame.top + card.clientHeight) card.scrollTop += box.bottom - frame.top - card.clientHeight + 8;
  }
  const frame = card.getBoundingClientRect(), names = byId("matrix").querySelector("tbody th")?.offsetWidth || 0;
  if (box.left < frame.left + names) card.scrollLeft -= frame.left + names - box.left;
  else if (box.right > frame.right) card.scrollLeft += box.right - frame.right + 8;
  button.scrollIntoView({ block: "nearest", inline: "nearest" });
}

function listenToScrolling() {
  let asked = false;
  const look = () => {
    if (asked || !isLong()) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; showLines(); });
  };
  byId("card").addEventListener("scroll", look, { passive: true });
  addEventListener("resize", () => { fitLabels(); look(); });
  addEventListener("beforeprint", () => { printing = true; showLines(); });
  addEventListener("afterprint", () => { printing = false; showLines(); });
}
