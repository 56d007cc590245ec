// Two payloads side by side, with the words that differ marked.
function payloadParts(events, findings) {
  const bySeq = new Map(events.map((event) => [event.seq, event]));
  for (const finding of findings) {
    const found = finding.evidence.map((seq) => bySeq.get(seq)).filter((event) => event && ["effect_applied", "attempt_received"].includes(event.kind));
    const effects = found.filter((event) => event.kind === "effect_applied");
    const pair = effects.length > 1 ? effects : found;
    if (pair.length > 1 && finding.kind !== null) return [el("h3", {}, "The two requests"), ...comparison(pair[0], pair[1])];
  }
  return [];
}

function leaves(value, path = "", into = new Map()) {
  if (value !== null && typeof value === "object" && Object.keys(value).length) {
    for (const [key, item] of Object.entries(value)) leaves(item, Array.isArray(value) ? `${path}[${key}]` : path ? `${path}.${key}` : key, into);
  } else into.set(path || "body", typeof value === "string" ? value : JSON.stringify(value));
  return into;
}

function contentOf(event) { return event.kind === "effect_applied" ? event.content : event.payload; }

function comparison(first, second) {
  const left = leaves(contentOf(first) ?? null), right = leaves(contentOf(second) ?? null);
  if (first.key || second.key) { left.set("idempotency key", first.key || "none"); right.set("idempotency key", second.key || "none"); }
  const same = [], rows = [];
  for (const path of new Set([...left.keys(), ...right.keys()])) {
    const a = left.get(path), b = right.get(path);
    if (a === b) { same.push([path, a]); continue; }
    const [before, after] = a === undefined || b === undefined ? [[[a ?? "(absent)", true]], [[b ?? "(absent)", true]]] : words(a, b);
    rows.push(el("tr", {}, el("th", { scope: "row" }, path), el("td", {}, marked(before)), el("td", {}, marked(after))));
  }
  const name = (event) => `life ${event.incarnation}${event.object_id ? `, ${event.object_id}` : ""}`;
  const parts = [];
  if (rows.length) {
    parts.push(el("table", { class: "plain diff" }, el("thead", {}, el("tr", {}, ["field", name(first), name(second)].map((text) => el("th", { scope: "col" }, text)))), el("tbody", {}, rows)));
  } else parts.push(el("p", {}, "They are equal in every field."));
  if (same.length) {
    parts.push(el("details", {}, el("summary", {}, `${plural(same.length, "field")} equal in both`), el("table", { class: "plain diff" }, el("tbody", {},
      same.map(([path, value]) => el("tr", { class: "same" }, el("th", { scope: "row" }, path), el("td", {}, clipped(value))))))));
  }
  return parts;
}

function marked(pieces) {
  return pieces.flatMap(([text, differs]) => {
    if (!differs || !text.trim()) return around(text);
    const inner = text.trim(), at = text.indexOf(inner);
    return [text.slice(0, at), el("mark", {}, clipped(inner)), text.slice(at + inner.length)];
  });
}

/** What is equal, without the middle of what is long. */
function around(text, most = 600) {
  if (text.length <= most * 1.5) return [text];
  const place = el("span", {}, text.slice(0, most / 2));
  place.append(el("button", { type: "button", class: "link", on: { click: () => place.replaceChildren(text) } }, ` … ${(text.length - most).toLocaleString("en")} equal characters … `), text.slice(-most / 2));
  return [place];
}

// Longest common subsequence over words; very long texts are compared by their common beginning and end only.
function words(a, b) {
  const left = a.split(/(\s+)/), right = b.split(/(\s+)/);
  if (left.length * right.length > 400000) return edges(a, b);
  const width = right.length + 1;
  const table = new Uint16Array((left.length + 1) * width);
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      table[i * width + j] = left[i] === right[j] ? table[(i + 1) * width + j + 1] + 1 : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
    }
  }
  const before = [], after = [];
  const put = (list, text, differs) => { const last = list[list.length - 1]; if (last && last[1] === differs) last[0] += text; else list.push([text, differs]); };
  let i = 0, j = 0;
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i] === right[j]) { put(before, left[i++], false); put(after, right[j++], false); }
    else if (j >= right.length || (i < left.length && table[(i + 1) * width + j] >= table[i * width + j + 1])) put(before, left[i++], true);
    else put(after, right[j++], true);
  }
  return [before, after];
}

function edges(a, b) {
  let start = 0, end = 0;
  while (start < Math.min(a.length, b.length) && a[start] === b[start]) start++;
  while (end < Math.min(a.length, b.length) - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const cut = (text) => [[text.slice(0, start), false], [text.slice(start, text.length - end), true], [text.slice(text.length - end), false]];
  return [cut(a), cut(b)];
}
