// The table of paths: sorted, filtered, and with the details of the paths that are opened.

import { element, setClass, setText, setValue } from "./dom.js";
import { count, duration, latency } from "./format.js";
import { details } from "./details.js";
import { Spark } from "./spark.js";

export const WORST_FIRST = ["outage", "losing", "silent", "behind", "suspect", "refused", "blind", "slow", "waiting", "ok"];

const figure = (name) => (path) => path.response?.[name] ?? null;
const jitter = (path) => path.window?.jitter?.["99"] ?? path.window?.jitter?.max ?? null;
const atLeast = (name) => (path) => (path.response?.at_least.includes(name) ? "≥ " : "") + latency(figure(name)(path));

// What a column is called, when it is left out, its figure, and how that reads.
const COLUMNS = [
  ["p50", "medium", figure("50"), atLeast("50")],
  ["p99", "", figure("99"), atLeast("99")],
  ["max", "medium", figure("max"), atLeast("max")],
  ["rate", "medium", (p) => p.rate, (p) => (p.rate === null ? "–" : `${count(p.rate)}/s`)],
  ["lost", "", (p) => p.classes.lost, (p) => count(p.classes.lost)],
  ["refused", "wide", (p) => p.classes.refused, (p) => count(p.classes.refused)],
  ["unobserved", "wide", (p) => p.classes.unobserved, (p) => count(p.classes.unobserved)],
  ["suspect", "wide", (p) => p.suspect, (p) => count(p.suspect)],
  ["jitter", "wide", jitter, (p) => latency(jitter(p))],
  ["age", "", (p, now) => (p.last_received_seconds === null ? null : Math.max(0, now - p.last_received_seconds)),
    (p, now) => (p.last_received_seconds === null ? "–" : duration(Math.max(0, now - p.last_received_seconds)))],
];
const ALARMING = new Set(["lost", "suspect"]);

export class PathTable {
  constructor(table, filter, shown) {
    this.body = table.tBodies[0];
    this.filter = filter;
    this.shown = shown;
    this.rows = new Map();
    this.sort = "state";
    this.reverse = false;
    this.heads = new Map();
    table.tHead.append(this.head());
    filter.addEventListener("input", () => this.show(this.paths, this.now));
  }

  head() {
    const names = [["path", "left"], ["state", "left"], ...COLUMNS.map(([name, kind]) => [name, kind]), ["p99, last 60", "left medium"]];
    return element("tr", {}, ...names.map(([name, kind], index) => {
      const head = element("th", { scope: "col", class: kind });
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
    this.show(this.paths, this.now);
  }

  show(paths, now) {
    if (!paths) return;
    this.paths = paths;
    this.now = now;
    for (const [name, row] of this.rows) {
      if (!paths.has(name)) {
        row.remove();
        this.rows.delete(name);
      }
    }
    const wanted = this.filter.value.toLowerCase();
    const order = [...paths.values()].filter((p) => p.name.toLowerCase().includes(wanted) || p.state.includes(wanted));
    order.sort((a, b) => this.compare(a, b));
    setText(this.shown, wanted ? `${order.length} of ${paths.size}` : "");
    this.place(order);
    for (const [name, head] of this.heads) {
      const direction = name !== this.sort ? "none" : this.falls(name) ? "descending" : "ascending";
      if (head.getAttribute("aria-sort") !== direction) head.setAttribute("aria-sort", direction);
    }
  }

  place(order) {
    const wanted = new Set(order.map((path) => path.name));
    for (const [name, row] of this.rows) if (!wanted.has(name)) row.detach();
    let next = this.body.firstElementChild;
    for (const path of order) {
      let row = this.rows.get(path.name);
      if (!row) this.rows.set(path.name, (row = new PathRow(path.name)));
      row.show(path, this.now);
      for (const line of row.lines()) {
        if (line === next) next = next.nextElementSibling;
        else this.body.insertBefore(line, next);
      }
    }
  }

  // Words and names rise, figures fall: what one looks for is on top.
  falls(name) {
    return (name !== "path" && name !== "state") !== this.reverse;
  }

  compare(a, b) {
    const turn = this.falls(this.sort) ? -1 : 1;
    let difference = 0;
    if (this.sort === "state") difference = WORST_FIRST.indexOf(a.state) - WORST_FIRST.indexOf(b.state);
    else if (this.sort !== "path") {
      const value = COLUMNS.find(([name]) => name === this.sort)[2];
      difference = (value(a, this.now) ?? -Infinity) - (value(b, this.now) ?? -Infinity) || 0;
    }
    return turn * difference || (this.sort === "path" ? turn : 1) * (a.name < b.name ? -1 : 1);
  }
}

class PathRow {
  constructor(name) {
    this.button = element("button", { type: "button", "aria-expanded": "false" }, name);
    this.button.title = name;
    this.button.addEventListener("click", () => this.toggle());
    this.ends = element("span", { class: "ends" });
    this.word = element("span");
    this.why = element("span", { class: "why" });
    this.figures = COLUMNS.map(() => element("data"));
    const spark = element("td", { class: "left medium" });
    this.spark = new Spark(spark);
    this.line = element("tr", {},
      element("th", { scope: "row" }, this.button, this.ends),
      element("td", { class: "left" }, this.word, this.why),
      ...COLUMNS.map(([, kind], index) => element("td", { class: kind }, this.figures[index])),
      spark);
    this.line.dataset.path = name;
    this.details = null;
    this.drawn = null;
  }

  lines() {
    return this.details ? [this.line, this.details] : [this.line];
  }

  show(path, now) {
    this.path = path;
    setText(this.ends, `${path.source} → ${path.target}${path.via ? ` via ${path.via}` : ""}`);
    setText(this.word, path.maintenance ? `${path.state}, maintenance` : path.state);
    setClass(this.word, `word ${path.state}${path.maintenance ? " maintenance" : ""}`);
    setText(this.why, path.state_text);
    COLUMNS.forEach(([name, , value, text], index) => {
      const found = value(path, now);
      setValue(this.figures[index], found, text(path, now));
      if (ALARMING.has(name)) setClass(this.figures[index], found ? "alarm" : "");
    });
    if (this.drawn !== path.spark) {
      this.drawn = path.spark;
      this.spark.show(path.spark, path.spark_missing);
    }
    if (this.details) this.details.firstChild.replaceChildren(details(path));
  }

  toggle() {
    const open = this.details === null;
    this.button.setAttribute("aria-expanded", String(open));
    if (open) {
      this.details = element("tr", { class: "details" }, element("td", { colspan: String(COLUMNS.length + 3) }, details(this.path)));
      this.line.after(this.details);
    } else {
      this.details.remove();
      this.details = null;
    }
  }

  detach() {
    this.lines().forEach((line) => line.remove());
  }

  remove() {
    this.detach();
  }
}
