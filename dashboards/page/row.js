// One path's row in the table, and the row with its details below it.

import { COLUMNS, ALARMING } from "./columns.js";
import { details } from "./details.js";
import { element, setClass, setText, setValue } from "./dom.js";
import { Spark } from "./spark.js";

export class PathRow {
  // `toggled` is called when its details were opened or closed.
  constructor(name, toggled) {
    this.button = element("button", { type: "button", "aria-expanded": "false" }, name);
    this.button.title = name;
    this.button.addEventListener("click", () => {
      this.toggle();
      toggled();
    });
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
    this.seen = false; // on the screen, or nearly
    this.turn = 0; // which update it shows
  }

  lines() {
    return this.details ? [this.line, this.details] : [this.line];
  }

  show(path, now, turn) {
    if (this.turn === turn) return;
    this.turn = turn;
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
}
