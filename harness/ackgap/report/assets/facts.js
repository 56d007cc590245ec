// What follows for one cell, or for the whole run, from all of its results: rates, equal states, certainty, bounds.
function cellLink(name, text) {
  const number = labels.get(name);
  if (number === undefined) return el("span", { class: "mono" }, text || name);
  return el("button", { type: "button", class: "link", on: { click: () => open(number, null) } }, mark(kindOf(number)), " ", el("span", { class: "mono" }, text || name));
}

function factParts(number, detail) {
  const special = specialOf(number), parts = [];
  if (special.gap) parts.push(el("p", { class: "fact" }, `${special.gap[0].toUpperCase()}${special.gap.slice(1)}`));
  if (special.copied) parts.push(el("p", { class: "fact" }, "Not killed: the recovery began with a copy that was made while the worker stood parked at the point. Its replay is a real kill."));
  if (special.equal) parts.push(el("p", { class: "fact" }, "Not run: its crash state is the same as that of ", cellLink(special.equal), ", and so is its verdict."));
  if (detail.rate) {
    parts.push(el("div", { class: "fact" }, el("p", {}, "The kill raced what was being written, and was repeated. The run below is the worst that came out."),
      el("table", { class: "plain" }, el("tbody", {}, detail.rate.map(([kind, words]) => el("tr", {}, el("td", {}, mark(kind)), el("td", {}, D.verdicts[kind].words), el("td", { class: "num" }, words)))))));
  }
  const equal = Object.entries(D.special).filter(([, other]) => other.equal === cellId(number)).map(([other]) => Number(other));
  if (equal.length) parts.push(el("p", { class: "fact" }, `The same state as at ${plural(equal.length, "other point")}, not run again: `, equal.flatMap((other, place) => [place ? ", " : "", cellLink(cellId(other), scheduleText(other))])));
  if (detail.certain) parts.push(certainPart(detail.certain, number));
  return parts;
}

function certainPart(certain, number) {
  const variant = `@${variantText(variantOf(number))}`;
  const shown = certain.cells.length > 1 ? el("details", {}, el("summary", {}, `Shown by ${plural(certain.cells.length, "cell")}`),
    el("ul", { class: "cells" }, certain.cells.map((name) => el("li", {}, cellLink(name, name.endsWith(variant) ? name.slice(0, -variant.length) : name))))) : null;
  return el("div", { class: "fact" }, el("p", {}, certain.words), shown);
}

const COUNTS = [["ran", "ran"], ["equal", "equal to one that ran"], ["impossible", "cannot happen"], ["unexplored", "not gone into"], ["left", "not reached"]];

function drawBounds() {
  if (!D.bounds) return;
  const { facts, counts } = D.bounds;
  const parts = COUNTS.filter(([name]) => counts[name]);
  const bar = el("div", { class: "cover", "aria-hidden": "true" }, parts.map(([name]) => {
    const piece = el("span", { class: name });
    piece.style.flexGrow = String(counts[name]);
    return piece;
  }));
  byId("bounds").hidden = false;
  byId("bounds").replaceChildren(el("h2", { id: "bounds-title" }, "What was covered"), parts.length ? bar : "",
    el("p", { class: "cover-key" }, parts.map(([name, words]) => el("span", {}, el("i", { class: name }), `${counts[name]} ${words}`))),
    el("dl", { class: "facts" }, facts.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])));
}
