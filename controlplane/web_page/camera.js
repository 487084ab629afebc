// The visible part of the drawing: a point of the layout at x, y is shown at x * scale + dx, y * scale + dy. Pure.

const EDGE = 20; // pixels below the layout, for what extends over it: hosts' names

export class Camera {
  constructor(scale = 1, dx = 0, dy = 0) {
    this.scale = scale;
    this.dx = dx;
    this.dy = dy;
  }

  copy() {
    return new Camera(this.scale, this.dx, this.dy);
  }
  same(other) {
    return this.scale === other.scale && this.dx === other.dx && this.dy === other.dy;
  }

  /** Shows all of the layout, centred above the lowest `covered` pixels. */
  fit(layout, width, height, covered) {
    const most = 110;
    const free = Math.max(1, Math.max(height / 2, height - covered) - EDGE);
    this.scale = Math.min(most, width / Math.max(layout.width, 1), free / Math.max(layout.height, 1));
    this.dx = (width - layout.width * this.scale) / 2;
    this.dy = (free - layout.height * this.scale) / 2;
  }
  move(dx, dy) {
    this.dx += dx;
    this.dy += dy;
  }
  /** The point at x, y stays in place. */
  zoom(factor, x, y) {
    const scale = Math.min(400, Math.max(0.5, this.scale * factor));
    this.dx = x - ((x - this.dx) * scale) / this.scale;
    this.dy = y - ((y - this.dy) * scale) / this.scale;
    this.scale = scale;
  }
  center(place, width, height) {
    this.dx = width / 2 - place.x * this.scale;
    this.dy = height / 2 - place.y * this.scale;
  }

  x(place) {
    return place.x * this.scale + this.dx;
  }
  y(place) {
    return place.y * this.scale + this.dy;
  }
}
