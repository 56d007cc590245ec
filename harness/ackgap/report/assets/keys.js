// Keys that work anywhere in the page, and the list of them.
const KEYS = [
  ["In the matrix", [["← ↑ → ↓", "go from cell to cell"], ["Home End", "first and last cell of the row"], ["Ctrl Home, Ctrl End", "first and last row"], ["Page up, Page down", "many rows further"], ["Enter", "open the cell"]]],
  ["In an open cell", [["← → ↑ ↓", "open the neighbour: other column, other point"], ["Space, Page down", "scroll"], ["Esc", "close it, back to the matrix"]]],
  ["In the picture of the lives", [["← ↑ → ↓", "move it; dragging does so, too"], ["+ −", "zoom; so does the wheel with Ctrl"], ["0", "fit it"], ["1", "its own size"]]],
  ["Anywhere", [["/", "search cells; Enter goes to the first"], ["f", "filters"], ["t", "light or dark"], ["?", "this list"], ["Esc", "close what is open; in the search, empty it"]]],
];

function drawHelp() {
  const help = byId("help");
  const close = el("button", { type: "button", class: "quiet", on: { click: () => help.close() } }, "Close");
  help.replaceChildren(el("div", { class: "help-head" }, el("h2", { id: "help-title" }, "Keys"), close),
    el("div", { class: "key-groups" }, KEYS.map(([title, keys]) => el("section", {}, el("h3", {}, title), el("dl", {}, keys.flatMap(([key, does]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, does)]))))));
  help.addEventListener("click", (event) => { if (event.target === help) help.close(); });
  byId("help-button").addEventListener("click", showHelp);
}

/** A modal dialog gives focus back to where it was by itself. */
function showHelp() { if (!byId("help").open) byId("help").showModal(); }

function typing(node) { return Boolean(node.closest?.("input, select, textarea, [contenteditable]")); }

function leave(event) {
  byId("tip").hidden = true;
  if (event.target.id === "search") {
    const search = event.target;
    if (search.value) { search.value = ""; state.query = ""; filterChanged(); } else focusFirst();
    event.preventDefault();
    return;
  }
  if (event.target.closest?.("#choices")) { showChoices(false); byId("more").focus(); return; }
  closeSheet();
}

// Arrow keys in an open cell lead to its neighbours, but for where they move something there.
function movesInSheet(event) {
  return /^Arrow/.test(event.key) && event.target.closest?.("#sheet") && !event.target.closest(".frame, .raw, .diff-scroll");
}

function listenToKeys() {
  document.addEventListener("keydown", (event) => {
    if (byId("help").open || event.defaultPrevented) return;
    if (event.key === "Escape") return leave(event);
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    if (movesInSheet(event)) { event.preventDefault(); move(event.key); return; }
    const action = { "/": () => { byId("search").focus(); byId("search").select(); }, "?": showHelp, f: () => { showChoices(true); byId("more").focus(); }, t: nextTheme }[event.key];
    if (!action || (byId("main").inert && event.key !== "?" && event.key !== "t")) return;
    event.preventDefault();
    action();
  });
}
