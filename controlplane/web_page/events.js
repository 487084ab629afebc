// The manager's events as they occur. First choice is the stream of /api/v1/events, read with fetch, because a token
// can be sent with it. When it ends it is opened again, with growing pauses, from the last number that was seen. If no
// stream is possible (a proxy that holds it back, a browser without streams) the kept events are polled, and the stream
// is tried from time to time.
//
//   new Events(api, {
//     event(kind, body, fresh)      fresh: it occurred while the page was open
//     state(state, text)            "live", "waiting" (for the next attempt), "polling", "refused"
//     poll()                        polling: time to look at everything
//   }).start();
import { Refused } from "./api.js";

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 15_000;
const FAILURES_UNTIL_POLLING = 2;
const POLL_PAUSE = 2_000;
const POLLS_UNTIL_NEXT_TRY = 15;
// The server sends something immediately, and at the latest every 15 s from then on.
const FIRST_WORD = 8_000;
const LONGEST_SILENCE = 40_000;

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** The events of text/event-stream: feed(text) returns those that are complete. */
export class EventParser {
  rest = "";
  feed(text) {
    const blocks = (this.rest + text).split("\n\n");
    this.rest = blocks.pop();
    return blocks.flatMap((block) => {
      const event = { id: "", kind: "message", data: "" };
      for (const line of block.split("\n")) {
        const colon = line.indexOf(":");
        const value = line.slice(colon + 1).replace(/^ /, "");
        const name = line.slice(0, colon);
        if (name === "id") event.id = value;
        else if (name === "event") event.kind = value;
        else if (name === "data") event.data += value;
      }
      return event.data ? [event] : [];
    });
  }
}

export class Events {
  constructor(api, sink) {
    this.api = api;
    this.sink = sink;
    this.last = 0;
    this.failures = 0;
    this.run = 0;
  }

  /** From the beginning, also after a login: kept events are delivered again, with `fresh` false. */
  start() {
    this.abort?.abort();
    this.last = 0;
    this.failures = 0;
    this.follow(++this.run);
  }

  async follow(run) {
    while (run === this.run) {
      try {
        if (this.last === 0) await this.poll();
        await this.stream(run);
        this.failures = 0;
      } catch (error) {
        if (run !== this.run) return;
        if (error instanceof Refused && (error.status === 401 || error.status === 403)) {
          this.sink.state("refused", "events: log in to see them");
          return;
        }
        this.failures += 1;
      }
      if (run !== this.run) return;
      if (this.failures >= FAILURES_UNTIL_POLLING) {
        await this.pollForAWhile(run);
      } else {
        const ms = Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** this.failures);
        this.sink.state("waiting", `event stream lost; trying again in ${(ms / 1000).toFixed(1)} s`);
        await pause(ms);
      }
    }
  }

  async stream(run) {
    this.abort = new AbortController();
    let timer = setTimeout(() => this.abort.abort(), FIRST_WORD);
    try {
      const headers = this.api.headers({ "Last-Event-ID": String(this.last) });
      const answer = await fetch("api/v1/events?follow=true",
        { headers, cache: "no-store", credentials: "omit", signal: this.abort.signal });
      if (!answer.ok) throw new Refused(answer.status, "the event stream is refused");
      if (!answer.body) throw new Refused(0, "this browser does not read streams");
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      const parser = new EventParser();
      for (;;) {
        const { done, value } = await reader.read();
        if (done || run !== this.run) return;
        clearTimeout(timer);
        timer = setTimeout(() => this.abort.abort(), LONGEST_SILENCE);
        this.failures = 0;
        this.sink.state("live", "live");
        for (const event of parser.feed(value)) {
          this.last = Number(event.id) || this.last;
          this.sink.event(event.kind, JSON.parse(event.data), true);
        }
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** Fetches kept events newer than the last one. Throws Refused. */
  async poll() {
    const fresh = this.last !== 0;
    const { events } = await this.api.get("api/v1/events?follow=false");
    for (const { number, event, ...body } of events) {
      if (number > this.last || event === "gap") this.sink.event(event, body, fresh);
    }
    this.last = events.at(-1)?.number ?? this.last;
  }

  async pollForAWhile(run) {
    let failed = false;
    for (let times = 0; times < POLLS_UNTIL_NEXT_TRY && run === this.run; times += 1) {
      const every = `every ${POLL_PAUSE / 1000} s`;
      try {
        await this.poll();
        if (failed) return; // the server is back: perhaps the stream is, too
        this.sink.state("polling", `no event stream: asking ${every} instead`);
      } catch {
        failed = true;
        this.sink.state("polling", `no events at all: looking at the fabric ${every} instead`);
      }
      this.sink.poll();
      await pause(POLL_PAUSE);
    }
  }
}
