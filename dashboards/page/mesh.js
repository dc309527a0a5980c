// The mesh: a drawing for the eye, and tables that say the same in words.

import { blame } from "./blame.js";
import { byId, drawing } from "./dom.js";
import { PlainTable } from "./plain_table.js";
import { count, duration } from "./format.js";

const DRAWN = 60; // routers; a drawing of more helps nobody
const STEP = { x: 190, y: 74 };
const BOX = { width: 130, height: 44 };

// A router that is up and has a reason to tell is cut off from another one.
const word = (item) => (item.stale ? "stale" : !item.up ? "down" : item.reason ? "warn" : "up");
const look = (item) => (item.blame ? "blamed" : word(item));
const words = { up: "up", warn: "up", down: "DOWN", stale: "not heard of" };
const boxed = { ...words, warn: "cut off" }; // there is no room for the reason in a box
const blamed = (item) => (item.blame ? `; to blame for ${item.blame}` : "");

const ROUTERS = [
  ["router", "left", (r) => r.router],
  ["state", "left", (r) => words[word(r)] + (r.reason ? `: ${r.reason}` : "") + blamed(r), look],
  ["kind", "left wide", (r) => [r.mode, r.flavour, r.version].filter(Boolean).join(" ")],
  ["up for", "medium", (r) => duration(r.uptime_seconds || null)],
  ["messages/s", "", (r) => count(r.rate)],
  ["waiting", "", (r) => count(r.undelivered)],
  ["unsettled", "medium", (r) => count(r.unsettled)],
  ["dropped", "medium", (r) => count(r.dropped), (r) => (r.dropped ? "alarm" : "")],
];
const EDGES = [
  ["link", "left", (e) => `${e.source} — ${e.target}`],
  ["state", "left", (e) => words[word(e)] + blamed(e), look],
  ["cost", "medium", (e) => count(e.cost)],
  ["messages/s", "", (e) => count(e.rate)],
  ["waiting", "", (e) => count(e.undelivered)],
  ["unsettled", "medium", (e) => count(e.unsettled)],
];

export class Mesh {
  constructor(section) {
    this.section = section;
    this.routers = new PlainTable(byId("routers"), ROUTERS, (r) => `${r.mesh}\n${r.router}`);
    this.edges = new PlainTable(byId("edges"), EDGES, (e) => `${e.mesh}\n${e.id}`);
    this.drawn = "";
  }

  show(state) {
    const { ofRouter, ofEdge } = blame(state);
    const routers = state.routers.map((r) => ({ ...r, blame: ofRouter(r) }));
    const edges = state.edges.map((e) => ({ ...e, blame: ofEdge(e) }));
    this.section.hidden = !routers.length;
    this.routers.show([...routers].sort((a, b) => a.up - b.up || (a.router < b.router ? -1 : 1)));
    this.edges.show([...edges].sort((a, b) => a.up - b.up || (a.id < b.id ? -1 : 1)));
    const seen = JSON.stringify([routers.map((r) => [r.mesh, r.router, word(r), look(r)]), edges.map((e) => [e.mesh, e.id, word(e), look(e)])]);
    if (seen !== this.drawn) {
      this.drawn = seen;
      byId("graph").replaceChildren(...(routers.length > 1 && routers.length <= DRAWN ? [draw(routers, edges)] : []));
    }
  }
}

function draw(routers, edges) {
  const places = place(routers, edges);
  const all = [...places.values()];
  const width = (Math.max(...all.map((p) => p.column)) + 1) * STEP.x;
  const height = (Math.max(...all.map((p) => p.row)) + 1) * STEP.y;
  const at = (key) => ({ x: (places.get(key).column + 0.5) * STEP.x, y: (places.get(key).row + 0.5) * STEP.y });
  const down = [...routers, ...edges].filter((item) => !["up", "warn"].includes(word(item))).length;
  const guilty = [...routers, ...edges].filter((item) => item.blame).length;
  const svg = drawing("svg", { viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `${routers.length} routers and ${edges.length} links, ${down} of them not up, ${guilty} to blame for what is missing or slow; the tables below list them` });
  // A small mesh need not fill the page.
  svg.style.maxWidth = `${width * 1.2}px`;
  for (const edge of edges) {
    const [from, to] = [`${edge.mesh}\n${edge.source}`, `${edge.mesh}\n${edge.target}`];
    if (!places.has(from) || !places.has(to)) continue;
    const [a, b] = [at(from), at(to)];
    svg.append(drawing("line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y, class: `${word(edge)} ${edge.blame ? "blamed" : ""}`.trim() }));
  }
  for (const router of routers) {
    const { x, y } = at(`${router.mesh}\n${router.router}`);
    const name = router.router.length > 16 ? `${router.router.slice(0, 15)}…` : router.router;
    svg.append(drawing("g", { class: `${word(router)} ${router.blame ? "blamed" : ""}`.trim() },
      drawing("rect", { x: x - BOX.width / 2, y: y - BOX.height / 2, width: BOX.width, height: BOX.height, rx: 8 }),
      drawing("text", { x, y: y - 7 }, name),
      drawing("text", { x, y: y + 11, class: "small" }, router.blame && router.up ? "to blame" : boxed[word(router)])));
  }
  return svg;
}

// Columns by distance from the end of the longest way, so that a line is drawn as a line.
function place(routers, edges) {
  const keys = routers.map((r) => `${r.mesh}\n${r.router}`);
  const near = new Map(keys.map((key) => [key, []]));
  for (const edge of edges) {
    const [from, to] = [`${edge.mesh}\n${edge.source}`, `${edge.mesh}\n${edge.target}`];
    near.get(from)?.push(to);
    near.get(to)?.push(from);
  }
  const places = new Map();
  const used = new Map();
  for (const key of keys) {
    if (places.has(key)) continue;
    const far = [...distances(key, near)].at(-1)[0];
    for (const [name, column] of distances(far, near)) {
      const row = used.get(column) ?? 0;
      used.set(column, row + 1);
      places.set(name, { column, row });
    }
  }
  return places;
}

function distances(start, near) {
  const found = new Map([[start, 0]]);
  for (const [key, distance] of found) {
    for (const next of near.get(key) ?? []) {
      if (near.has(next) && !found.has(next)) found.set(next, distance + 1);
    }
  }
  return found;
}
