// Who is logged in: a token, kept by this tab alone and until it is closed, and what it is good for.
import { Refused } from "./api.js";

const KEY = "tributary.token";

export class Session {
  constructor() {
    this.token = sessionStorage.getItem(KEY) ?? "";
    /** "reader", "job" or "administrator". Without a token nobody is more than a reader here. */
    this.role = "reader";
  }

  get mayDrain() {
    return this.role === "administrator";
  }
  get mayDestroy() {
    return this.role !== "reader";
  }

  logOut() {
    this.token = "";
    this.role = "reader";
    sessionStorage.removeItem(KEY);
  }

  /** Throws Refused where the manager does not know the token; then nobody is logged in. */
  async logIn(api, token = this.token) {
    this.token = token;
    this.role = "reader";
    if (!token) return;
    try {
      await api.get("api/v1/jobs?limit=1");
      this.role = "administrator";
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 403) {
        if (error.status === 401) this.logOut();
        throw error;
      }
      this.role = "job";
    }
    sessionStorage.setItem(KEY, token);
  }
}
