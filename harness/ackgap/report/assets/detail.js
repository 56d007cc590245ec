// One cell: its story, who could have prevented it, the ledger, the payloads, the way to see it again.
function bytesOf(text) { return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)); }

// The page may still be read while a cell is opened: what lies behind it in the file says that it has come as a whole.
function arrived(number) {
  return new Promise((resolve) => {
    const look = () => document.readyState !== "loading" || byId(`h${number + 1}`) ? resolve(byId(`h${number}`)) : setTimeout(look, 20);
    look();
  });
}

let primer = null;
async function load(number) {
  const block = await arrived(number);
  primer ??= bytesOf(D.primer);
  const stream = new Blob([primer, bytesOf(block.textContent)]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const whole = await new Response(stream).arrayBuffer();
  return JSON.parse(new TextDecoder().decode(new Uint8Array(whole, D.primerLength)));
}

let opening = 0;
async function open(number, members, { focus = true, keep = null } = {}) {
  const turn = ++opening;
  state.selected = number;
  state.members = members || [number];
  notice("");
  let detail;
  try {
    detail = await load(number);
  } catch (problem) {
    detail = { broken: String(problem), findings: [], history: [], effects: {}, incarnations: 0, duration_s: 0 };
  }
  if (turn !== opening) return;
  const wasOpen = document.body.classList.contains("open");
  const sheet = byId("sheet");
  sheet.hidden = false;
  document.body.classList.add("open");
  if (!wasOpen) fitLabels();
  cover();
  drawSheet(number, detail);
  markSelected();
  sheet.scrollTop = 0;
  writeAddress();
  const button = buttonOf(number);
  if (button) reveal(button);
  if (focus) (keep && sheet.querySelector(`[data-move="${keep}"]`) || byId("sheet-title")).focus({ preventScroll: true });
}

function closeSheet({ focus = true } = {}) {
  if (state.selected === null) return;
  opening++;
  const number = state.selected;
  state.selected = null;
  byId("sheet").hidden = true;
  byId("sheet").replaceChildren();
  document.body.classList.remove("open");
  cover();
  writeAddress();
  fitLabels();
  markSelected();
  if (focus) focusCell(buttonOf(number) || document.querySelector("button.cell"));
}

// Where the open cell covers the page, nothing below it can be reached.
const WIDE = matchMedia("(min-width: 1180px)");
function cover() { byId("main").inert = state.selected !== null && !WIDE.matches; }

/** Open the neighbour of the open cell; `keep` names the button that is to have the focus again. */
function move(key, keep) {
  const place = walk(placeOf(state.selected), key);
  if (!place) { say("There is no further cell that way"); return; }
  const members = membersAt(place);
  open(members[0], members, { keep });
}

function drawSheet(number, detail) {
  const row = D.rows[rowOf(number)], kind = kindOf(number), verdict = D.verdicts[kind];
  const expectation = D.expectations[D.expectationOf[variantOf(number)]] || { operations: {}, effects: [], paid_counts: {} };
  const fault = row.phase ? { name: row.name, kind: row.kind, phase: row.phase } : null;
  const findings = detail.findings;
  const worst = findings.find((finding) => finding.kind === verdict.id) || findings[0];
  const sheet = byId("sheet"), headline = headlineOf(number);
  const parts = [
    tools(number),
    el("div", { class: "verdict" }, mark(kind, true), el("h2", { id: "sheet-title", tabindex: "-1" }, el("span", { class: "hidden" }, `${verdict.words}: `), short(headline, LONG_WORDS))),
    headline.length > LONG_WORDS ? el("details", { class: "whole" }, el("summary", {}, "The whole sentence"), el("p", {}, clipped(headline, 4000))) : null,
    pointSentence(row, number),
    variantLine(number),
    state.members.length > 1 ? memberList(number) : null,
    ...factParts(number, detail),
    detail.broken ? el("p", { class: "bad" }, `The details of this cell cannot be read: ${detail.broken}`) : null,
  ];
  const place = el("section", { class: "story", "aria-label": "The lives of the worker" });
  parts.push(place, ...guideParts(kind, worst), ...attributionParts(worst), ...otherFindings(findings, worst), ...payloadParts(detail.history, findings));
  const story = storyOf(detail.history, findings, fault);
  parts.push(...costParts(findings, expectation), ...countParts(story, expectation, detail), ...ledgerParts(story, findings), ...againParts(number, detail, story));
  sheet.replaceChildren(...parts.filter(Boolean));
  if (detail.history.length) drawStory(place, story, verdict);
  else place.append(el("p", { class: "point" }, specialOf(number).equal ? "This cell was not run; the lives are those of the other one." : "No history was kept for this cell."));
  say(`${verdict.words}: ${short(headline, LONG_WORDS)}. ${cellId(number)}`);
}

function tools(number) {
  const arrow = (text, title, key) => el("button", { type: "button", class: "quiet", "data-move": key, "aria-label": title, title, on: { click: () => move(key, key) } }, text);
  const link = el("button", { type: "button", class: "quiet", on: { click: () => copy(linkTo(number), link) } }, "Copy link");
  return el("div", { class: "sheet-head" }, el("div", { class: "tools" }, arrow("←", "Previous column", "ArrowLeft"), arrow("→", "Next column", "ArrowRight"), arrow("↑", "Previous point", "ArrowUp"), arrow("↓", "Next point", "ArrowDown"),
    el("span", { class: "between" }), link, el("button", { type: "button", class: "quiet", title: "Close (Esc)", on: { click: () => closeSheet() } }, "Close")),
    el("p", { class: "where", title: "Id of this cell, the same in every run" }, cellId(number)));
}

function pointSentence(row, number) {
  if (!row.phase) return el("p", { class: "point" }, "An undisturbed run: nobody killed the worker.");
  const rail = D.rows[railOf(rowOf(number))];
  if (!rail.plain) return el("p", { class: "point" }, "Schedule: ", el("span", { class: "mono" }, scheduleText(number)));
  const [fault, ...then] = faultWords(number).split(", "), more = [...then, ...rowSteps(rowOf(number))].map((step) => `; ${step}`).join("");
  return el("p", { class: "point" }, `${fault[0].toUpperCase()}${fault.slice(1)} at `, el("span", { class: "mono" }, `${rail.name}#${rail.occurrence}`), `, ${rail.phase}: ${PHASES[rail.phase]}${more}.`);
}

function variantLine(number) {
  const values = D.variants[variantOf(number)];
  if (!values.length) return null;
  return el("p", { class: "variant" }, values.map((value, axis) => el("span", {}, el("span", {}, D.axes[axis].title),
    D.axes[axis].values[value].about ? term(D.axes[axis].values[value].name, D.axes[axis].values[value].about) : D.axes[axis].values[value].name)));
}

const MOST_MEMBERS = 36;
function memberList(number) {
  const folded = D.axes.map((_, axis) => axis).filter((axis) => !state.shown.has(D.axes[axis].name));
  const differ = folded.filter((axis) => new Set(state.members.map((member) => D.variants[variantOf(member)][axis])).size > 1);
  const rows = new Set(state.members.map(rowOf)).size > 1;
  const named = (member) => [rows && (D.rows[rowOf(member)].at || rowSteps(rowOf(member)).at(-1) || D.rows[rowOf(member)].label), ...differ.map((axis) => D.axes[axis].values[D.variants[variantOf(member)][axis]].name)];
  const shown = state.members.slice(0, MOST_MEMBERS);
  return el("div", { class: "members" }, el("p", {}, rows ? `This stands for ${plural(state.members.length, "cell")}, the worst first:` : "This column stands for several variants:"), shown.map((member) => el("button", {
    type: "button", class: "chip", "aria-pressed": String(member === number), on: { click: () => open(member, state.members) },
  }, mark(kindOf(member)), named(member).filter(Boolean).join(", "))), shown.length < state.members.length ? el("p", {}, `and ${state.members.length - shown.length} more; open the line to see them`) : null);
}

function drawStory(place, story, verdict) {
  let unfolded = false;
  const label = `Sequence of ${plural(story.lives.length, "life", "lives")}, ending ${verdict.words}.`;
  const foldable = folded(story.steps, false).some((step) => step.kind === "more");
  const toggle = el("button", { type: "button", class: "quiet" });
  const zoom = zoomable(label), words = el("details", { class: "in-words" });
  const draw = () => {
    toggle.textContent = unfolded ? "Only what matters" : "Every step";
    toggle.setAttribute("aria-pressed", String(unfolded));
    const said = [];
    zoom.show(sequence(story, { width: Math.max(560, zoom.frame.clientWidth - 2), unfolded, unfold, said, label: `${label} The same is said in words below.` }));
    words.replaceChildren(el("summary", {}, "The same in words"), el("ol", {}, said.map(([life, text]) => el("li", {}, `${life ? `Life ${life}: ` : ""}${text}`))));
  };
  const unfold = () => { unfolded = !unfolded; draw(); };
  toggle.addEventListener("click", () => { unfold(); toggle.focus(); });
  place.append(el("div", { class: "story-tools" }, el("span", { class: "zooms", role: "group", "aria-label": "Size of the picture" }, zoom.tools), foldable ? toggle : null), zoom.frame, words);
  draw();
}

// What a verdict means, and what helps, in general and here.
function guideParts(kind, finding) {
  const verdict = D.verdicts[kind], guide = D.guide[verdict.id], found = finding && finding.kind === verdict.id ? finding.attribution : null;
  const sides = found ? ["worker", "engine", "target"].filter((side) => found.preventable_by.includes(side)) : [];
  const remedy = (side) => el("li", {}, side === "nobody" ? null : el("b", {}, { worker: "In the worker. ", engine: "In the engine. ", target: "At the service. " }[side]), guide[side]);
  const here = found && found.fix;
  const general = el("ul", { class: "remedies" }, (sides.length ? sides : ["nobody"]).map(remedy));
  return [el("h3", {}, "What this means"), el("p", { class: "means" }, guide.means),
    el("div", { class: "fix-box" }, el("h3", {}, "How to fix it"), here ? el("p", {}, here) : null, here ? el("details", {}, el("summary", {}, "What helps against this in general"), general) : general)];
}

// What was paid for again, of it what had been recorded, and what it cost.
function costParts(findings, expectation) {
  const paid = findings.filter((finding) => finding.detail && finding.detail.extra > 0 && finding.detail.cost !== undefined);
  if (!paid.length) return [];
  const sums = new Map();
  for (const { operation, detail } of paid) {
    const facts = expectation.operations[operation] || { currency: detail.currency };
    const key = facts.currency || "";
    sums.set(key, [(sums.get(key) || [0])[0] + detail.cost, facts]);
  }
  const whole = [...sums.values()].filter(([cost]) => cost > 0).map(([cost, facts]) => money(cost, facts)).join(", ");
  return [el("h3", {}, "Cost of repeated work"), whole ? el("p", { class: "cost" }, `This crash made ${whole} be paid again.`) : null,
    el("table", { class: "plain" }, el("thead", {}, el("tr", {}, ["paid operation", "undisturbed", "this run", "known to be done", "cost of the repeats"].map((text) => el("th", { scope: "col" }, text)))),
      el("tbody", {}, paid.map(({ operation, detail, kind }) => el("tr", { class: kind ? "bad" : "" }, el("td", {}, operation), el("td", { class: "num" }, String(detail.probe)), el("td", { class: "num" }, String(detail.seen)),
        el("td", { class: "num" }, detail.wasted ? `${detail.wasted} of ${detail.extra}` : "none"), el("td", { class: "num" }, detail.cost ? money(detail.cost, expectation.operations[operation] || detail) : "not priced")))))];
}

function attributionParts(finding) {
  const found = finding && finding.attribution;
  if (!found) return [];
  const parts = [];
  const sides = ["worker", "engine", "target"].filter((side) => found[side] || found.preventable_by.includes(side));
  if (sides.length) {
    parts.push(el("h3", {}, "Who could have prevented it"), el("table", { class: "plain" }, el("tbody", {}, sides.map((side) => el("tr", {},
      el("th", { scope: "row" }, side), el("td", { class: found.preventable_by.includes(side) ? "could" : "couldnt" }, found.preventable_by.includes(side) ? "could have" : ""),
      el("td", {}, clipped(found[side] || ""))))))); 
  }
  const facts = [["A key was sent", found.key_sent], ["The key was the same each time", found.key_stable], ["The service honours keys", found.target_honours_keys], ["The key's window had passed", found.window_exceeded]]
    .filter(([, value]) => value !== null && value !== undefined);
  if (facts.length) parts.push(el("p", { class: "hint" }, facts.map(([text, value]) => `${text}: ${value ? "yes" : "no"}`).join(" · ")));
  return parts;
}

function otherFindings(findings, worst) {
  const others = findings.filter((finding) => finding !== worst);
  if (!others.length) return [];
  return [el("h3", {}, "Also seen"), el("table", { class: "plain" }, el("tbody", {}, others.map((finding) => {
    const kind = D.verdicts.findIndex((verdict) => verdict.id === finding.kind);
    return el("tr", {}, el("td", {}, kind < 0 ? "remark" : mark(kind)), el("td", {}, clipped(finding.summary)));
  })))];
}

function countParts(story, expectation, detail) {
  const rows = new Map();
  for (const effect of expectation.effects) rows.set(effect.operation, { expected: (rows.get(effect.operation)?.expected || 0) + effect.count, assumed: effect.assumed, declared: effect.declared, seen: 0, paid: false });
  for (const [operation, count] of Object.entries(expectation.paid_counts)) if (!rows.has(operation)) rows.set(operation, { expected: count, seen: 0, paid: true });
  for (const [operation, count] of Object.entries(detail.effects)) {
    if (!rows.has(operation)) rows.set(operation, { expected: 0, seen: 0, paid: false });
    rows.get(operation).seen = count;
  }
  for (const call of story.calls) {
    const row = rows.get(call.operation);
    if (!row || !row.paid) continue;
    row.seen++;
    row.cost = (row.cost || 0) + (call.cost || 0);
  }
  if (!rows.size) return [];
  return [el("h3", {}, "Expected and seen"), el("table", { class: "plain" },
    el("thead", {}, el("tr", {}, ["action", "undisturbed", "this run", "note"].map((text) => el("th", { scope: "col" }, text)))),
    el("tbody", {}, [...rows].map(([operation, row]) => {
      const facts = expectation.operations[operation];
      const over = (row.seen - row.expected) * ((facts && facts.price) || 0);
      const notes = [row.assumed && "count assumed from the undisturbed run", row.declared && "count declared by the scenario",
        row.paid && row.cost ? `paid: ${money(row.cost, facts)}${over > 0 ? `, ${money(over, facts)} more than undisturbed` : ""}` : ""];
      return el("tr", { class: !row.paid && row.seen !== row.expected ? "bad" : "" },
        el("td", {}, facts ? facts.noun[1] : operation), el("td", { class: "num" }, String(row.expected)), el("td", { class: "num" }, String(row.seen)), el("td", { class: "couldnt" }, notes.filter(Boolean).join("; ")));
    })))];
}

function money(amount, facts) {
  let digits = 2;
  while (amount > 0 && amount < 10 ** (1 - digits) && digits < 12) digits += 1;
  return `${amount.toFixed(digits)} ${(facts && facts.currency) || ""}`.trim();
}

const DECISIONS = { applied: "done", read: "answered", replayed: "recognised by its key", existing: "recognised: exists", rejected: "refused", conflict: "refused: in progress", unknown_path: "no such operation", malformed: "unreadable" };

function ledgerParts(story, findings) {
  if (!story.calls.length) return [];
  const bad = new Set(findings.filter((finding) => ["duplicate", "phantom", "zombie", "diverged"].includes(finding.kind)).flatMap((finding) => finding.evidence));
  const names = new Set(findings.map((finding) => finding.operation));
  const few = story.calls.filter((call) => call.effectful || names.has(call.operation));
  const shown = few.length ? few : story.calls;
  const table = (calls) => el("table", { class: "plain" },
    el("thead", {}, el("tr", {}, ["attempt", "life", "operation", "key", "decision", "object"].map((text) => el("th", { scope: "col" }, text)))),
    el("tbody", {}, calls.map((call) => el("tr", { class: call.effect && bad.has(call.effect.seq) ? "bad" : "" },
      el("td", { class: "num" }, String(call.attempt)), el("td", { class: "num" }, String(call.life || "?")), el("td", {}, call.operation),
      el("td", { class: "mono" }, call.key || "none"), el("td", { title: call.rule || "" }, `${DECISIONS[call.decision] || "nothing yet"}${call.status === undefined ? ", not answered" : ""}`), el("td", { class: "mono" }, call.object || "")))));
  const parts = [el("h3", {}, term("Ledger of the services", GLOSSARY.ledger)), table(shown)];
  if (shown.length < story.calls.length) parts.push(el("details", {}, el("summary", {}, `All ${story.calls.length} attempts`), table(story.calls)));
  return parts;
}

function againParts(number, detail, story) {
  const facts = [["Lives", String(detail.incarnations)]];
  const fault = story.steps.find((step) => step.kind === "fault");
  const end = fault && story.steps.find((step) => step.kind === "end" && step.life === fault.life);
  if (fault && fault.digest && end && end.digest) {
    facts.push(["Durable store", fault.digest === end.digest ? `unchanged between the kill and the death (digest ${short(fault.digest, 14)})` : `changed between the kill and the death: ${short(fault.digest, 14)}, then ${short(end.digest, 14)}`]);
  }
  if (detail.settling) facts.push(["Writes in flight at the kill", { settled: "none: proven by a hook", "quiet-observed": "none seen for a stated time", unsettled: "perhaps: the kill raced the engine" }[detail.settling] || detail.settling]);
  facts.push(["Duration", `${detail.duration_s.toFixed(2)} s`]);
  if (detail.kept_directory) facts.push(["Files kept in", detail.kept_directory]);
  const raw = el("details", {}, el("summary", {}, `The ${detail.history.length} events of this run`));
  raw.addEventListener("toggle", () => {
    if (raw.open && raw.children.length === 1) raw.append(el("div", { class: "raw", tabindex: "0", role: "group", "aria-label": "Events of this run" }, clipped(detail.history.map((event) => JSON.stringify(event)).join("\n"), 60000)));
  });
  return [el("h3", {}, "See it again"), command(detail.replay || ""), el("h3", {}, "About this run"),
    el("dl", { class: "facts" }, facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])), detail.history.length ? raw : null];
}
