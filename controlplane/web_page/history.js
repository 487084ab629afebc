// Past events, as far as the manager keeps them: which are shown, and their number in each minute of the last hour.
// Holds no elements. Pure.

export const SEVERITIES = ["info", "warning", "error"];

const MOST = 4096; // as many as the manager keeps
export const MINUTES = 60;

export class History {
  constructor() {
    this.clear();
  }

  clear() {
    this.events = []; // the oldest first: {kind, severity, time, text}
  }

  add(kind, { severity = "info", time = "", text = kind }) {
    this.events.push({ kind, severity, time, text });
    if (this.events.length > MOST) this.events.shift();
  }

  kinds() {
    return [...new Set(this.events.map((event) => event.kind))].sort();
  }

  /**
   * The latest `most` that are at least as severe, of this kind and with this text; "" matches any. The latest first.
   */
  shown({ severity, kind, text }, most) {
    const least = SEVERITIES.indexOf(severity);
    const wanted = text.trim().toLowerCase();
    const found = [];
    for (let n = this.events.length - 1; n >= 0 && found.length < most; n -= 1) {
      const event = this.events[n];
      if (SEVERITIES.indexOf(event.severity) < least || (kind && event.kind !== kind)) continue;
      if (event.text.toLowerCase().includes(wanted)) found.push(event);
    }
    return found;
  }

  /** For each minute before `now` (ms), the latest last: {info, warning, error}. */
  lastHour(now) {
    const minutes = Array.from({ length: MINUTES }, () => ({ info: 0, warning: 0, error: 0 }));
    for (const { severity, time } of this.events) {
      const ago = Math.floor((now - Date.parse(time)) / 60_000);
      // Clocks of two machines differ a little: an event from the future counts as current.
      if (ago < MINUTES) minutes[MINUTES - 1 - Math.max(0, ago)][severity] += 1;
    }
    return minutes;
  }
}
