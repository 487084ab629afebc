// The thing picked in the drawing or found by name, in words, and its actions.
import { element, replace } from "./elements.js";
import { carries, describe } from "./fabric.js";
import { pageOf } from "./tables.js";

/** `actions`: {drain, undrain}, or null without permission. */
export function showSelected(thing, fabric, actions, show) {
  const box = document.getElementById("selected");
  box.hidden = !thing;
  if (!thing) return;
  box.querySelector("h2").textContent = thing.kind === "link" ? `Link ${thing.number}` : `${thing.kind} ${thing.name}`;
  const lines = describe(thing, fabric).split("\n").map((text) => element("div", text));
  if (thing.kind === "switch") {
    lines.push(element("div", element("a", "All about it", { href: pageOf(thing.name) })));
    lines.push(element("ul", thing.links.map((link) => element("li", element("button", `${fabric.nameOf(link)}: ${link.up ? carries(link) : "down"}`,
      { type: "button", class: "row", "data-key": `link ${link.number}`, onclick: () => show(link) })))));
    if (actions) lines.push(drainButton(thing, fabric, actions));
  }
  replace(box.querySelector("div"), lines);
}

function drainButton(thing, fabric, { drain, undrain }) {
  return fabric.drained.has(thing.name)
    ? element("button", "Take into use again…", { type: "button", class: "changes", onclick: () => undrain(thing.name) })
    : element("button", "Drain…", { type: "button", class: "changes", onclick: () => drain(thing.name) });
}

/** The best match among switches, hosts and groups: the name equals, begins with, or contains the text. */
export function findByName(text, fabric) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return null;
  const groups = fabric.groups.map((group) => ({ kind: "group", name: group.name, key: `${group.job}/${group.name}` }));
  const all = [...fabric.switches.values(), ...fabric.hosts.values(), ...groups];
  const named = (test) => all.find((one) => test(one.name.toLowerCase()));
  return named((name) => name === wanted) ?? named((name) => name.startsWith(wanted)) ?? named((name) => name.includes(wanted)) ?? null;
}
