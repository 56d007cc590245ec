// The address of what is shown: a cell by its id, and the filters. It holds names only, so it stays right over runs.
function readAddress() {
  const found = { cell: null, query: "", operation: "", fault: "", off: [], values: [] };
  for (const part of location.hash.slice(1).split("&")) {
    const at = part.indexOf("=");
    if (at < 1) continue;
    let name = part.slice(0, at), value;
    try { name = decodeURIComponent(name); value = decodeURIComponent(part.slice(at + 1)); } catch { continue; }
    if (name === "cell") found.cell = value;
    else if (name === "search") found.query = value;
    else if (name === "operation") found.operation = value;
    else if (name === "fault") found.fault = value;
    else if (name === "hide") found.off = value.split(",");
    else if (name.startsWith("axis.")) found.values.push([name.slice(5), value]);
  }
  return found;
}

function addressText() {
  const parts = [];
  const add = (name, value) => { if (value) parts.push(`${encodeURIComponent(name)}=${encodeURIComponent(value)}`); };
  if (state.selected !== null) add("cell", cellId(state.selected));
  add("search", state.query);
  add("operation", state.operation);
  add("fault", state.fault);
  add("hide", [...state.off].map((kind) => D.verdicts[kind].id).join(","));
  for (const [axis, value] of state.values) add(`axis.${D.axes[axis].name}`, D.axes[axis].values[value].name);
  return parts.join("&");
}

function writeAddress() {
  const text = addressText();
  if (location.hash.slice(1) !== text) history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
}

/** Address of one cell, without any filter. */
function linkTo(number) { return `${location.href.split("#")[0]}#cell=${encodeURIComponent(cellId(number))}`; }

function followAddress() {
  const wanted = readAddress();
  state.query = wanted.query;
  state.operation = OPERATIONS.has(wanted.operation) ? wanted.operation : "";
  state.fault = FAULTS.has(wanted.fault) ? wanted.fault : "";
  state.off = new Set(wanted.off.map((id) => D.verdicts.findIndex((verdict) => verdict.id === id)).filter((kind) => kind >= 0));
  state.values = new Map();
  for (const [name, value] of wanted.values) {
    const axis = D.axes.findIndex((each) => each.name === name);
    const place = axis < 0 ? -1 : D.axes[axis].values.findIndex((each) => each.name === value);
    if (place >= 0) state.values.set(axis, place);
  }
  refilter();
  const number = labels.get(wanted.cell);
  if (number === undefined) closeSheet({ focus: false });
  if (wanted.cell === null) notice("");
  else if (number === undefined) notice(`This report has no cell ${wanted.cell}. It may not have been run this time, or its point is no longer passed.`);
  else if (number !== state.selected) open(number, null);
}

function notice(text) {
  byId("notice").hidden = !text;
  byId("notice").textContent = text;
  if (text) say(text);
}
