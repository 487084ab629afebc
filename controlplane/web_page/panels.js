// The lists beside the drawing.
import { element, fill, replace, svg } from "./elements.js";
import { carries, stateOf } from "./fabric.js";
import { MINUTES, SEVERITIES } from "./history.js";

const MOST = 200;
const EVENTS_SHOWN = 300;

const byId = (id) => document.getElementById(id);

/** "no members" etc., so that an empty list does not look like an error. */
export function showWaits(fabric) {
  const items = [];
  for (const group of fabric.groups) {
    const missing = group.missing ?? [];
    if (missing.length === 0 && group.state === "ready") continue;
    const who = missing.map((one) => `rank ${one.rank}: ${one.why}`).join("; ");
    items.push(element("li", `${group.job}/${group.name} ${group.text}${who && ` – ${who}`}`, { "data-group": group.name }));
  }
  for (const one of fabric.transactions) {
    if (one.waits_for.length === 0) continue;
    items.push(element("li", `${one.text || one.what} waits for ${one.waits_for.join(", ")}`, { "data-transaction": one.transaction }));
  }
  if (fabric.routes?.out_of_sync.length) items.push(element("li", `routes are out of sync at ${fabric.routes.out_of_sync.join(", ")}`));
  fill(byId("waits"), items.slice(0, MOST), "none");
}

const STEPS = [["computed_us", "computed"], ["verified_us", "verified"], ["installed_us", "installed"]];

const ms = (us) => `${(us / 1000).toFixed(us < 10_000 ? 1 : 0)} ms`;

function faultItem(fault, isBad) {
  const more = fault.events.length + fault.more_events - 1;
  return element("li", [
    element("div", [element("strong", fault.events[0] ?? "fault"), more > 0 ? ` and ${more} more` : "", ` – ${fault.state}`]),
    element("div", [
      element("span", `detected ${fault.time.replace("T", " ").replace(/\.\d+Z$/, "Z")}`),
      ...STEPS.map(([key, word]) => element("span", fault[key] === undefined ? `not ${word}` : `${word} +${ms(fault[key])}`,
        { class: fault[key] === undefined ? "missing" : "" })),
    ], { class: "timeline" }),
    ...[...fault.trees.length ? [`trees: ${fault.trees.join(", ")}`] : [], ...fault.failures].map((text) => element("div", text, { class: "faint" })),
  ], { "data-fault": fault.fault, "data-time": fault.time, "data-state": fault.state, class: isBad ? "bad" : "" });
}

/** Faults, and separately recoveries and requests; routes and trees answer both in the same way. */
export function showFaults(fabric) {
  byId("recoveries").closest("section").hidden = fabric.faults === null;
  if (fabric.faults === null) {
    fill(byId("faults"), [], "only for administrators here; links that are down are in the drawing and the events");
    return;
  }
  // A failed answer is repaired by the next one, whatever its cause.
  const items = (wanted) => fabric.faults
    .map((fault, n) => [fault, n === 0 && fault.state === "failed"])
    .filter(([fault]) => (fault.cause === "fault") === wanted)
    .map(([fault, isBad]) => faultItem(fault, isBad));
  fill(byId("faults"), items(true), "none since the manager started");
  fill(byId("recoveries"), items(false), "none since the manager started");
}

/** `chosen`: "job/name" of highlighted groups. */
export function showGroups(fabric, chosen, toggle, destroy) {
  const items = fabric.groups.slice(0, MOST).map((group) => {
    const key = `${group.job}/${group.name}`;
    const trees = (group.routes ?? []).map((one) => `tree ${one.tree}, ${one.switches} switches`).join("; ");
    return element("li", [
      element("button", `${key}: ${group.state}, ${group.joined} of ${group.size}${trees && ` (${trees})`}`,
        { type: "button", class: "row", "aria-pressed": String(chosen.has(key)), "data-key": key, onclick: () => toggle(key) }),
      ...destroy ? [element("button", "Destroy…", { type: "button", class: "changes", "data-key": `destroy ${key}`, onclick: () => destroy(group) })] : [],
    ], { "data-group": key, "data-state": group.state });
  });
  if (fabric.groups.length > MOST) items.push(element("li", `and ${fabric.groups.length - MOST} more`));
  fill(byId("groups"), items, "none that you may see");
}

export function showDrops(fabric) {
  const loads = [...new Set(fabric.behind.values())].filter((one) => one.load);
  const rank = (one) => (one.load.drops_per_second + one.load.paused) * 1e9 + one.load.drops + one.load.pauses_received + one.load.pauses_sent;
  const troubled = loads.filter((one) => rank(one) > 0).sort((a, b) => rank(b) - rank(a));
  const items = troubled.slice(0, 20).map((one) => element("li", `${fabric.nameOf(one)}: ${carries(one)}`,
    { class: one.load.drops_per_second > 0 ? "bad" : "" }));
  if (troubled.length > 20) items.push(element("li", `and ${troubled.length - 20} more`));
  const repeats = loads.reduce((sum, one) => sum + one.load.repeats, 0);
  if (repeats > 0) {
    items.push(element("li", `${repeats} contributions arrived twice and were counted once, as in any run that repeats what is late`, { class: "faint" }));
  }
  fill(byId("drops"), items, "none");
}

export function showProblems(fabric) {
  fill(byId("problems"), fabric.problems.slice(0, MOST).map((text) => element("li", text, { class: "bad" })), "none");
}

/** `filter`: as History.shown. */
export function showEvents(history, filter) {
  fill(byId("events"), history.shown(filter, EVENTS_SHOWN).map(({ kind, severity, time, text }) => element("li", [
    element("time", time.slice(11, 19), { datetime: time }), severity === "info" ? ` ${text}` : ` ${severity}: ${text}`,
  ], { "data-kind": kind, "data-severity": severity })), "none");
  const kinds = byId("event-kind");
  const chosen = kinds.value;
  replace(kinds, [element("option", "any kind", { value: "" }), ...history.kinds().map((kind) => element("option", kind, { value: kind }))]);
  kinds.value = chosen;
}

const WIDTH = 360; // of the chart of the last hour, which is stretched to the available width
const HEIGHT = 40;

/** A bar for each minute: errors at the bottom, where they are seen first. Few and many events are both visible. */
export function showHour(history, now) {
  const bars = [];
  const most = [...SEVERITIES].reverse();
  history.lastHour(now).forEach((minute, n) => {
    const all = most.reduce((sum, severity) => sum + minute[severity], 0);
    if (all === 0) return;
    const height = Math.min(HEIGHT, 6 + 6 * Math.log2(all));
    const parts = most.filter((severity) => minute[severity] > 0);
    let y = HEIGHT;
    const title = svg("title", {}, `${MINUTES - n} min ago: ${parts.map((severity) => `${minute[severity]} ${severity}`).join(", ")}`);
    bars.push(svg("g", { "data-minute": n }, title, ...parts.map((severity) => {
      const part = (height * minute[severity]) / all;
      y -= part;
      return svg("rect", { x: (n * WIDTH) / MINUTES, y: y.toFixed(1), width: WIDTH / MINUTES - 1, height: part.toFixed(1), class: severity });
    })));
  });
  const marks = [60, 45, 30, 15, 0].map((ago) => svg("text", { x: WIDTH - (ago * WIDTH) / 60, y: HEIGHT + 12,
    "text-anchor": ago === 60 ? "start" : ago ? "middle" : "end" }, ago ? `-${ago} min` : "now"));
  replace(byId("hour"), [...bars, svg("line", { x1: 0, x2: WIDTH, y1: HEIGHT, y2: HEIGHT }), ...marks]);
}

export function showSummary(fabric, layout) {
  const away = [...fabric.switches.values()].filter((one) => !one.connected || !one.up).length;
  const down = fabric.links.filter((link) => stateOf(link) === "down").length;
  const quiet = [...fabric.hosts.values()].filter((host) => stateOf(host) === "quiet").length;
  const gone = [...fabric.hosts.values()].filter((host) => stateOf(host) === "down").length;
  const shape = layout.shape === "fat tree" ? `fat tree of ${layout.parts} tiers`
    : layout.shape === "dragonfly" ? `dragonfly of ${layout.parts} groups` : "no known shape";
  byId("summary").textContent = fabric.switches.size === 0 ? "no switches yet"
    : `${shape}: ${fabric.switches.size} switches${away ? ` (${away} away)` : ""}, ${fabric.links.length} links${down ? ` (${down} down)` : ""}, `
      + `${fabric.hosts.size} hosts${quiet ? ` (${quiet} quiet)` : ""}${gone ? ` (${gone} down or missing)` : ""}, ${fabric.groups.length} groups`;
}
