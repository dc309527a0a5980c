// The table of paths: sorted, filtered, and with the details of the paths that are opened.
//
// Hundreds of rows that change every second would be a long task every second. So the worst are shown until all are
// asked for; rows out of sight are brought up to date by and by, or when they come into sight; all of it in slices.

import { byId, element, setText } from "./dom.js";
import { PathRow } from "./path_row.js";
import { Slices } from "./slices.js";

const SHOWN = 100; // rows, until all are asked for
const UNSEEN = 25; // rows out of sight that an update brings up to date
const NEAR = "300px 0px";

export class PathTable {
  constructor(table, columns, filter, shown) {
    this.columns = columns;
    this.body = table.tBodies[0];
    this.filter = filter;
    this.shown = shown;
    this.more = byId("more");
    this.all = false;
    this.rows = new Map();
    this.sort = "state";
    this.reverse = false;
    this.heads = new Map();
    this.turn = 0;
    this.unseen = 0; // where among the rows out of sight the next update goes on
    this.slices = new Slices();
    this.watch = new IntersectionObserver((entries) => this.sight(entries), { rootMargin: NEAR });
    table.tHead.append(this.head());
    filter.addEventListener("input", () => this.again());
    this.more.addEventListener("click", () => {
      this.all = !this.all;
      this.again();
    });
  }

  head() {
    const names = [["path", "left"], ["state", "left state"], ...this.columns, ["p99, last 60", "left broad line"]];
    return element("tr", {}, ...names.map(([name, css], index) => {
      const head = element("th", { scope: "col", class: css });
      if (index === names.length - 1) {
        head.append(name);
        return head;
      }
      const button = element("button", { type: "button" }, name);
      button.addEventListener("click", () => this.sortBy(name));
      head.append(button);
      this.heads.set(name, head);
      return head;
    }));
  }

  sortBy(name) {
    this.reverse = this.sort === name && !this.reverse;
    this.sort = name;
    this.again();
  }

  again() {
    if (this.paths) this.show(this.paths, this.now);
  }

  show(paths, now) {
    this.paths = paths;
    this.now = now;
    this.turn += 1;
    const wanted = this.filter.value.toLowerCase();
    const found = [...paths.values()].filter((p) => p.name.toLowerCase().includes(wanted) || p.state.includes(wanted));
    found.sort((a, b) => this.compare(a, b));
    const order = this.all ? found : found.slice(0, SHOWN);
    setText(this.shown, this.count(order.length, found.length, paths.size));
    this.more.hidden = found.length <= SHOWN;
    setText(this.more, this.all ? `Show the first ${SHOWN} only` : `Show all ${found.length} paths`);
    for (const [name, head] of this.heads) {
      const direction = name !== this.sort ? "none" : this.falls(name) ? "descending" : "ascending";
      if (head.getAttribute("aria-sort") !== direction) head.setAttribute("aria-sort", direction);
    }
    this.slices.run(this.steps(order));
  }

  count(shown, found, all) {
    if (shown < found) return `the first ${shown} of ${found}`;
    return found < all ? `${found} of ${all}` : "";
  }

  // Each step is short: at most one row is made, moved or brought up to date.
  *steps(order) {
    const wanted = new Set(order.map((path) => path.name));
    for (const [name, row] of this.rows) {
      if (wanted.has(name)) continue;
      row.detach();
      // What was opened stays so when it comes back into the list.
      if (!row.details || !this.paths.has(name)) {
        this.watch.unobserve(row.line);
        this.rows.delete(name);
      }
      yield;
    }
    const focused = this.body.contains(document.activeElement) ? document.activeElement : null;
    let next = this.body.firstElementChild;
    for (const path of order) {
      const row = this.rows.get(path.name) ?? this.make(path);
      if (row.seen || !row.line.isConnected) row.show(path, this.now, this.turn);
      for (const line of row.lines()) {
        if (line === next) next = next.nextElementSibling;
        else this.body.insertBefore(line, next);
      }
      yield;
    }
    // A row that moved has lost the focus.
    if (focused?.isConnected && document.activeElement === document.body) focused.focus({ preventScroll: true });
    const rest = order.filter((path) => !this.rows.get(path.name).seen);
    for (let number = 0; number < Math.min(UNSEEN, rest.length); number += 1) {
      const path = rest[this.unseen++ % rest.length];
      this.rows.get(path.name).show(path, this.now, this.turn);
      yield;
    }
  }

  make(path) {
    // What is opened or closed between two slices would be where the next one goes on.
    const row = new PathRow(path.name, this.columns, () => this.again());
    row.show(path, this.now, this.turn);
    this.rows.set(path.name, row);
    this.watch.observe(row.line);
    return row;
  }

  sight(entries) {
    for (const { target, isIntersecting } of entries) {
      const row = this.rows.get(target.dataset.path);
      if (row?.line !== target) continue;
      row.seen = isIntersecting;
      const path = this.paths.get(target.dataset.path);
      if (isIntersecting && path) row.show(path, this.now, this.turn);
    }
  }

  // Words and names rise, figures fall: what one looks for is on top.
  falls(name) {
    return (name !== "path" && name !== "state") !== this.reverse;
  }

  compare(a, b) {
    const turn = this.falls(this.sort) ? -1 : 1;
    let difference = 0;
    if (this.sort === "state") difference = b.state_rank - a.state_rank;
    else if (this.sort !== "path") {
      const value = this.columns.find(([name]) => name === this.sort)[2];
      difference = (value(a, this.now) ?? -Infinity) - (value(b, this.now) ?? -Infinity) || 0;
    }
    return turn * difference || (this.sort === "path" ? turn : 1) * (a.name < b.name ? -1 : 1);
  }
}
