// Looks again when asked, and never twice at once: requests that come meanwhile are one more look behind it.
// A look that takes long, as in a large fabric, is followed by a pause that is longer still, so that the page asks
// the manager for a bounded share of its time; unless what is looked at is small whatever the fabric.

const SHARE = 4;

export class Refresher {
  /** `look`: async; `least`, `most`: ms between two of them. What it throws goes to `failed`. */
  constructor(look, { least, most = Infinity }, failed) {
    Object.assign(this, { look, least, most, failed, running: false, again: false, next: 0, timer: 0 });
  }

  ask() {
    if (this.running) {
      this.again = true;
      return;
    }
    if (this.timer) return;
    this.timer = setTimeout(() => this.run(), Math.max(0, this.next - performance.now()));
  }

  async run() {
    this.timer = 0;
    this.running = true;
    const begun = performance.now();
    try {
      await this.look();
    } catch (error) {
      this.failed(error);
    }
    const took = performance.now() - begun;
    this.next = performance.now() + Math.min(this.most, Math.max(this.least, SHARE * took));
    this.running = false;
    if (this.again) {
      this.again = false;
      this.ask();
    }
  }
}
