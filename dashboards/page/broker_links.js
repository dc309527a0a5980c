// Links of brokers to other brokers, those that are not up first.

import { byId } from "./dom.js";
import { PlainTable } from "./plain_table.js";
import { count } from "./format.js";

const SHOWN = 50;
const word = (k) => (k.stale ? "not heard of" : k.state);
const mark = (k) => (k.stale ? "stale" : k.up ? "up" : "down");
const COLUMNS = [
  ["link", "left", (k) => k.link],
  ["broker", "left", (k) => k.broker],
  ["kind", "left medium", (k) => k.kind],
  ["to", "left medium", (k) => k.to],
  ["state", "left", word, mark],
  ["waiting", "", (k) => count(k.messages)],
  ["unacked", "medium", (k) => count(k.delivering)],
  ["msg/s", "medium", (k) => count(k.rate)],
];

export class BrokerLinks {
  constructor(section) {
    this.section = section;
    this.rows = new PlainTable(byId("broker-links"), COLUMNS, (k) => `${k.mesh}\n${k.broker}\n${k.kind}\n${k.link}`);
  }

  show(state) {
    this.section.hidden = !state.broker_links.length;
    const links = [...state.broker_links].sort(
      (a, b) => a.up - b.up || (b.messages ?? 0) - (a.messages ?? 0) || a.link.localeCompare(b.link));
    this.rows.show(links.slice(0, SHOWN));
  }
}
