// One path's row in the table, and the row with its details below it.

import { details } from "./details.js";
import { breakable, element, setClass, setText, setValue } from "./dom.js";
import { Sparkline } from "./sparkline.js";
import { stateOf } from "./states.js";

export class PathRow {
  // `toggled` is called when its details were opened or closed.
  constructor(name, columns, toggled) {
    this.columns = columns;
    this.button = element("button", { type: "button", "aria-expanded": "false", "aria-label": name }, ...breakable(name));
    this.button.title = name;
    this.button.addEventListener("click", () => {
      this.toggle();
      toggled();
    });
    this.ends = element("span", { class: "ends" });
    this.where = element("span", { class: "where" });
    this.word = element("span");
    this.why = element("span", { class: "why" });
    this.figures = columns.map(() => element("data"));
    const spark = element("td", { class: "left broad" });
    this.sparkline = new Sparkline(spark);
    this.line = element("tr", {},
      element("th", { scope: "row" }, this.button, this.ends, this.where),
      element("td", { class: "left" }, this.word, this.why),
      ...columns.map(([, css], index) => element("td", { class: css }, this.figures[index])),
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
    this.now = now;
    setText(this.ends, `${path.source} → ${path.target}${path.via ? ` via ${path.via}` : ""}`);
    setText(this.where, path.where?.sentence ?? "");
    setClass(this.where, path.where?.now ? "where alarm" : "where");
    const { colour, rule } = stateOf(path.state);
    setText(this.word, path.state);
    setClass(this.word, `word ${colour}`);
    if (this.word.title !== rule) this.word.title = rule;
    setText(this.why, path.state_text);
    this.columns.forEach(([, , value, text, alarming], index) => {
      const found = value(path, now);
      setValue(this.figures[index], found, text(path, now));
      if (alarming) setClass(this.figures[index], alarming(found) ? "alarm" : "");
    });
    if (this.drawn !== path.spark) {
      this.drawn = path.spark;
      this.sparkline.show(path.spark, path.spark_missing);
    }
    if (this.details) this.details.firstChild.replaceChildren(details(path, now));
  }

  toggle() {
    const open = this.details === null;
    this.button.setAttribute("aria-expanded", String(open));
    if (open) {
      // As wide as what is shown: columns that are hidden would take room from the others.
      const shown = [...this.line.cells].filter((cell) => cell.getClientRects().length).length;
      this.details = element("tr", { class: "details" }, element("td", { colspan: String(shown) }, details(this.path, this.now)));
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
