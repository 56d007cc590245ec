// Findings, explanations, and the start of the page.
function drawFindings() {
  if (!D.groups.length) return;
  byId("findings").replaceChildren(el("h2", { id: "findings-title" }, "What was found"), ...D.groups.map((group) => {
    const see = el("button", { type: "button", class: "link", on: { click: () => open(group.example) } }, "Open a cell");
    return el("div", { class: "finding" }, mark(group.kind, true), el("div", {},
      el("p", { class: "title" }, group.summary),
      el("p", { class: "meta" }, `${D.verdicts[group.kind].words}${group.operation ? ` at ${group.operation}` : ""}, ${plural(group.count, "cell")} in ${plural(group.columns, D.faults.length ? "column" : "variant")}${group.cost ? `, ${group.cost} paid again` : ""}`),
      group.fix ? el("p", { class: "fix" }, group.fix) : null), see);
  }));
}

function drawReading() {
  const used = new Set();
  for (let number = 0; number * 4 < D.cells.length; number++) used.add(kindOf(number));
  const done = D.faults.length
    ? ["In the cell of that row the fault of its column happened at exactly that moment: the worker was killed, or a service lost, refused, delayed or repeated something. The worker went on, or was started again until it had finished, and then the outside world was counted. Each column is one ", term("variant"), " of the set-up with one fault."]
    : ["In the cell of that row the worker was killed at exactly that moment, started again until it had finished, and then the outside world was counted. Each column is one ", term("variant"), " of the set-up."];
  byId("reading").replaceChildren(el("h2", {}, "How to read this"),
    el("p", { class: "prose" }, "Each row is a moment in the worker's run, from top to bottom. ", done),
    el("p", { class: "prose" }, "In the ", term("acknowledgment gap"), " an ", term("effect"), " is already real and the worker's durable state does not know it. Whoever resumes from that state does it again, unless something recognises the repeat, such as an ", term("idempotency key"), "."),
    el("ul", { class: "meanings" }, D.verdicts.map((verdict, kind) => el("li", {}, mark(kind), el("span", {}, el("b", {}, verdict.words), `  ${verdict.meaning}${used.has(kind) ? "" : " (not seen here)"}`)))));
}

function drawAbout() {
  const facts = [["Scenario", D.title + (D.about ? `. ${D.about}` : "")], ["Run", D.command], ["Started", D.started], ["Versions", Object.entries(D.versions).map(([name, version]) => `${name} ${version}`).join(", ")]];
  if (D.notApplicable) facts.push(["Left out", `${plural(D.notApplicable, "combination")} of point and variant that the variant's own undisturbed run does not pass`]);
  byId("about").replaceChildren(el("h2", {}, "About this run"),
    ...(D.notes.length ? [el("ul", { class: "notes prose" }, D.notes.map((note) => el("li", {}, note)))] : []),
    el("dl", { class: "facts" }, facts.filter(([, value]) => value).flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])));
}

function themes() {
  const root = document.documentElement, button = byId("theme"), order = ["auto", "light", "dark"];
  const show = (theme) => { root.dataset.theme = theme; button.textContent = `Theme: ${theme}`; };
  let kept = "auto";
  try { kept = localStorage.getItem("ackgap-theme") || "auto"; } catch { /* a page from a file may have no storage */ }
  show(order.includes(kept) ? kept : "auto");
  button.addEventListener("click", () => {
    show(order[(order.indexOf(root.dataset.theme) + 1) % order.length]);
    try { localStorage.setItem("ackgap-theme", root.dataset.theme); } catch { /* idem */ }
  });
}

function openFromAddress() {
  const match = /^#cell=(.+)$/.exec(location.hash);
  if (!match) return;
  let wanted;
  try { wanted = decodeURIComponent(match[1]); } catch { return; }
  const number = labels.get(wanted);
  if (number === undefined) say("The address names a cell that this report does not have.");
  else if (number !== state.selected) open(number, null);
}

themes();
tooltips();
drawChips();
drawAxes();
drawMatrix();
drawFindings();
drawBounds();
drawReading();
drawAbout();
listenToMatrix();
openFromAddress();
addEventListener("hashchange", openFromAddress);
addEventListener("resize", fitLabels);
document.addEventListener("keydown", (event) => { if (event.key === "Escape") { byId("tip").hidden = true; close(); } });
