// Places of the switches of a fabric, by its shape. Pure.
//
//   fat tree     switches with hosts are the lowest tier; the height of any other one is its distance from them.
//                Where no host is known, or not every lowest switch has one, the lowest tier is found by the links:
//                links join only adjacent tiers, and lead from every lowest switch up and then down to every other.
//                Within a tier switches with the same links below are side by side. A tier that is much wider than
//                the others is folded into rows.
//   dragonfly    nearly every switch has hosts, and they form groups that are densely linked within: each
//                group is a ring of switches, and the groups form a circle
//   flat         anything else: a ring
//
// Units are arbitrary: neighbours are about 1 apart.

const HOSTS_EVERYWHERE = 0.95;
const SAME_GROUP = 0.5; // shared part of the smaller neighbourhood
const SEEDS = 4; // number of samples where trying all would take long
const LEAST_WIDTH = 40;
const LEAST_GAP = 2; // between tiers

/**
 * switches: [{name, hosts: number}], where hosts include probable places of hosts; links: [[name, name]]. Returns
 * {shape, parts, places: Map name -> {x, y, tier, group, out}, width, height}: `parts` are tiers or groups; hosts are
 * in the direction `out`, an angle.
 */
export function layOut(switches, links) {
  const neighbours = new Map(switches.map(({ name }) => [name, new Set()]));
  for (const [a, b] of links) {
    if (a === b) continue;
    neighbours.get(a)?.add(b);
    neighbours.get(b)?.add(a);
  }
  const withHosts = switches.filter((one) => one.hosts > 0).map((one) => one.name);
  if (withHosts.length < switches.length * HOSTS_EVERYWHERE) {
    const lowest = lowestTier(withHosts, neighbours) ?? withHosts;
    if (lowest.length > 0) return tiers(switches, lowest, neighbours);
  }
  const groups = groupsOf(switches, neighbours);
  const isDragonfly = groups.length > 2 && groups.length <= switches.length / 2;
  return isDragonfly ? circleOfGroups(groups) : flat(switches);
}

const byName = (a, b) => a.localeCompare(b, "en", { numeric: true });

/** Distance of each switch from the nearest of these; without unconnected switches. */
function heightsAbove(lowest, neighbours) {
  const height = new Map(lowest.map((name) => [name, 0]));
  for (let front = lowest, above = 1; front.length > 0; above += 1) {
    const next = [];
    for (const name of front) {
      for (const other of neighbours.get(name)) {
        if (height.has(other)) continue;
        height.set(other, above);
        next.push(other);
      }
    }
    front = next;
  }
  return height;
}

/**
 * Whether every one of `lowest` (a sample of them) reaches all others of them by links up and then down, and no tier is
 * wider than the one below.
 */
function isTree(lowest, neighbours) {
  const height = heightsAbove(lowest, neighbours);
  const widths = [];
  for (const at of height.values()) widths[at] = (widths[at] ?? 0) + 1;
  if (widths.some((width, at) => at > 0 && width > widths[at - 1])) return false;
  for (const [name, at] of height) {
    for (const other of neighbours.get(name)) if (height.get(other) === at) return false;
  }
  const step = Math.max(1, Math.floor(lowest.length / SEEDS));
  return lowest.filter((_, n) => n % step === 0).every((begin) => {
    const up = new Set([begin]);
    for (const name of up) for (const other of neighbours.get(name)) if (height.get(other) > height.get(name)) up.add(other);
    const reached = new Set(up);
    for (const name of reached) for (const other of neighbours.get(name)) if (height.get(other) < height.get(name)) reached.add(other);
    return lowest.every((name) => reached.has(name));
  });
}

const farthest = (from, neighbours) => {
  const all = [...heightsAbove([from], neighbours)];
  const most = all.reduce((max, [, far]) => Math.max(max, far), 0);
  return all.filter(([, far]) => far === most).map(([name]) => name);
};

/**
 * The lowest tier of a tree of tiers, or null: the switches farthest from one of them, found from such a switch in
 * turn. It contains all switches with hosts. Of two possible tiers, the wider one.
 */
function lowestTier(withHosts, neighbours) {
  // One switch for each number of links: every tier is represented.
  const byDegree = new Map();
  for (const [name, near] of neighbours) if (near.size > 0 && !byDegree.has(near.size)) byDegree.set(near.size, name);
  const seeds = withHosts.length > 0 ? [withHosts[0]] : [...byDegree.values()].slice(0, SEEDS);
  let best = null;
  for (const seed of seeds) {
    const far = farthest(seed, neighbours);
    const tier = [...new Set([...far, ...farthest(far[0], neighbours)])];
    const isWider = tier.length > 1 && tier.length < neighbours.size && tier.length > (best?.length ?? 0);
    if (isWider && withHosts.every((name) => tier.includes(name)) && isTree(tier, neighbours)) best = tier;
  }
  return best;
}

function tiers(switches, lowest, neighbours) {
  const tier = heightsAbove(lowest, neighbours);
  // Unconnected switches are placed on top.
  const top = Math.max(...tier.values()) + 1;
  for (const { name } of switches) if (!tier.has(name)) tier.set(name, top);
  const rows = [];
  for (const [name, height] of tier) (rows[height] ??= []).push(name);
  const filled = rows.filter(Boolean);
  const rank = new Map();
  filled.forEach((names, height) => {
    names.sort(byName);
    if (height > 0) {
      // By the lowest linked switch: pods stay together, where a mean would put all cores in one place.
      const lowest = new Map(names.map((name) => {
        const below = [...neighbours.get(name)].map((other) => rank.get(other)).filter((n) => n !== undefined);
        return [name, below.length ? Math.min(...below) : Infinity];
      }));
      names.sort((a, b) => (lowest.get(a) - lowest.get(b) || 0) || byName(a, b));
    }
    names.forEach((name, n) => rank.set(name, n / names.length));
  });
  const most = Math.max(LEAST_WIDTH, Math.ceil(2.2 * Math.sqrt(switches.length)));
  const widest = Math.min(most, Math.max(...filled.map((names) => names.length)));
  const places = new Map();
  let y = 0;
  filled.forEach((names, height) => {
    const folds = Math.ceil(names.length / most);
    const columns = Math.ceil(names.length / folds);
    names.forEach((name, n) => {
      const x = ((Math.floor(n / folds) + 0.5) * widest) / columns;
      places.set(name, { x, y: y - (n % folds), tier: height, group: 0, out: Math.PI / 2 });
    });
    y -= folds - 1 + Math.max(LEAST_GAP, widest / (2 * filled.length));
  });
  return framed({ shape: "fat tree", parts: filled.length, places });
}

/** Linked switches that share most of their neighbours form a group. */
function groupsOf(switches, neighbours) {
  const parent = new Map(switches.map(({ name }) => [name, name]));
  const find = (name) => {
    while (parent.get(name) !== name) {
      parent.set(name, parent.get(parent.get(name)));
      name = parent.get(name);
    }
    return name;
  };
  for (const [name, near] of neighbours) {
    for (const other of near) {
      if (name > other) continue;
      const theirs = neighbours.get(other);
      let common = 2; // each other
      for (const one of near) if (theirs.has(one)) common += 1;
      if (common > SAME_GROUP * (Math.min(near.size, theirs.size) + 1)) parent.set(find(name), find(other));
    }
  }
  const groups = new Map();
  for (const { name } of switches) {
    const head = find(name);
    if (!groups.has(head)) groups.set(head, []);
    groups.get(head).push(name);
  }
  return [...groups.values()].map((names) => names.sort(byName)).sort((a, b) => byName(a[0], b[0]));
}

function circleOfGroups(groups) {
  const radiusOf = (names) => Math.max(1, names.length / (2 * Math.PI));
  const around = groups.reduce((sum, names) => sum + 2 * radiusOf(names) + 3, 0);
  const radius = around / (2 * Math.PI);
  const places = new Map();
  let angle = -Math.PI / 2;
  groups.forEach((names, group) => {
    const own = radiusOf(names);
    const share = ((2 * own + 3) / around) * 2 * Math.PI;
    const middle = angle + share / 2;
    angle += share;
    names.forEach((name, n) => {
      const turn = middle + (2 * Math.PI * n) / names.length;
      const x = radius * Math.cos(middle) + own * Math.cos(turn);
      places.set(name, { x, y: radius * Math.sin(middle) + own * Math.sin(turn), tier: 0, group, out: turn });
    });
  });
  return framed({ shape: "dragonfly", parts: groups.length, places });
}

function flat(switches) {
  const names = switches.map((one) => one.name).sort(byName);
  const radius = Math.max(1, names.length / (2 * Math.PI)) * (names.length > 1 ? 1.5 : 0);
  const places = new Map(names.map((name, n) => {
    const turn = (2 * Math.PI * n) / names.length - Math.PI / 2;
    return [name, { x: radius * Math.cos(turn), y: radius * Math.sin(turn), tier: 0, group: 0, out: turn }];
  }));
  return framed({ shape: "flat", parts: 1, places });
}

/** Moves everything so that the corner is at 1, 1; one unit is left around it. */
function framed({ shape, parts, places }) {
  const all = [...places.values()];
  const least = (of) => all.reduce((min, place) => Math.min(min, of(place)), Infinity);
  const [left, top] = all.length ? [least((p) => p.x), least((p) => p.y)] : [0, 0];
  let [width, height] = [0, 0];
  for (const place of all) {
    place.x += 1 - left;
    place.y += 1 - top;
    width = Math.max(width, place.x + 1);
    height = Math.max(height, place.y + 1);
  }
  return { shape, parts, places, width, height };
}

/** Places of hosts at a switch: a row across its `out`, in reading order; at most `most` are placed. */
export function placesOfHosts({ x, y, out }, count, most) {
  const shown = Math.min(count, most);
  const [dx, dy] = [Math.cos(out), Math.sin(out)];
  // Left to right, otherwise top to bottom.
  const sign = dy > 1e-9 || (Math.abs(dy) <= 1e-9 && dx < 0) ? 1 : -1;
  return Array.from({ length: shown }, (_, n) => {
    const aside = shown === 1 ? 0 : sign * (n / (shown - 1) - 0.5) * 0.8;
    return { x: x + dx + dy * aside, y: y + dy - dx * aside };
  });
}
