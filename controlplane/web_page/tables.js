// The fabric as tables, for readers who do not see the drawing, and lists that are not drawn: made only while they are
// open. Also the page of a single switch.
import { element, replace } from "./elements.js";
import { carries, jobsOf, lastHeard, reasonsText, span, stateOf, switchState } from "./fabric.js";

const MOST = 500;

export const pageOf = (name) => `#switch/${encodeURIComponent(name)}`;

const linkTo = (name) => element("a", name, { href: pageOf(name) });

function put(table, heads, rows) {
  replace(table.tHead, [element("tr", heads.map((text) => element("th", text, { scope: "col" })))]);
  replace(table.tBodies[0], rows);
}

const row = (cells, attributes) => element("tr", cells.map((cell) => element("td", cell instanceof Node ? cell : String(cell ?? ""))), attributes);

/** Problems first. */
const ORDER = ["down", "drops", "paused"];
const rank = (one) => (ORDER.indexOf(stateOf(one)) + ORDER.length + 1) % (ORDER.length + 1);
const byRank = (list) => list.map((one) => [rank(one), one]).sort((a, b) => a[0] - b[0]).map(([, one]) => one);

const HOSTS = ["host", "NID", "switch", "port", "state", "last heard", "jobs", "carries"];
function hostRow(host, fabric) {
  return row([host.name, host.nid, linkTo(host.switch), fabric.portText(host), host.state, lastHeard(host), jobsOf(host).join(", "),
    host.up ? carries(host) : ""], { "data-host": host.name, "data-state": stateOf(host) });
}

const LINKS = ["from", "to", "state", "carries"];
function linkRow(link, fabric) {
  return row([fabric.endText(link.a), fabric.endText(link.b), stateOf(link), link.up ? carries(link) : ""],
    { "data-link": link.number, "data-state": stateOf(link) });
}

const TREES = ["tree", "group", "state", "root", "switches", "height"];
function treeRow(tree) {
  return row([tree.tree, `${tree.job}/${tree.group}`, tree.state, tree.root_switch, tree.parts.length, tree.height],
    { "data-tree": tree.tree });
}

const DROPS = ["port", "to", "drops a second", "drops", "repeats", "reasons"];
function dropRows(fabric, wanted) {
  const rows = [];
  for (const list of fabric.loads) {
    for (const port of list.ports) {
      const end = { switch: list.switch, port: port.port };
      if (port.drops + port.repeats === 0 || !wanted(list.switch)) continue;
      const to = fabric.switches.get(list.switch)?.ports.get(port.port)?.to ?? "";
      rows.push([port, row([fabric.endText(end), to, port.drops_per_second, port.drops, port.repeats, reasonsText(port)], { "data-drops": list.switch })]);
    }
  }
  return rows.sort(([a], [b]) => b.drops_per_second - a.drops_per_second || b.drops - a.drops).map(([, one]) => one);
}

/** Jobs with groups, and for administrators all jobs, with their limits. */
function jobRows(fabric, wanted) {
  const jobs = new Map((fabric.jobs ?? []).map((job) => [job.job, job]));
  for (const { job } of fabric.groups) if (!jobs.has(job)) jobs.set(job, { job });
  return [...jobs.values()].filter((job) => wanted(job.job)).map((job) => {
    const groups = fabric.groups.filter((group) => group.job === job.job).map((group) => group.name);
    const hosts = [...fabric.hosts.values()].filter((host) => job.hosts?.includes(host.nid) || jobsOf(host).includes(job.job));
    return row([job.job, (job.nodes ?? []).join(", "), hosts.map((host) => host.name).join(", "), groups.join(", "), job.mcast_limit, job.vni],
      { "data-job": job.job });
  });
}

/** Rows that contain `text`, problems first. */
export function showTables(fabric, layout, text) {
  const sought = text.trim().toLowerCase();
  const wanted = (...names) => names.some((name) => name.toLowerCase().includes(sought));
  const place = layout.shape === "dragonfly" ? "group" : "tier";
  const cut = [];
  const table = (id, heads, list, make) => {
    put(document.getElementById(id), heads, list.slice(0, MOST).map(make));
    if (list.length > MOST) cut.push(`${list.length} ${id.replace("-table", "s")}`);
  };
  const isWell = (one) => Number(one.connected && one.up);
  table("switch-table", ["switch", place, "state", "last heard", "hosts", "links", "trees"],
    [...fabric.switches.values()].filter((one) => wanted(one.name)).sort((a, b) => isWell(a) - isWell(b)),
    (one) => row([linkTo(one.name), layout.places.get(one.name)?.[place], switchState(one, fabric),
      one.heard === undefined ? "" : `${span(one.heard)} ago`, one.hosts.length, one.links.length, one.trees], { "data-switch": one.name }));
  table("host-table", HOSTS, byRank([...fabric.hosts.values()].filter((host) => wanted(host.name, host.switch, ...jobsOf(host)))),
    (host) => hostRow(host, fabric));
  table("link-table", LINKS, byRank(fabric.links.filter((link) => wanted(link.a.switch, link.b.switch))), (link) => linkRow(link, fabric));
  table("job-table", ["job", "nodes", "hosts", "groups", "groups at most", "VNI"], jobRows(fabric, wanted), (one) => one);
  table("group-table", ["group", "state", "joined", "trees", "missing"], fabric.groups.filter((group) => wanted(group.name, group.job)),
    (group) => row([`${group.job}/${group.name}`, group.state, `${group.joined} of ${group.size}`, fabric.treesOf(group.job, group.name).length,
      (group.missing ?? []).map((one) => `rank ${one.rank}: ${one.why}`).join("; ")], { "data-group": `${group.job}/${group.name}` }));
  table("tree-table", TREES, fabric.trees.filter((tree) => wanted(tree.group, tree.job, String(tree.tree))), treeRow);
  table("drop-table", DROPS, dropRows(fabric, wanted), (one) => one);
  document.getElementById("tables-note").textContent = cut.length ? `Only the first ${MOST} of ${cut.join(", of ")}; Find, above, leaves fewer.` : "";
}

const titled = (title, heads, rows) => element("table", [element("caption", title),
  element("thead", element("tr", heads.map((text) => element("th", text, { scope: "col" })))), element("tbody", rows)]);

/** The page of one switch; empty if the name is unknown. */
export function showSwitchPage(name, fabric, history) {
  const box = document.getElementById("switch-page");
  const one = name && fabric.switches.get(name);
  box.hidden = !name;
  if (!name) return;
  const back = element("p", element("a", "Back to the fabric", { href: "#" }));
  if (!one) return replace(box, [back, element("p", `No switch of the name ${name} is known.`)]);
  const loads = new Map((fabric.loads.find((list) => list.switch === name)?.ports ?? []).map((port) => [port.port, port]));
  const ports = [...one.ports.values()].sort((a, b) => a.port - b.port).map((port) => {
    const load = loads.get(port.port);
    return row([port.port, port.name, port.up ? "up" : "down", port.speed_mbps || "", port.to ?? "", load?.sent_mbps ?? 0, load?.received_mbps ?? 0,
      load?.drops ?? 0, load ? reasonsText(load) : ""], { "data-port": port.port });
  });
  const trees = fabric.trees.filter((tree) => tree.parts.some((part) => part.switch === name));
  const events = history.shown({ severity: "info", kind: "", text: name }, 50);
  replace(box, [back,
    element("h2", `Switch ${name}`),
    element("p", `${switchState(one, fabric)}, version ${one.version ?? "unknown"}, last heard ${one.heard === undefined ? "never" : `${span(one.heard)} ago`}`),
    titled("Ports", ["port", "name", "state", "Mbit/s", "to", "sends Mbit/s", "receives Mbit/s", "drops", "reasons"], ports),
    titled("Hosts", HOSTS, one.hosts.map((host) => hostRow(host, fabric))),
    titled("Links", LINKS, one.links.map((link) => linkRow(link, fabric))),
    titled("Trees", TREES, trees.map(treeRow)),
    titled("Events that name it", ["time", "severity", "event"], events.map((event) => row([event.time, event.severity, event.text]))),
  ]);
}
