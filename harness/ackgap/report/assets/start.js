// Findings, explanations, and the start of the page.
function drawFindings() {
  if (!D.groups.length) return;
  byId("findings").hidden = false;
  byId("findings").replaceChildren(el("h2", { id: "findings-title" }, "What was found"), ...D.groups.map((group) => {
    const see = el("button", { type: "button", class: "link", on: { click: () => open(group.example) } }, "Open a cell");
    return el("div", { class: "finding" }, mark(group.kind, true), el("div", {},
      el("p", { class: "title" }, short(group.summary, LONG_WORDS)),
      el("p", { class: "meta" }, `${D.verdicts[group.kind].words}${group.operation ? ` at ${group.operation}` : ""}, ${plural(group.count, "cell")} in ${plural(group.columns, D.faults.length ? "column" : "variant")}${group.cost ? `, ${group.cost} paid again` : ""}`),
      group.fix ? el("p", { class: "fix" }, group.fix) : null), see);
  }));
}

// What crashes cost in calls that were paid for again, over all cells.
function drawWork() {
  if (!D.work.length) return;
  byId("work").hidden = false;
  byId("work").replaceChildren(el("h2", { id: "work-title" }, "What repeated work costs"),
    el("p", { class: "prose" }, "Paid calls that were made again after a crash. What had been recorded before the crash is waste; of the rest nobody could have known."),
    el("div", { class: "wide" }, el("table", { class: "plain" }, el("thead", {}, el("tr", {}, ["paid operation", "cells", "calls again", "of these recorded", "cost of all", "dearest crash"].map((text) => el("th", { scope: "col" }, text)))),
      el("tbody", {}, D.work.map((work) => el("tr", {}, el("td", { class: "mono" }, work.operation), el("td", { class: "num" }, String(work.cells)), el("td", { class: "num" }, String(work.calls)), el("td", { class: "num" }, String(work.recorded)),
        el("td", { class: "num" }, work.cost || "not priced"), el("td", {}, cellLink(cellId(work.dearest), scheduleText(work.dearest)), work.dearestCost ? ` ${work.dearestCost}` : "")))))));
}

function drawReading() {
  const used = new Set();
  for (let number = 0; number * 4 < D.cells.length; number++) used.add(kindOf(number));
  const done = D.faults.length
    ? ["In the cell of that row the fault of its column happened at exactly that moment: the worker was killed, or a service lost, refused, delayed or repeated something. The worker went on, or was started again until it had finished, and then the outside world was counted. Each column is one ", term("variant"), " of the set-up with one fault."]
    : ["In the cell of that row the worker was killed at exactly that moment, started again until it had finished, and then the outside world was counted. Each column is one ", term("variant"), " of the set-up."];
  byId("reading").replaceChildren(el("h2", { id: "reading-title" }, "How to read this"),
    el("p", { class: "prose" }, "Each row is a moment in the worker's run, from top to bottom. ", done),
    el("p", { class: "prose" }, "In the ", term("acknowledgment gap"), " an ", term("effect"), " is already real and the worker's durable state does not know it. Whoever resumes from that state does it again, unless something recognises the repeat, such as an ", term("idempotency key"), "."),
    el("ul", { class: "meanings" }, D.verdicts.map((verdict, kind) => el("li", {}, mark(kind), el("span", {}, el("b", {}, verdict.words), `  ${verdict.meaning}${used.has(kind) ? "" : " (not seen here)"}`)))));
}

function drawAbout() {
  const facts = [["Scenario", D.title + (D.about ? `. ${D.about}` : "")], ["Run", D.command], ["Started", D.started], ["Versions", Object.entries(D.versions).map(([name, version]) => `${name} ${version}`).join(", ")]];
  if (D.notApplicable) facts.push(["Left out", `${plural(D.notApplicable, "combination")} of point and variant that the variant's own undisturbed run does not pass`]);
  byId("about").replaceChildren(el("h2", {}, "About this run"),
    ...(D.notes.length ? [el("ul", { class: "notes prose" }, D.notes.map((note) => el("li", {}, clipped(note, 400))))] : []),
    el("dl", { class: "facts" }, facts.filter(([, value]) => value).flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])));
}

const THEMES = ["auto", "light", "dark"];
function showTheme(theme) {
  const shown = THEMES.includes(theme) ? theme : "auto", button = byId("theme");
  document.documentElement.dataset.theme = shown;
  button.replaceChildren(el("span", { "aria-hidden": "true" }, { auto: "◐", light: "○", dark: "●" }[shown]), ` ${shown}`);
  button.setAttribute("aria-label", `Colours: ${shown}. Change`);
}

function nextTheme() {
  const next = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length];
  showTheme(next);
  say(`Colours: ${next}`);
  try { localStorage.setItem("ackgap-theme", next); } catch { /* a page from a file may have no storage */ }
}

function startTheme() {
  let kept = "auto";
  try { kept = localStorage.getItem("ackgap-theme") || "auto"; } catch { /* idem */ }
  showTheme(kept);
  byId("theme").addEventListener("click", nextTheme);
}

startTheme();
tooltips();
drawChips();
drawFind();
drawHelp();
listenToMatrix();
listenToScrolling();
listenToKeys();
followAddress();
drawFindings();
drawWork();
drawBounds();
drawReading();
drawAbout();
addEventListener("hashchange", () => { if (location.hash.slice(1) !== addressText()) followAddress(); });
WIDE.addEventListener("change", cover);
