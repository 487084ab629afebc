// The lists beside the drawing.
import { element, fill } from "./elements.js";
import { carries, nameOf, stateOf } from "./fabric.js";

const MOST = 200;
const EVENTS_KEPT = 300;

const byId = (id) => document.getElementById(id);

/** "no members" and so on, so that an empty list is not taken for a broken one. */
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
  if (fabric.routes?.behind.length) items.push(element("li", `routes are not yet what they should be at ${fabric.routes.behind.join(", ")}`));
  fill(byId("waits"), items.slice(0, MOST), "nobody");
}

const STEPS = [["computed_us", "computed"], ["verified_us", "verified"], ["installed_us", "installed"]];

const ms = (us) => `${(us / 1000).toFixed(us < 10_000 ? 1 : 0)} ms`;

export function showFaults(fabric) {
  if (fabric.faults === null) {
    fill(byId("faults"), [], "only for administrators here; links that are down are in the drawing and the events");
    return;
  }
  const items = fabric.faults.map((fault) => element("li", [
    element("div", [element("strong", fault.events[0] ?? "fault"), fault.events.length + fault.more_events > 1
      ? ` and ${fault.events.length + fault.more_events - 1} more` : "", ` – ${fault.state}`]),
    element("div", [
      element("span", `detected ${fault.time.replace("T", " ").replace(/\.\d+Z$/, "Z")}`),
      ...STEPS.map(([key, word]) => element("span", fault[key] === undefined ? `not ${word}` : `${word} +${ms(fault[key])}`,
        { class: fault[key] === undefined ? "missing" : "" })),
    ], { class: "timeline" }),
    ...[...fault.trees.length ? [`trees: ${fault.trees.join(", ")}`] : [], ...fault.failures].map((text) => element("div", text, { class: "faint" })),
  ], { "data-fault": fault.fault, "data-time": fault.time, "data-state": fault.state }));
  fill(byId("faults"), items, "none since the manager started");
}

/** `chosen`: "job/name" of groups that are highlighted. */
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
  const rank = (one) => (one.load.drops_per_second + one.load.paused) * 1e9 + one.load.drops + one.load.pauses_received + one.load.pauses_sent;
  const troubled = [...new Set(fabric.behind.values())].filter((one) => one.load && rank(one) > 0).sort((a, b) => rank(b) - rank(a));
  const items = troubled.slice(0, 20).map((one) => element("li", `${one.kind === "link" ? nameOf(one) : one.name}: ${carries(one)}`,
    { class: one.load.drops_per_second > 0 ? "bad" : "" }));
  if (troubled.length > 20) items.push(element("li", `and ${troubled.length - 20} more`));
  fill(byId("drops"), items, "none");
}

export function showProblems(fabric) {
  fill(byId("problems"), fabric.problems.slice(0, MOST).map((text) => element("li", text, { class: "bad" })), "none");
}

/** Newest first. Called for many at once when the page begins, so it touches nothing but the list. */
export function addEvent(kind, body) {
  const list = byId("events");
  const time = (body.time ?? "").slice(11, 19);
  list.prepend(element("li", [element("time", time, { datetime: body.time ?? "" }), ` ${body.text ?? kind}`], { "data-kind": kind }));
  while (list.childElementCount > EVENTS_KEPT) list.lastElementChild.remove();
}

export function clearEvents() {
  byId("events").replaceChildren();
}

export function showSummary(fabric, layout) {
  const away = [...fabric.switches.values()].filter((one) => !one.connected || !one.up).length;
  const down = fabric.links.filter((link) => stateOf(link) === "down").length;
  const shape = layout.shape === "fat tree" ? `fat tree of ${layout.parts} tiers`
    : layout.shape === "dragonfly" ? `dragonfly of ${layout.parts} groups` : "no known shape";
  byId("summary").textContent = fabric.switches.size === 0 ? "no switches yet"
    : `${shape}: ${fabric.switches.size} switches${away ? ` (${away} away)` : ""}, ${fabric.links.length} links${down ? ` (${down} down)` : ""}, `
      + `${fabric.hosts.size} hosts, ${fabric.groups.length} groups`;
}
