// The lines of the matrix: rows of the rail, and below them those that go on from there. Rows with a step in common
// are headed by a line that stands for all of them, and opens.
const BELOW_AT_ONCE = 24;
const stepOf = D.rows.map((row) => row.parent === null ? null : `${row.parent}/${row.step}`);
const steps = new Map();
const below = D.rows.map(() => []);
D.rows.forEach((row, number) => {
  if (row.parent === null) return;
  below[row.parent].push(number);
  if (!steps.has(stepOf[number])) steps.set(stepOf[number], []);
  steps.get(stepOf[number]).push(number);
});
const opened = new Set(stepOf.filter((step) => step !== null).length <= BELOW_AT_ONCE ? steps.keys() : []);

function withAllBelow(row) { return [row, ...below[row].flatMap(withAllBelow)]; }

/** Row of the rail that a row hangs below, or the row itself. */
function railOf(row) {
  while (D.rows[row].parent !== null) row = D.rows[row].parent;
  return row;
}

function linesOf() {
  const lines = [], depth = [], hidden = new Set();
  D.rows.forEach((row, number) => {
    if (state.kept && !state.kept.has(number)) return;
    const step = stepOf[number];
    if (step === null) {
      depth[number] = 0;
      lines.push({ rows: [number], depth: 0, step: null, head: false });
      return;
    }
    if (hidden.has(row.parent)) { hidden.add(number); return; }
    const members = steps.get(step).filter((member) => !state.kept || state.kept.has(member)), headed = members.length > 1, level = depth[row.parent] + 1;
    if (headed && number === members[0]) {
      const open = opened.has(step);
      lines.push({ rows: open ? members : members.flatMap(withAllBelow).filter((member) => !state.kept || state.kept.has(member)), depth: level, step, head: true, open, count: members.length });
    }
    if (headed && !opened.has(step)) { hidden.add(number); return; }
    depth[number] = level + (headed ? 1 : 0);
    lines.push({ rows: [number], depth: depth[number], step, head: false, headed });
  });
  return lines;
}

/** What is said of a line below the rail. */
function lineWords(line) {
  const row = D.rows[line.rows[0]];
  if (line.head) return row.step.startsWith("then") ? `${row.step} at any of ${line.count} points` : `${row.step.replace(/:$/, "")}, any of ${line.count}`;
  return rowStep(row);
}

function rowStep(row) { return `${row.step} ${row.step.startsWith("then") ? "at " : ""}${row.at}`.trim(); }

/** How a row below the rail comes about, from the rail on. */
function rowSteps(number) {
  const words = [];
  for (let row = number; D.rows[row].parent !== null; row = D.rows[row].parent) words.unshift(rowStep(D.rows[row]));
  return words;
}

function lineHead(line, place, inGap) {
  const row = D.rows[line.rows[0]];
  const parts = [el("span", { class: "rail through" })];
  const twig = el("span", { class: `twig d${Math.min(line.depth, 6)}` });
  if (line.head) {
    twig.append(el("button", { type: "button", class: "fold", "aria-expanded": String(line.open), "data-step": line.step, on: { click: () => {
      if (!opened.delete(line.step)) opened.add(line.step);
      drawMatrix();
      document.querySelector(`button.fold[data-step="${CSS.escape(line.step)}"]`).focus();
    } } }, `${line.open ? "▾" : "▸"} ${lineWords(line)}`));
  } else if (line.headed && row.step.startsWith("then")) {
    const point = row.at.split(":");
    twig.append(el("span", { class: "mono", title: row.at }, middle(point[0], 30)), " ", el("span", { class: "phase", "data-tip": PHASES[point[1]] || null }, point[1] || ""));
  } else twig.append(el("span", { title: lineWords(line) }, line.headed ? row.at : lineWords(line)));
  return el("th", { scope: "row" }, el("div", { class: "stop below" }, ...parts, twig));
}
