// The manager's API: one request after the other, with the token of the session. Lists arrive in pages, which are
// joined here.

/** An answer other than 2xx; `status` 0: no answer arrived. */
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

export class Api {
  /** `session.token`: "" without one. */
  constructor(session) {
    this.session = session;
  }

  headers(more = {}) {
    const token = this.session.token;
    return token ? { ...more, Authorization: `Bearer ${token}` } : more;
  }

  async ask(method, path) {
    let answer;
    try {
      answer = await fetch(path, { method, headers: this.headers(), cache: "no-store", credentials: "omit" });
    } catch {
      throw new Refused(0, "the manager does not answer; is it running, and the network there?");
    }
    let body = {};
    try {
      body = await answer.json();
    } catch {
      if (answer.ok) throw new Refused(0, `what came for ${path} is not JSON; is something between us and the manager?`);
    }
    if (!answer.ok) throw new Refused(answer.status, body.message ?? `${path}: status ${answer.status}`);
    return body;
  }

  get(path) {
    return this.ask("GET", path);
  }

  /** All pages of a path, each passed to `take`. */
  async pages(path, take) {
    for (let after = ""; ; ) {
      const page = await this.get(`${path}?limit=10000${after && `&after=${encodeURIComponent(after)}`}`);
      take(page);
      if (!page.next) return;
      after = page.next;
    }
  }

  async list(name) {
    const all = [];
    await this.pages(`api/v1/${name}`, (page) => all.push(...page[name]));
    return all;
  }
}
