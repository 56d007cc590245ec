// The lives of one cell as a sequence diagram.
const HEIGHT = { life: 46, request: 34, effect: 27, answer: 32, unanswered: 40, call: 30, commit: 34, unsent: 30, unwritten: 36, fault: 38, woken: 38, end: 30, more: 32, say: 28, interference: 28 };

function sequence(story, options) {
  const steps = folded(story.steps, options.unfolded);
  const lanes = laneNames(story, steps);
  const width = Math.max(options.width, lanes.length * 128);
  const place = placesOf(lanes, width);
  const xs = new Map(lanes.map((lane, number) => [lane.id, place(number)]));
  const storeX = xs.get("store");
  const targetX = (call) => xs.get(call.target) ?? xs.get("others");
  const workerX = (life) => xs.get(`worker${laneOfLife(story, life)}`);
  const layers = { back: svg("g"), rest: svg("g"), lives: svg("g"), front: svg("g") };
  let y = 52;
  const said = options.said || [];
  const along = stretches();
  const bands = [];
  const gapOpen = new Map();
  for (const step of steps) {
    if (step.kind === "life" && step.later > 0) {
      y = drawPause(layers, y, width, step.later);
      said.push([0, pauseWords(step.later)]);
    }
    const top = y;
    y += HEIGHT[step.kind];
    const line = y - 10;
    const x = workerX(step.life) ?? 96;
    const inBand = gapOpen.has(step.life) || step.kind === "effect";
    const group = svg("g", { class: inBand ? "in-band" : null });
    layers.front.append(group);
    drawStep(group, step, { x, line, first: place(0), storeX, targetX, options });
    const words = [...group.querySelectorAll("text:not(.life-name)")].map((text) => text.textContent);
    if (words.length) said.push([step.life, words.join(", ")]);
    if (step.kind === "life" || step.kind === "woken") along.begin(step.life, line - 4);
    if (step.kind === "effect" && step.call) gapOpen.set(step.life, Math.min(gapOpen.get(step.life) ?? Infinity, top + 6));
    if (step.kind === "commit" && gapOpen.has(step.life)) { bands.push([gapOpen.get(step.life), line, false]); gapOpen.delete(step.life); }
    if (step.kind === "fault" && gapOpen.has(step.life)) { bands.push([gapOpen.get(step.life), line + 10, true]); gapOpen.delete(step.life); }
    if (step.kind === "fault" && step.does === "kill") along.end(step.life, line);
    if (step.kind === "fault" && step.does === "pause") along.begin(step.life, line, "stopped");
    if (step.kind === "end") along.end(step.life, line - 2);
  }
  along.endAll(y);
  for (const { life, kind, from, to } of along.done) {
    layers.lives.append(svg("line", { class: kind, x1: workerX(life), x2: workerX(life), y1: from, y2: to }));
    if (kind === "stopped" && to - from > 60) layers.front.append(svg("text", { class: "mute turned", x: workerX(life) - 10, y: (from + to) / 2, transform: `rotate(-90 ${workerX(life) - 10} ${(from + to) / 2})`, "text-anchor": "middle" }, "stopped"));
  }
  for (const [start, end, cut] of bands) {
    layers.back.append(svg("rect", { class: "band", x: 4, width: width - 8, y: start, height: end - start, rx: 8 }));
    if (cut) layers.front.append(svg("text", { class: "gap-text", x: width - 14, y: end - 9, "text-anchor": "end" }, "acknowledgment gap"));
  }
  lanes.forEach((lane, number) => {
    layers.rest.append(svg("line", { class: "rest", x1: place(number), x2: place(number), y1: 34, y2: y + 6, "stroke-dasharray": lane.id.startsWith("worker") ? "2 5" : null }));
    layers.front.append(svg("text", { class: "lane", x: place(number), y: 22, "text-anchor": "middle" }, short(lane.text, 22)));
  });
  const picture = svg("svg", { class: "lives", viewBox: `0 0 ${width} ${y + 14}`, width, height: y + 14, role: "img", "aria-label": options.label },
    layers.back, layers.rest, layers.lives, layers.front);
  return picture;
}

function drawPause(layers, y, width, seconds) {
  layers.back.append(svg("rect", { class: "pause", x: 4, width: width - 8, y: y + 8, height: 34, rx: 8 }));
  layers.front.append(svg("text", { class: "mute", x: 110, y: y + 30 }, pauseWords(seconds)));
  return y + 46;
}

function pauseWords(seconds) { return `${span(seconds)} pass on the services' clock`; }

function span(seconds) {
  for (const [unit, size] of [["days", 86400], ["hours", 3600], ["minutes", 60]]) {
    if (seconds >= 2 * size || (unit === "hours" && seconds >= size)) return `${Number((seconds / size).toFixed(1))} ${unit}`;
  }
  return `${Number(seconds.toFixed(1))} seconds`;
}

function arrow(group, x1, x2, y, { bad = false, cut = false } = {}) {
  const direction = x2 > x1 ? 1 : -1;
  const end = cut ? x1 + (x2 - x1) * 0.72 : x2 - direction * 2;
  group.append(svg("line", { class: `arrow${bad ? " bad" : ""}${cut ? " lost-way" : ""}`, x1: x1 + direction * 3, x2: end - (cut ? 0 : direction * 5), y1: y, y2: y }));
  if (cut) group.append(svg("path", { class: "arrow bad", d: `M${end - 4} ${y - 4}l8 8m0 -8l-8 8` }));
  else group.append(svg("path", { class: `head${bad ? " bad" : ""}`, d: `M${end} ${y}l${-direction * 8} -4v8z` }));
}

function lifeName(group, step, { x, line, first }) {
  const aside = x > first;
  group.append(svg("text", { class: "life-name", x: aside ? x - 12 : 8, y: line - 4, "text-anchor": aside ? "end" : null }, `Life ${step.life}`));
}

function label(group, x, y, text, names = "") {
  group.append(svg("text", { class: names, x, y }, text));
}

function drawStep(group, step, at) {
  const { x, line, storeX } = at;
  const left = x + 14;
  switch (step.kind) {
    case "life": {
      lifeName(group, step, at);
      if (step.life > 1) label(group, left, line - 4, `${step.beside ? `starts beside life ${step.beside}` : "starts again"}; ${step.recorded ? `last recorded: ${short(step.recorded, 44)}` : "nothing was recorded"}`, "mute");
      break;
    }
    case "woken": {
      lifeName(group, step, at);
      group.append(svg("path", { class: "wake", d: `M${x - 5} ${line - 16}l10 6l-10 6z` }));
      label(group, left, line - 4, "wakes up, and knows nothing of what happened meanwhile", "mute");
      break;
    }
    case "request": {
      const target = at.targetX(step.call), bad = Boolean(step.call.effect && step.call.effect.again);
      arrow(group, x, target, line);
      const key = step.call.effectful ? ` · ${step.call.key ? `key ${short(step.call.key, 16)}` : "no key"}` : "";
      label(group, left, line - 7, `${step.call.method} ${short(step.call.path, 24)}${key}`, `code${bad ? " bad" : ""}`);
      break;
    }
    case "effect": {
      if (!step.call) break;
      const target = at.targetX(step.call);
      group.append(svg("circle", { class: `dot ${step.again ? "bad" : "good"}`, cx: target, cy: line - 2, r: 6 }));
      label(group, target + 13, line + 2.5, `${step.object || "effect"}${step.again ? " again" : ""}`, step.again ? "bad" : "good");
      break;
    }
    case "answer": {
      const target = at.targetX(step.call);
      arrow(group, target, x, line);
      const said = { replayed: "first answer again", existing: "exists already", rejected: "refused", conflict: "being worked on" }[step.call.decision];
      label(group, left, line - 7, `${step.call.status}${step.call.object ? ` ${step.call.object}` : ""}${said ? ` · ${said}` : ""}`, "code mute");
      break;
    }
    case "unanswered": {
      arrow(group, at.targetX(step.call), x, line, { cut: true });
      label(group, left, line - 7, step.call.reason || "no answer: its life is over", step.call.reason ? "bad" : "mute");
      break;
    }
    case "call": {
      const target = at.targetX(step.call);
      arrow(group, x, target, line);
      label(group, left, line - 7, `${step.call.operation}#${step.call.occurrence} → ${step.call.status ?? "?"}${step.call.object ? ` ${step.call.object}` : ""}`, "code mute");
      if (step.call.effect) group.append(svg("circle", { class: "dot good", cx: target, cy: line, r: 5 }));
      break;
    }
    case "commit": {
      arrow(group, x, storeX - 7, line);
      group.append(svg("rect", { class: "write", x: storeX - 6, y: line - 6, width: 12, height: 12, rx: 2 }));
      label(group, left, line - 7, `records ${short(step.name, 44)}`, "code mute");
      break;
    }
    case "unwritten": {
      arrow(group, x, storeX, line, { cut: true });
      label(group, left, line - 7, `about to record ${short(step.name, 40)}`, "code mute");
      break;
    }
    case "unsent": label(group, left, line, `about to call ${step.name}#${step.occurrence}`, "code mute"); break;
    case "interference": {
      const held = /^(?:\d+\.)?hold@(.*):committing,until=(.*)$/.exec(step.fault);
      if (held) label(group, left, line, `${short(held[1], 36)} is held until ${short(held[2], 36)} has landed`, "held");
      else label(group, left, line, `fault: ${short(step.fault.replace(/^(?:\d+\.)?/, "").replace("@", " at "), 60)}`, "bad");
      break;
    }
    case "fault": {
      const words = { kill: "SIGKILL", term: "SIGTERM", pause: "stopped" }[step.does];
      group.append(svg("path", { class: step.does === "kill" ? "bolt" : "bolt soft", d: step.does === "pause" ? `M${x - 4} ${line - 6}v12m8 -12v12` : `M${x - 6} ${line - 6}l12 12m0 -12l-12 12` }));
      label(group, left, line + 4, `${words} at ${short(step.fault.replace(/^[^@]*@/, "").replace(/,.*/, ""), 52)}`, "bad");
      break;
    }
    case "end": {
      if (step.copied) label(group, left, line, "copied while parked, not killed", "mute");
      else if (step.signal !== null && step.by) label(group, left, line, `dead, signal ${step.signal}`, "mute");
      else if (step.signal !== null) label(group, left, line, `died by itself, signal ${step.signal}`, "bad");
      else label(group, left, line, `exits with ${step.code}`, step.code === 0 ? "mute" : "bad");
      break;
    }
    case "say": label(group, left, line, short(step.text.replace(/\s+/g, " "), 90), step.tone || "mute"); break;
    case "more": {
      const more = svg("g", { class: "more", on: { click: at.options.unfold } }, svg("text", { x: left, y: line }, `⋯ ${step.text}${step.effects ? `, ${plural(step.effects, "effect")}` : ""}`));
      group.append(more);
      break;
    }
  }
}
