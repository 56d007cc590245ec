// From the events of a history to the steps that a reader sees.
function storyOf(events, findings, fault) {
  const calls = new Map();
  const steps = [];
  const lives = new Map();
  const pending = new Map();
  let clock = 0, recorded = "";
  const seen = new Map();
  const add = (kind, life, values) => { const step = { kind, life, ...values }; steps.push(step); return step; };
  for (const event of events) {
    const life = event.incarnation;
    switch (event.kind) {
      case "incarnation_started": {
        const later = event.clock_offset_s - clock;
        clock = event.clock_offset_s;
        const beside = [...lives.values()].filter((other) => other.open).map((other) => other.number);
        lives.set(life, { number: life, open: true, overlaps: beside });
        add("life", life, { later, recorded, beside: beside.join(" and ") });
        break;
      }
      case "attempt_received": {
        const call = { ...event, life };
        calls.set(event.attempt, call);
        pending.delete(`${life} ${event.operation}#${event.occurrence}`);
        add("request", life, { call });
        break;
      }
      case "effect_applied": {
        const call = calls.get(event.attempt);
        const known = Object.keys(event.identity || {}).length > 0;
        const identity = JSON.stringify([event.operation, known ? event.identity : event.content]);
        const count = (seen.get(identity) || 0) + 1;
        seen.set(identity, count);
        if (call) call.effect = event;
        add("effect", life, { call, object: event.object_id, again: count > 1 });
        break;
      }
      case "attempt_answered":
      case "attempt_dropped": {
        const call = calls.get(event.attempt);
        if (!call) break;
        call.decision = event.decision;
        call.rule = event.rule;
        call.cost = event.cost;
        call.object = event.object_id || (call.effect && call.effect.object_id) || "";
        call.status = event.status;
        call.reason = event.reason || "";
        add(event.kind === "attempt_answered" ? "answer" : "unanswered", call.life, { call });
        break;
      }
      case "boundary_reached":
        if (event.phase === "committed") {
          pending.delete(`${life} ${event.name}#${event.occurrence}`);
          recorded = event.name;
          add("commit", life, { name: event.name, occurrence: event.occurrence });
        } else if (event.phase === "committing" || event.phase === "sending") {
          pending.set(`${life} ${event.name}#${event.occurrence}`, event);
        }
        break;
      case "fault_injected":
        if (!strikesWorker(event.fault)) {
          add("interference", life, { fault: event.fault });
          break;
        }
        for (const [key, waiting] of pending) {
          if (waiting.incarnation === life) {
            pending.delete(key);
            add(waiting.phase === "sending" ? "unsent" : "unwritten", life, { name: waiting.name, occurrence: waiting.occurrence });
          }
        }
        add("fault", life, { fault: event.fault, does: faultKind(event.fault), settling: event.settling, digest: event.store_digest });
        break;
      case "incarnation_ended":
        if (lives.has(life)) lives.get(life).open = false;
        add("end", life, { code: event.exit_code, signal: event.signal, by: event.by_harness, copied: Boolean(event.copied), tail: event.output_tail, digest: event.store_digest });
        break;
      case "work_finished": add("say", life, { text: `Finished: ${event.how || ""}`, tone: "good" }); break;
      case "in_doubt_surfaced": add("say", life, { text: `The worker asks a human: ${event.text || ""}`, tone: "" }); break;
      case "engine_reported": add("say", life, { text: `${event.engine} says: ${event.state}${event.text ? `, ${event.text}` : ""}`, tone: "" }); break;
      case "gave_up": add("say", 0, { text: `Given up: ${event.text || ""}`, tone: "bad" }); break;
      case "client_gave_up": add("say", life, { text: "The worker closed the connection while its request was held", tone: "bad" }); break;
      case "discarded_at_death": add("say", life, { text: `${event.byte_count} unread bytes of life ${life} were discarded at ${event.target}`, tone: "" }); break;
      case "egress_attempted": add("say", life, { text: `Reached out to ${event.host}: ${event.allowed ? "allowed" : "refused"}`, tone: "bad" }); break;
      case "wrote_outside": add("say", life, { text: `Wrote outside its directory: ${event.path}`, tone: "bad" }); break;
      case "check_reported": add("say", 0, { text: `Check ${event.name} ${event.passed === null ? "could not tell" : event.passed ? "holds" : "does not hold"}. ${event.text || ""}`, tone: event.passed ? "good" : "bad" }); break;
      case "note": {
        const woken = event.code === "woken" && /^life (\d+)/.exec(event.text);
        if (woken) add("woken", Number(woken[1]), {});
        else add("say", life, { text: event.text || event.code || "", tone: "" });
        break;
      }
    }
  }
  return { steps: joined(steps, concerned(findings, fault, steps)), calls: [...calls.values()], lives: [...lives.values()] };
}

// Operations whose requests are drawn in full: those of the findings, and the one around which the kill happened.
/** What a fault does: `kill`, `pause`, `hold`. */
function faultKind(fault) { return /^(?:\d+\.)?([a-z]+)/.exec(fault)[1]; }

/** Whether a fault is done to the worker as a whole; else to one of its calls or writes. */
function strikesWorker(fault) { return ["kill", "term", "pause"].includes(faultKind(fault)); }

function concerned(findings, fault, steps) {
  const names = new Set(findings.filter((finding) => finding.kind && finding.kind !== "wasted").map((finding) => finding.operation).filter(Boolean));
  if (fault) {
    names.add(fault.name);
    let last = "";
    for (const step of steps) {
      if (step.kind === "request" && step.call.effectful) last = step.call.operation;
      if (step.kind === "fault") break;
    }
    if (last && fault.kind === "checkpoint") names.add(last);
  }
  return names;
}

// A call that nothing happened to becomes one line; the commit behind a call of interest stays visible.
function joined(steps, names) {
  const result = [];
  const whole = new Set(steps.filter((step) => step.kind === "answer").map((step) => step.call));
  let closing = null;
  for (const step of steps) {
    const plain = step.call && whole.has(step.call) && !names.has(step.call.operation);
    if (plain && step.kind === "request") result.push({ kind: "call", life: step.life, call: step.call, minor: true });
    else if (plain) continue;
    else if (step.kind === "commit") {
      result.push({ ...step, minor: closing !== step.life });
      if (closing === step.life) closing = null;
    } else {
      if (step.kind === "effect" || step.kind === "answer") closing = step.life;
      result.push(step);
    }
  }
  return result;
}

// Runs of three and more minor steps become one line that opens.
function folded(steps, unfolded) {
  if (unfolded) return steps;
  const result = [];
  let run = [];
  const flush = () => {
    if (run.length > 2) {
      const calls = run.filter((step) => step.kind === "call").length;
      const commits = run.length - calls;
      const parts = [calls && `${plural(calls, "call")} answered`, commits && `${plural(commits, "checkpoint")} recorded`];
      result.push({ kind: "more", life: run[0].life, text: parts.filter(Boolean).join(", "), effects: run.filter((step) => step.call && step.call.effect).length });
    } else result.push(...run);
    run = [];
  };
  for (const step of steps) {
    if (step.minor && (!run.length || run[0].life === step.life)) run.push(step);
    else { flush(); if (step.minor) run.push(step); else result.push(step); }
  }
  flush();
  return result;
}
