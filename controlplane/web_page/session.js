// The login: a token, kept by this tab only until it is closed, and its role.
import { Refused } from "./api.js";

const KEY = "tributary.token";

export class Session {
  constructor() {
    this.token = sessionStorage.getItem(KEY) ?? "";
    /** "reader", "job" or "administrator". Without a token the role is reader. */
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

  /** Throws Refused where the manager does not know the token; then the session is logged out. */
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
