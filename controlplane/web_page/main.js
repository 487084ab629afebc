// The web page. How the modules fit together:
//
//   api, session     requests, and login
//   events           the stream, or polling in its place
//   refresher        when to fetch a list again
//   fabric           the model, without any element
//   history          past events
//   layout           places of switches, by the fabric's shape
//   camera, layer, drawing, palette     the canvas
//   panels, selection, tables, dialogs, elements    everything else on the page
//
// An event updates what it contains immediately (a link is down), and says which lists to fetch again.
import { Api, Refused } from "./api.js";
import { askForToken, confirmed } from "./dialogs.js";
import { Drawing } from "./drawing.js";
import { Events } from "./events.js";
import { describe, Fabric } from "./fabric.js";
import { layOut } from "./layout.js";
import { History } from "./history.js";
import { fillLegend, onSchemeChange, readPalette } from "./palette.js";
import * as panels from "./panels.js";
import { Refresher } from "./refresher.js";
import { findByName, showSelected } from "./selection.js";
import { Session } from "./session.js";
import { showSwitchPage, showTables } from "./tables.js";

const FAULTS_SHOWN = 20;
const TREE_COLOURS = ["tree1", "tree2", "tree3", "tree4"];

const byId = (id) => document.getElementById(id);
const session = new Session();
const api = new Api(session);
const fabric = new Fabric();
const history = new History();
const canvas = byId("fabric");
let layout = layOut([], []);
let picked = null;
const chosen = new Set(); // "job/name" of groups

const drawing = new Drawing(canvas, fabric, {
  pick: (thing) => pick(thing),
  covered: () => canvas.clientHeight - byId("legend").offsetTop,
  hover(thing, x, y) {
    const tip = byId("tip");
    tip.hidden = !thing;
    if (!thing) return;
    tip.textContent = describe(thing, fabric);
    tip.style.left = `${Math.min(x + 12, canvas.clientWidth - 200)}px`;
    tip.style.top = `${y + 12}px`;
  },
});

// ---- fetching ----

const troubles = new Map(); // by source of the error
let shutOut = false; // login is required: the manager shows nothing without it

function trouble(what, text) {
  if (text) troubles.set(what, text);
  else troubles.delete(what);
  const all = [...new Set(troubles.values())];
  byId("trouble").hidden = all.length === 0;
  byId("trouble").dataset.kind = shutOut ? "note" : "trouble"; // a login is not a repair
  byId("trouble").textContent = all.join(" ");
}

function looker(what, pause, look) {
  return new Refresher(async () => {
    await look();
    trouble(what, "");
  }, pause, (error) => {
    if (error instanceof Refused && error.status === 401 && !session.token) {
      shutOut = true;
      trouble(what, "This manager shows the fabric only to those who log in.");
    } else {
      trouble(what, `${what}: ${error.message}.`);
      if (!(error instanceof Refused)) console.error(error);
    }
  });
}

const topology = looker("topology", { least: 500 }, async () => {
  const pages = [];
  await api.pages("api/v1/topology", (page) => pages.push(page));
  if (fabric.takeTopology(pages) || layout.places.size === 0) {
    const all = [...fabric.switches.values()].map((one) => ({ name: one.name, hosts: one.hosts.length + (one.silent ? 1 : 0) }));
    layout = layOut(all, fabric.links.map((link) => [link.a.switch, link.b.switch]));
  }
  drawing.setLayout(layout);
  pick(picked);
  panels.showProblems(fabric);
  show();
});

const groups = looker("groups", { least: 250 }, async () => {
  [fabric.groups, fabric.trees, fabric.transactions] = await Promise.all(["groups", "trees", "transactions"].map((name) => api.list(name)));
  if (session.role === "administrator") {
    const [jobs, nodes] = await Promise.all(["jobs", "nodes"].map((name) => api.list(name)));
    fabric.jobs = jobs.map((job) => ({ ...job, nodes: nodes.filter((node) => node.job === job.job).map((node) => node.node) }));
  } else {
    fabric.jobs = null;
  }
  for (const key of chosen) if (!fabric.groups.some((group) => `${group.job}/${group.name}` === key)) chosen.delete(key);
  show();
});

const faults = looker("faults", { least: 250, most: 250 }, async () => {
  try {
    fabric.faults = (await api.get(`api/v1/faults?limit=${FAULTS_SHOWN}`)).faults;
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 403) throw error;
    fabric.faults = null;
  }
  panels.showFaults(fabric);
});

const routes = looker("routes", { least: 500, most: 500 }, async () => {
  fabric.takeRoutes(await api.get("api/v1/routes"));
  show();
});

const loads = looker("loads", { least: 1000 }, async () => {
  fabric.takeLoads(await api.list("loads"));
  drawing.changed();
  panels.showDrops(fabric);
  show();
  showPicked();
});

const everything = [topology, groups, faults, routes, loads];
const lookAtAll = () => everything.forEach((one) => one.ask());

// ---- showing ----

/** The same thing in the newly fetched fabric. */
function sameAs(thing) {
  if (!thing) return null;
  if (thing.kind === "switch") return fabric.switches.get(thing.name) ?? null;
  if (thing.kind === "host") return fabric.hosts.get(thing.name) ?? null;
  return fabric.byNumber.get(thing.number) ?? null;
}

function show() {
  panels.showSummary(fabric, layout);
  panels.showWaits(fabric);
  panels.showGroups(fabric, chosen, toggleGroup, session.mayDestroy ? destroyGroup : null);
  markTrees();
  if (byId("tables").open) showTables(fabric, layout, byId("search").value);
  showSwitchPage(switchOfAddress(), fabric, history);
  canvas.dataset.shape = layout.shape;
  canvas.dataset.parts = layout.parts;
  canvas.dataset.switches = fabric.switches.size;
  canvas.dataset.down = fabric.links.filter((link) => !link.up).length;
  canvas.dataset.used = fabric.links.filter((link) => link.load?.sent_mbps > 0).length;
  canvas.setAttribute("aria-label", `${byId("summary").textContent}. The tables below say the same.`);
}

/** "#switch/NAME", so that the page of a switch can be shared. */
function switchOfAddress() {
  const [, name] = /^#switch\/(.+)$/.exec(location.hash) ?? [];
  try {
    return name && decodeURIComponent(name);
  } catch {
    return name;
  }
}

let eventsWanted = false;
/** Many arrive together when the page starts: they are shown together. */
function showEvents() {
  if (eventsWanted) return;
  eventsWanted = true;
  setTimeout(() => {
    eventsWanted = false;
    const filter = { severity: byId("event-severity").value, kind: byId("event-kind").value, text: byId("event-text").value };
    panels.showEvents(history, filter);
    panels.showHour(history, Date.now());
  }, 50);
}

function markTrees() {
  const trees = [...chosen].flatMap((key) => fabric.trees.filter((tree) => `${tree.job}/${tree.group}` === key));
  drawing.mark(trees.length ? trees.map((tree, n) => ({ ...fabric.membersOf(tree), colour: TREE_COLOURS[n % TREE_COLOURS.length] })) : null);
  canvas.dataset.marked = trees.map((tree) => tree.tree).join(" ");
}

function toggleGroup(key) {
  if (!chosen.delete(key)) chosen.add(key);
  show();
}

function pick(thing) {
  picked = sameAs(thing);
  drawing.pick(picked);
  showPicked();
}

function showPicked() {
  showSelected(picked, fabric, session.mayDrain ? { drain, undrain } : null, pick);
}

function showLogin() {
  byId("login").textContent = session.token ? "Log out" : "Log in";
  byId("login").title = { reader: "", job: "logged in with a job's token", administrator: "logged in as administrator" }[session.role];
  show();
  showPicked();
}

// ---- events ----

const events = new Events(api, {
  event(kind, body, fresh) {
    history.add(kind, body);
    showEvents();
    if (!fresh) return;
    if (kind === "gap") return lookAtAll();
    if (kind === "link" && body.code && fabric.setLink(body.link, body.code === "link_up")) {
      drawing.changed();
      show();
      faults.ask();
      groups.ask();
      return;
    }
    if (["link", "switch", "host", "problem"].includes(kind)) topology.ask();
    // Whether a silent host is missing depends on its groups.
    if (kind === "group" && [...fabric.hosts.values()].some((host) => !host.up)) topology.ask();
    if (["switch", "routes"].includes(kind)) routes.ask();
    if (["link", "host", "switch", "fault", "routes", "transaction", "tree"].includes(kind)) faults.ask();
    if (["group", "tree", "transaction", "job", "switch"].includes(kind)) groups.ask();
  },
  state(state, text) {
    byId("stream").dataset.state = state;
    byId("stream").textContent = text;
  },
  poll: lookAtAll,
});

// ---- actions ----

async function change(title, text, go, method, path) {
  if (!(await confirmed(title, text, go))) return;
  try {
    await api.ask(method, path);
    trouble("change", "");
  } catch (error) {
    trouble("change", `${title} ${error.message}.`);
  }
  lookAtAll();
}

function drain(name) {
  return change(`Drain ${name}?`, "Trees and routes move away from it. It continues to forward frames until they have moved.", "Drain", "POST",
    `api/v1/switches/${encodeURIComponent(name)}/drain`);
}
function undrain(name) {
  return change(`Take ${name} into use again?`, "Trees and routes may lead over it from now on.", "Take into use", "DELETE",
    `api/v1/switches/${encodeURIComponent(name)}/drain`);
}
function destroyGroup({ job, name }) {
  return change(`Destroy group ${job}/${name}?`, "Its trees are removed. Members that are reducing get an error.", "Destroy", "DELETE",
    `api/v1/groups/${encodeURIComponent(job)}/${encodeURIComponent(name)}`);
}

// ---- the page ----

function begin() {
  shutOut = false;
  history.clear();
  showEvents();
  showLogin();
  lookAtAll();
  events.start();
}

byId("login").addEventListener("click", async () => {
  if (session.token) session.logOut();
  else if (!(await askForToken((token) => session.logIn(api, token)))) return;
  troubles.clear();
  trouble("", "");
  begin();
});
byId("search").addEventListener("input", () => {
  const found = findByName(byId("search").value, fabric);
  if (found?.kind === "group") {
    chosen.clear();
    chosen.add(found.key);
  } else if (found) {
    drawing.show(found.switch ?? found.name);
    pick(found);
  }
  show();
});
byId("tables").addEventListener("toggle", show);
addEventListener("hashchange", show);
for (const id of ["event-severity", "event-kind", "event-text"]) byId(id).addEventListener("input", showEvents);
document.addEventListener("keydown", (event) => {
  if (document.querySelector("dialog[open]")) return;
  if (event.key === "Escape") pick(null);
  if (event.key === "/" && document.activeElement !== byId("search")) {
    event.preventDefault();
    byId("search").focus();
  }
});

function usePalette() {
  const palette = readPalette();
  drawing.setPalette(palette);
  fillLegend(byId("legend"), palette);
  drawing.resize(); // the legend covers a part of it
}
usePalette();
onSchemeChange(usePalette);
setInterval(() => {
  if (!document.hidden && !shutOut) loads.ask();
}, 1000);
// For changes without an event.
setInterval(() => {
  showEvents();
  if (!document.hidden && !shutOut) lookAtAll();
}, 30_000);

try {
  await session.logIn(api);
} catch (error) {
  trouble("change", `You are not logged in any more: ${error.message}.`);
}
begin();
