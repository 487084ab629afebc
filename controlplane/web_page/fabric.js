// The page's model of the fabric: the API's lists, joined by name and port. Holds no elements.

const at = (name, port) => `${name}\n${port}`;

export class Fabric {
  constructor() {
    this.switches = new Map(); // by name
    this.hosts = new Map(); // by name
    this.links = []; // between switches
    this.byNumber = new Map();
    this.behind = new Map(); // switch and port: its link, or the host there
    this.groups = [];
    this.trees = [];
    this.loads = []; // of switches, as in the API
    this.transactions = [];
    this.jobs = null; // null: not for this reader; by name: {nodes}
    this.faults = null; // null: not for this reader
    this.routes = null;
    this.problems = [];
    this.drained = new Set();
    this.version = 0; // of the set of elements, and so of the layout
  }

  /** All pages of /api/v1/topology. True when the layout has to be computed again. */
  takeTopology(pages) {
    const before = this.shapeKey();
    this.switches.clear();
    this.hosts.clear();
    this.byNumber.clear();
    const loads = this.behind;
    this.behind = new Map();
    this.links = [];
    this.problems = [];
    for (const page of pages) {
      this.problems.push(...(page.problems ?? []), ...(page.miscabled ?? []));
      for (const { name, connected, up, trees, ports, version, silent_seconds: heard } of page.switches) {
        // A port that is up without a known neighbour leads to a host that has not sent anything yet.
        const silent = ports.some((port) => port.up && !port.to);
        const byPort = new Map(ports.map((port) => [port.port, port]));
        const one = { kind: "switch", name, connected, up, trees, version, heard, silent, ports: byPort, hosts: [], links: [] };
        this.switches.set(name, one);
      }
    }
    for (const page of pages) {
      for (const host of page.hosts) {
        const one = { kind: "host", ...host };
        this.hosts.set(host.name, one);
        this.switches.get(host.switch)?.hosts.push(one);
        this.place(one, host, loads);
      }
      for (const link of page.links) {
        const one = { kind: "link", number: link.link, a: link.a, b: link.b, up: link.up, speed: link.speed_mbps, efi: link.efi };
        this.byNumber.set(one.number, one);
        const ends = [this.switches.get(link.a.switch), this.switches.get(link.b.switch)];
        if (!ends[0] || !ends[1]) continue;
        this.links.push(one);
        ends[0].links.push(one);
        ends[1].links.push(one);
        this.place(one, link.a, loads);
        this.place(one, link.b, loads);
      }
    }
    for (const one of this.switches.values()) one.hosts.sort((a, b) => a.port - b.port || a.nid - b.nid);
    if (before === this.shapeKey()) return false;
    this.version += 1;
    return true;
  }

  place(one, end, loads) {
    const key = at(end.switch, end.port);
    one.load = loads.get(key)?.load ?? null;
    this.behind.set(key, one);
  }

  shapeKey() {
    const edges = this.links.map((link) => `${link.a.switch} ${link.b.switch}`);
    const tops = [...this.switches.values()].map((one) => `${one.name} ${one.hosts.length} ${one.silent}`);
    return `${tops.join()}|${edges.join()}`;
  }

  /** /api/v1/loads: for each link or host the figures of its busier end; without figures it is idle. */
  takeLoads(list) {
    this.loads = list;
    for (const one of this.behind.values()) one.load = null;
    for (const { switch: name, ports } of list) {
      for (const port of ports) {
        const one = this.behind.get(at(name, port.port));
        if (one) one.load = busier(one.load, { ...port, at: name });
      }
    }
  }

  /** The state of a link in an event; false when the link is unknown. */
  setLink(number, up) {
    const link = this.byNumber.get(number);
    if (link) link.up = up;
    return Boolean(link);
  }

  takeRoutes(routes) {
    this.routes = routes;
    this.drained = new Set(routes.drained.map((one) => one.switch));
  }

  treesOf(job, group) {
    return this.trees.filter((tree) => tree.job === job && tree.group === group);
  }

  /** The number of a port, and its name where it has one. */
  portText({ switch: name, port }) {
    const said = this.switches.get(name)?.ports.get(port)?.name;
    return said ? `${port} (${said})` : `${port}`;
  }
  endText(end) {
    return `${end.switch} port ${this.portText(end)}`;
  }
  nameOf(one) {
    return one.kind === "link" ? `${this.endText(one.a)} – ${this.endText(one.b)}` : one.name;
  }

  /** The switches, links and hosts of a tree. */
  membersOf(tree) {
    const switches = new Set();
    const links = new Set();
    const hosts = new Set();
    for (const part of tree.parts) {
      switches.add(part.switch);
      for (const port of [part.parent, ...part.children]) {
        const one = this.behind.get(at(part.switch, port.port));
        if (one?.kind === "link") links.add(one);
        if (one?.kind === "host") hosts.add(one);
      }
    }
    return { switches, links, hosts };
  }
}

function busier(a, b) {
  if (!a) return b;
  const more = Math.max(a.sent_mbps, 0) >= b.sent_mbps ? a : b;
  const sum = (name) => a[name] + b[name];
  const reasons = { ...a.reasons };
  for (const [reason, count] of Object.entries(b.reasons)) reasons[reason] = (reasons[reason] ?? 0) + count;
  return {
    ...more,
    drops: sum("drops"),
    drops_per_second: sum("drops_per_second"),
    repeats: sum("repeats"),
    reasons,
    pauses_received: sum("pauses_received"),
    pauses_sent: sum("pauses_sent"),
    paused: Math.max(a.paused, b.paused),
  };
}

/**
 * State of a link, or of a host's link, by priority: "down" (needs repair), "drops", "paused", "load1" to "load5",
 * "quiet" (a host without a program that uses the fabric), "idle".
 */
export function stateOf(one) {
  if (one.kind === "host" && one.state === "quiet") return "quiet";
  if (!one.up) return "down";
  const load = one.load;
  if (!load) return "idle";
  if (load.drops_per_second > 0) return "drops";
  if (load.paused > 0) return "paused";
  if (!load.sent_mbps) return "idle";
  // Without a speed its share is unknown; only the presence of traffic is.
  const share = load.load ?? 0;
  return `load${share < 0.1 ? 1 : share < 0.3 ? 2 : share < 0.6 ? 3 : share < 0.85 ? 4 : 5}`;
}

export function switchState(one, fabric) {
  const states = [one.connected ? "connected" : "no channel", one.up ? "" : "down", fabric.drained.has(one.name) ? "drained" : ""];
  return states.filter(Boolean).join(", ");
}

/** Groups have "job/name" as their full names; neither has a "/". */
export const jobsOf = (host) => [...new Set(host.groups.map((name) => name.split("/")[0]))];

export function span(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

/** "now", or the time since then. */
export const lastHeard = (host) => (host.up ? "now" : `${span(host.since_seconds)} ago`);

/** A line for a person. */
export function describe(one, fabric) {
  if (one.kind === "switch") {
    return `${one.name}: ${switchState(one, fabric)}; ${one.hosts.length} hosts, ${one.links.length} links, ${one.trees} trees`;
  }
  if (one.kind === "host") {
    const jobs = jobsOf(one);
    return `${one.name} (NID ${one.nid}) at ${fabric.endText(one)}: ${one.state}${one.up ? "" : `, last heard ${lastHeard(one)}`}`
      + `${jobs.length ? `, in ${jobs.join(", ")}` : ""}\n${carries(one)}`;
  }
  return `${fabric.nameOf(one)}: ${one.up ? "up" : "down"}, ${one.speed ? `${one.speed} Mbit/s` : "speed unknown"}\n${carries(one)}`;
}

/** "queue_full 3, no_route 1": most first. */
export const reasonsText = (load) => Object.entries(load.reasons).sort((a, b) => b[1] - a[1]).map(([reason, n]) => `${reason} ${n}`).join(", ");

export function carries({ load }) {
  if (!load) return "carries nothing";
  const share = load.load === undefined ? "" : ` (${(load.load * 100).toFixed(load.load < 0.1 ? 1 : 0)} %)`;
  const drops = load.drops
    ? `, ${load.drops} drops so far (${Number(load.drops_per_second.toPrecision(3))} a second now): ${reasonsText(load)}` : "";
  const pauses = load.pauses_received || load.pauses_sent
    ? `, ${load.pauses_received + load.pauses_sent} pauses so far, paused ${(load.paused * 100).toFixed(0)} % of the time` : "";
  return `${load.sent_mbps} Mbit/s out of ${load.at}${share}${drops}${pauses}`;
}
