// All links of the fabric, painted off-screen: however many there are, a frame costs one image. A picture is painted in
// slices, one per frame, while the previous one is still shown, moved to its current place; so it is at most a few
// frames behind, and no frame waits for it.
// moved to where it belongs now; so it is at most some frames behind, and no frame waits for it.
import { DASHES, LINK_STATES } from "./palette.js";

const LINKS_IN_A_SLICE = 1500;
const MARGIN = 0.25; // of the screen's width and height, on each side

export class LinkLayer {
  constructor() {
    this.shown = null; // {canvas, camera, left, top}
    this.job = null;
    this.stale = true;
    this.spare = null;
  }

  /** Places or states of the links have changed. */
  touch() {
    this.stale = true;
  }

  /**
   * Continues the picture, if one is to be painted; true when more is to do.
   * links: [{from, to, state}], places of the layout; size: {width, height, ratio} of the screen.
   */
  work(links, camera, size, palette) {
    if (!this.job && (this.stale || !this.shown || !this.shown.camera.same(camera) || !this.fits(size))) {
      this.begin(links, camera, size);
    }
    if (!this.job) return false;
    this.slice(palette);
    if (this.job.next < this.job.links.length) return true;
    this.spare = this.shown?.canvas ?? null;
    this.shown = this.job;
    this.job = null;
    return this.stale || !this.shown.camera.same(camera);
  }

  fits(size) {
    return this.shown.size.width === size.width && this.shown.size.height === size.height && this.shown.size.ratio === size.ratio;
  }

  begin(links, camera, size) {
    const [left, top] = [size.width * MARGIN, size.height * MARGIN];
    const canvas = this.spare ?? document.createElement("canvas");
    this.spare = null;
    canvas.width = Math.ceil((size.width + 2 * left) * size.ratio);
    canvas.height = Math.ceil((size.height + 2 * top) * size.ratio);
    const pen = canvas.getContext("2d");
    pen.setTransform(size.ratio, 0, 0, size.ratio, left * size.ratio, top * size.ratio);
    // The most important ones are painted last, and so on top.
    const sorted = LINK_STATES.flatMap((state) => links.filter((link) => link.state === state));
    this.job = { canvas, pen, links: sorted, next: 0, camera: camera.copy(), size: { ...size }, left, top, crowded: links.length > 4000 };
    this.stale = false;
  }

  slice(palette) {
    const { pen, links, camera, crowded, size, left, top } = this.job;
    const end = Math.min(links.length, this.job.next + LINKS_IN_A_SLICE);
    for (let at = this.job.next; at < end; ) {
      const { state } = links[at];
      const matters = state in DASHES;
      pen.strokeStyle = palette[state];
      pen.lineWidth = matters ? 2.5 : state !== "idle" ? 2 : crowded ? 0.6 : 1.2;
      pen.globalAlpha = crowded && state === "idle" ? 0.45 : 1;
      pen.setLineDash(DASHES[state] ?? []);
      pen.beginPath();
      for (; at < end && links[at].state === state; at += 1) {
        const { from, to } = links[at];
        const [x1, y1, x2, y2] = [camera.x(from), camera.y(from), camera.x(to), camera.y(to)];
        const beside = Math.max(x1, x2) < -left || Math.min(x1, x2) > size.width + left
          || Math.max(y1, y2) < -top || Math.min(y1, y2) > size.height + top;
        if (!beside) {
          pen.moveTo(x1, y1);
          pen.lineTo(x2, y2);
        }
      }
      pen.stroke();
    }
    this.job.next = end;
  }

  /** Draws the latest picture at its place. */
  show(pen, camera) {
    if (!this.shown) return;
    const { canvas, camera: then, size, left, top } = this.shown;
    const factor = camera.scale / then.scale;
    const x = camera.dx - (then.dx + left) * factor;
    const y = camera.dy - (then.dy + top) * factor;
    pen.drawImage(canvas, x, y, (canvas.width / size.ratio) * factor, (canvas.height / size.ratio) * factor);
  }
}
