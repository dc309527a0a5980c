// Queues, the deepest first; one with messages and nobody to take them stands out.

import { blame } from "./blame.js";
import { byId, element, setText } from "./dom.js";
import { PlainTable } from "./plain_table.js";
import { count } from "./format.js";

const SHOWN = 50;
const COLUMNS = [
  ["queue", "left", (q) => q.queue + (q.blame ? `, to blame for ${q.blame}` : ""), (q) => (q.blame ? "blamed" : "")],
  ["broker", "left medium", (q) => q.broker],
  ["messages", "", (q) => count(q.messages), (q) => (q.messages && !q.consumers ? "alarm" : "")],
  ["consumers", "", (q) => count(q.consumers)],
  ["in/s", "medium", (q) => count(q.in_rate)],
  ["out/s", "medium", (q) => count(q.out_rate)],
  ["broker is", "left", (q) => (q.stale ? "not heard of" : "answering"), (q) => (q.stale ? "alarm" : "")],
];

export class Queues {
  constructor(section) {
    this.section = section;
    this.rows = new PlainTable(byId("queues"), COLUMNS, (q) => `${q.mesh}\n${q.broker}\n${q.address}\n${q.queue}`);
    this.more = element("p", { class: "dim" });
    section.append(this.more);
  }

  show(state) {
    this.section.hidden = !state.queues.length;
    const { ofQueue } = blame(state);
    const all = state.queues.map((q) => ({ ...q, blame: ofQueue(q) }));
    // The one to blame first, however deep others are.
    const queues = all.sort((a, b) => (b.blame !== "") - (a.blame !== "") || b.messages - a.messages || a.queue.localeCompare(b.queue));
    this.rows.show(queues.slice(0, SHOWN));
    setText(this.more, queues.length > SHOWN ? `… and ${queues.length - SHOWN} more` : "");
  }
}
