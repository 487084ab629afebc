// Fetches when requested, and never twice at the same time: requests during a fetch cause one more fetch after it. A
// slow fetch, as in a large fabric, is followed by a longer pause, so that the page uses a bounded share of the
// manager's time; unless the data is small in any fabric.

const SHARE = 4;

export class Refresher {
  /** `look`: async; `least`, `most`: ms between two calls. Its exceptions are passed to `failed`. */
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
