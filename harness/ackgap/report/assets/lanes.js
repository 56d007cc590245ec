// Which lane a life stands in, and when it was alive, stopped, or gone.
function laneNames(story, steps) {
  const workers = Math.max(1, ...story.lives.map((life) => laneOfLife(story, life.number) + 1));
  const lanes = [];
  for (let number = 0; number < workers; number++) lanes.push({ id: `worker${number}`, text: workers > 1 ? `worker ${"ABCDEF"[number] || number}` : "worker" });
  const targets = [...new Set(steps.filter((step) => step.call).map((step) => step.call.target))];
  const full = new Set(steps.filter((step) => step.kind === "request").map((step) => step.call.target));
  const own = targets.length <= 2 ? targets : targets.filter((target) => full.has(target)).slice(0, 3);
  if (own.length < targets.length) lanes.push({ id: "others", text: own.length ? "other services" : "services" });
  lanes.push(...own.map((target) => ({ id: target, text: target })));
  lanes.push({ id: "store", text: "durable store" });
  return lanes;
}

// Lives that overlap stand side by side; lives that follow one another share a lane.
function laneOfLife(story, number) {
  const life = story.lives.find((other) => other.number === number);
  if (!life) return 0;
  if (life.lane === undefined) {
    const taken = new Set(life.overlaps.map((other) => laneOfLife(story, other)));
    life.lane = 0;
    while (taken.has(life.lane)) life.lane++;
  }
  return life.lane;
}

// Where lanes stand. Those of workers are further apart, so that what one does is not written across the other.
function placesOf(lanes, width) {
  const gaps = lanes.slice(1).map((lane) => lane.id.startsWith("worker") ? 1.4 : 1);
  const whole = Math.max(1, gaps.reduce((sum, gap) => sum + gap, 0));
  return (number) => 96 + gaps.slice(0, number).reduce((sum, gap) => sum + gap, 0) * ((width - 96 - 84) / whole);
}

// Stretches of lives: from where to where each was alive or stopped, as the picture grows downwards.
function stretches() {
  const done = [], going = new Map();
  const end = (life, y) => {
    const begun = going.get(life);
    if (begun) done.push({ ...begun, to: y });
    going.delete(life);
  };
  return {
    done,
    begin(life, y, kind = "alive") { end(life, y); going.set(life, { life, kind, from: y }); },
    end,
    stopped: (life) => going.has(life) && going.get(life).kind === "stopped",
    endAll(y) { for (const life of [...going.keys()]) end(life, y); },
  };
}
