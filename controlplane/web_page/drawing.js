// The drawing: a canvas with the layout, moved by mouse, wheel, fingers and keys. Links come from LinkLayer; switches,
// hosts, highlights, and names where they fit, are drawn into each frame. Nothing is drawn without a change.
import { Camera } from "./camera.js";
import { stateOf } from "./fabric.js";
import { LinkLayer } from "./layer.js";
import { placesOfHosts } from "./layout.js";
import { DASHES } from "./palette.js";

const HOSTS_SHOWN_AT_A_SWITCH = 64;
const MOST_HOSTS_DRAWN = 5000;
const ROOM_FOR_HOSTS = 14; // pixels between switches
const ROOM_FOR_NAMES = 34;
const ROOM_FOR_HOST_NAMES = 76;
const REACH = 10; // pixels from the pointer
const STEP = 60;

export class Drawing {
  /**
   * `sink.pick(thing)` and `sink.hover(thing, x, y)`; a thing is a switch, host or link, or null. `sink.covered()`:
   * number of the lowest pixels that other elements cover.
   */
  constructor(canvas, fabric, sink) {
    this.canvas = canvas;
    this.pen = canvas.getContext("2d");
    this.fabric = fabric;
    this.sink = sink;
    this.camera = new Camera();
    this.layer = new LinkLayer();
    this.layout = { places: new Map(), width: 1, height: 1, shape: "flat", parts: 0 };
    this.lines = [];
    this.spots = []; // hosts with their places
    this.size = { width: 1, height: 1, ratio: 1 };
    this.marked = null; // {switches, links, hosts, colour} for each highlighted tree
    this.picked = null;
    this.moved = false; // by the reader, who then controls the view; until then it shows all
    this.wanted = false;
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.listen();
  }

  setPalette(palette) {
    this.palette = palette;
    this.changed();
  }

  setLayout(layout) {
    const isOther = this.layout !== layout;
    this.layout = layout;
    this.lines = this.fabric.links.map((link) => ({
      link, state: stateOf(link), from: layout.places.get(link.a.switch), to: layout.places.get(link.b.switch),
    }));
    this.spots = [];
    if (this.fabric.hosts.size <= MOST_HOSTS_DRAWN) {
      for (const { name, hosts } of this.fabric.switches.values()) {
        const at = placesOfHosts(layout.places.get(name), hosts.length, HOSTS_SHOWN_AT_A_SWITCH);
        at.forEach((place, n) => this.spots.push({ host: hosts[n], place, from: layout.places.get(name) }));
      }
    }
    if (isOther && !this.moved) this.fitAll();
    this.changed();
  }

  /** States of links may have changed. */
  changed() {
    for (const line of this.lines) line.state = stateOf(line.link);
    this.layer.touch();
    this.canvas.dataset.painted = "in part";
    this.draw();
  }

  mark(marked) {
    this.marked = marked;
    this.draw();
  }
  pick(thing) {
    this.picked = thing;
    this.draw();
  }
  /** Moves only if the switch is out of view, or too small to distinguish. */
  show(name) {
    const place = this.layout.places.get(name);
    if (!place || (this.visible(place) && this.camera.scale >= ROOM_FOR_NAMES)) return;
    this.camera.scale = Math.max(this.camera.scale, ROOM_FOR_NAMES);
    this.camera.center(place, this.size.width, this.size.height);
    this.moved = true;
    this.draw();
  }
  fitAll() {
    this.moved = false;
    if (this.layout.places.size === 0 || this.size.width <= 1) return;
    this.camera.fit(this.layout, this.size.width, this.size.height, this.sink.covered());
    this.draw();
  }

  /** The centre stays in place, unless the view shows all. */
  resize() {
    const box = this.canvas.getBoundingClientRect();
    const before = this.size;
    this.size = { width: Math.max(1, box.width), height: Math.max(1, box.height), ratio: devicePixelRatio || 1 };
    this.canvas.width = Math.round(this.size.width * this.size.ratio);
    this.canvas.height = Math.round(this.size.height * this.size.ratio);
    if (this.moved) this.camera.move((this.size.width - before.width) / 2, (this.size.height - before.height) / 2);
    else this.fitAll();
    this.draw();
  }

  draw() {
    if (this.wanted) return;
    this.wanted = true;
    requestAnimationFrame(() => {
      this.wanted = false;
      this.paint();
    });
  }

  paint() {
    const { pen, size, camera, palette } = this;
    if (!palette) return;
    const unfinished = this.layer.work(this.lines, camera, size, palette);
    if (unfinished) this.draw();
    this.canvas.dataset.painted = unfinished ? "in part" : "whole";
    pen.setTransform(size.ratio, 0, 0, size.ratio, 0, 0);
    pen.clearRect(0, 0, size.width, size.height);
    this.layer.show(pen, camera);
    this.paintMarked();
    this.paintHosts();
    this.paintSwitches();
  }

  paintMarked() {
    const { pen, camera, palette } = this;
    for (const [n, tree] of (this.marked ?? []).entries()) {
      pen.strokeStyle = palette[tree.colour];
      pen.lineWidth = 5 - 2 * (n % 2); // twins on one link: both are seen
      pen.beginPath();
      for (const line of this.lines) if (tree.links.has(line.link)) this.segment(line.from, line.to);
      if (camera.scale >= ROOM_FOR_HOSTS) for (const spot of this.spots) if (tree.hosts.has(spot.host)) this.segment(spot.from, spot.place);
      pen.stroke();
    }
    if (this.picked?.kind === "link") {
      pen.strokeStyle = palette.accent;
      pen.lineWidth = 7;
      pen.globalAlpha = 0.5;
      pen.beginPath();
      for (const line of this.lines) if (line.link.number === this.picked.number) this.segment(line.from, line.to);
      pen.stroke();
      pen.globalAlpha = 1;
    }
  }

  segment(from, to) {
    this.pen.moveTo(this.camera.x(from), this.camera.y(from));
    this.pen.lineTo(this.camera.x(to), this.camera.y(to));
  }

  paintHosts() {
    const { pen, camera, palette } = this;
    if (camera.scale < ROOM_FOR_HOSTS) return;
    const radius = Math.min(5, camera.scale / 14);
    const named = camera.scale >= ROOM_FOR_HOST_NAMES;
    pen.font = "10px system-ui, sans-serif";
    pen.textAlign = "center";
    for (const { host, place, from } of this.spots) {
      if (!this.visible(place)) continue;
      const [x, y] = [camera.x(place), camera.y(place)];
      const state = stateOf(host);
      pen.strokeStyle = palette[state];
      pen.lineWidth = state === "idle" || state === "quiet" ? 1 : 2;
      pen.setLineDash(DASHES[state] ?? []);
      pen.beginPath();
      this.segment(from, place);
      pen.stroke();
      pen.fillStyle = state === "down" ? palette.down : state === "quiet" ? palette.quiet : palette.host;
      pen.beginPath();
      pen.arc(x, y, radius, 0, 2 * Math.PI);
      pen.fill();
      if (named) {
        pen.fillStyle = palette.text;
        pen.fillText(host.name, x, y + radius + 11);
      }
    }
    pen.setLineDash([]);
  }

  visible(place) {
    const [x, y] = [this.camera.x(place), this.camera.y(place)];
    return x > -20 && y > -20 && x < this.size.width + 20 && y < this.size.height + 20;
  }

  paintSwitches() {
    const { pen, camera, palette, fabric } = this;
    const side = Math.max(2, Math.min(22, camera.scale * 0.45));
    const inTree = new Set((this.marked ?? []).flatMap((tree) => [...tree.switches]));
    pen.font = "11px system-ui, sans-serif";
    pen.textAlign = "center";
    for (const [name, place] of this.layout.places) {
      const one = fabric.switches.get(name);
      if (!one || !this.visible(place)) continue;
      const [x, y] = [camera.x(place), camera.y(place)];
      pen.fillStyle = !one.connected || !one.up ? palette.away : fabric.drained.has(name) ? palette.drained : palette.switch;
      pen.fillRect(x - side / 2, y - side / 2, side, side);
      if (!one.connected || !one.up) {
        pen.strokeStyle = palette.down;
        pen.lineWidth = 2;
        pen.strokeRect(x - side / 2, y - side / 2, side, side);
      }
      if (inTree.has(name) || this.picked === one) {
        pen.strokeStyle = this.picked === one ? palette.accent : palette[this.marked[0].colour];
        pen.lineWidth = 3;
        pen.strokeRect(x - side / 2 - 3, y - side / 2 - 3, side + 6, side + 6);
      }
      if (camera.scale >= ROOM_FOR_NAMES) {
        pen.fillStyle = palette.text;
        pen.fillText(name, x, y - side / 2 - 5);
      }
    }
  }

  /** The switch, host or link at these pixels. */
  thingAt(x, y) {
    let [best, least] = [null, REACH];
    const offer = (thing, distance) => {
      if (distance < least) [best, least] = [thing, distance];
    };
    for (const [name, place] of this.layout.places) {
      offer(this.fabric.switches.get(name), Math.hypot(this.camera.x(place) - x, this.camera.y(place) - y) / 2);
    }
    if (this.camera.scale >= ROOM_FOR_HOSTS) {
      for (const { host, place } of this.spots) offer(host, Math.hypot(this.camera.x(place) - x, this.camera.y(place) - y));
    }
    if (best) return best;
    least = REACH / 2;
    for (const { link, from, to } of this.lines) {
      offer(link, fromSegment(x, y, this.camera.x(from), this.camera.y(from), this.camera.x(to), this.camera.y(to)));
    }
    return best;
  }

  listen() {
    const { canvas, camera } = this;
    const pointers = new Map();
    let moved = 0;
    const here = (event) => ({ x: event.offsetX, y: event.offsetY });
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, here(event));
      moved = 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      const now = here(event);
      const before = pointers.get(event.pointerId);
      if (!before) {
        this.sink.hover(this.thingAt(now.x, now.y), now.x, now.y);
        return;
      }
      if (pointers.size === 2) {
        const [other] = [...pointers].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
        const far = (place) => Math.max(1, Math.hypot(place.x - other.x, place.y - other.y));
        camera.zoom(far(now) / far(before), other.x, other.y);
      } else {
        camera.move(now.x - before.x, now.y - before.y);
      }
      this.moved = true;
      moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
      pointers.set(event.pointerId, now);
      this.draw();
    });
    const release = (event) => {
      const click = pointers.delete(event.pointerId) && event.type === "pointerup" && moved < 4;
      if (click) this.sink.pick(this.thingAt(event.offsetX, event.offsetY));
    };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("pointerleave", () => this.sink.hover(null, 0, 0));
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      camera.zoom(Math.exp(-event.deltaY / 400), event.offsetX, event.offsetY);
      this.moved = true;
      this.draw();
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const { camera, size } = this;
    const moves = { ArrowLeft: [STEP, 0], ArrowRight: [-STEP, 0], ArrowUp: [0, STEP], ArrowDown: [0, -STEP] };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    this.moved ||= event.key in moves || ["+", "=", "-"].includes(event.key);
    if (moves[event.key]) camera.move(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") camera.zoom(1.25, size.width / 2, size.height / 2);
    else if (event.key === "-") camera.zoom(0.8, size.width / 2, size.height / 2);
    else if (event.key === "0") this.fitAll();
    else return;
    event.preventDefault();
    this.draw();
  }
}

function fromSegment(x, y, x1, y1, x2, y2) {
  const [dx, dy] = [x2 - x1, y2 - y1];
  const along = Math.max(0, Math.min(1, ((x - x1) * dx + (y - y1) * dy) / (dx * dx + dy * dy || 1)));
  return Math.hypot(x - x1 - along * dx, y - y1 - along * dy);
}
