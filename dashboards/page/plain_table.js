// A plain table kept up to date: rows by key, cells touched only where they differ.

import { element, setClass, setText } from "./dom.js";

export class PlainTable {
  // columns: [title, class, text of an item, class of an item]
  constructor(table, columns, key) {
    this.body = table.tBodies[0];
    this.columns = columns;
    this.key = key;
    this.known = new Map();
    table.tHead.append(element("tr", {}, ...columns.map(([title, name]) => element("th", { scope: "col", class: name }, title))));
  }

  show(items) {
    const gone = new Set(this.known.keys());
    items.forEach((item, place) => {
      const key = this.key(item);
      gone.delete(key);
      const row = this.known.get(key) ?? this.make(key);
      this.columns.forEach(([, name, text, mark], index) => {
        setText(row.cells[index], text(item));
        setClass(row.cells[index], `${name} ${mark ? mark(item) : ""}`.trim());
      });
      if (this.body.rows[place] !== row) this.body.insertBefore(row, this.body.rows[place] ?? null);
    });
    for (const key of gone) {
      this.known.get(key).remove();
      this.known.delete(key);
    }
  }

  make(key) {
    const cells = this.columns.map((_, index) => element(index ? "td" : "th", index ? {} : { scope: "row" }));
    const row = element("tr", {}, ...cells);
    this.known.set(key, row);
    return row;
  }
}
