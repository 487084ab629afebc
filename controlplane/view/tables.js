// The drawing as tables, for whoever does not see it: made only while they are open.
import { element } from "./elements.js";
import { carries, stateOf } from "./fabric.js";

const MOST = 500;

function put(table, heads, rows) {
  table.tHead.replaceChildren(element("tr", heads.map((text) => element("th", text, { scope: "col" }))));
  table.tBodies[0].replaceChildren(...rows);
}

/** Rows whose names have `wanted`, what is wrong first. */
export function showTables(fabric, layout, wanted) {
  const text = wanted.trim().toLowerCase();
  const switches = [...fabric.switches.values()].filter((one) => one.name.toLowerCase().includes(text))
    .sort((a, b) => Number(a.connected && a.up) - Number(b.connected && b.up));
  put(document.getElementById("switch-table"), ["switch", layout.shape === "dragonfly" ? "group" : "tier", "state", "hosts", "links", "trees"],
    switches.slice(0, MOST).map((one) => {
      const place = layout.places.get(one.name);
      const state = [one.connected ? "connected" : "no channel", one.up ? "" : "down", fabric.drained.has(one.name) ? "drained" : ""].filter(Boolean).join(", ");
      return element("tr", [one.name, layout.shape === "dragonfly" ? place?.group : place?.tier, state, one.hosts.length, one.links.length, one.trees]
        .map((value) => element("td", String(value ?? ""))), { "data-switch": one.name });
    }));
  const links = fabric.links.filter((link) => link.a.switch.toLowerCase().includes(text) || link.b.switch.toLowerCase().includes(text))
    .sort((a, b) => Number(a.up) - Number(b.up));
  put(document.getElementById("link-table"), ["from", "to", "state", "carries"], links.slice(0, MOST).map((link) =>
    element("tr", [`${link.a.switch} port ${link.a.port}`, `${link.b.switch} port ${link.b.port}`, stateOf(link), link.up ? carries(link) : ""]
      .map((value) => element("td", value)), { "data-link": link.number, "data-state": stateOf(link) })));
  document.getElementById("tables-note").textContent = switches.length > MOST || links.length > MOST
    ? `The first ${MOST} of ${switches.length} switches and of ${links.length} links; Find, above, leaves fewer.` : "";
}
