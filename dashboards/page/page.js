// Takes the server's events and hands them to the parts of the page.

import { BrokerLinks } from "./broker_links.js";
import { columns } from "./columns.js";
import { byId, element, setClass, setText } from "./dom.js";
import { count, duration, moment } from "./format.js";
import { Mesh } from "./mesh.js";
import { PathTable } from "./path_table.js";
import { Queues } from "./queues.js";
import { isAlarming, learnStates, worstFirst } from "./states.js";

const QUIET_SECONDS = 5;
const RETRY_SECONDS = 3;

const state = { paths: new Map() };
const mesh = new Mesh(byId("mesh-section"));
const brokerLinks = new BrokerLinks(byId("broker-links-section"));
const queues = new Queues(byId("queues-section"));
let table = null; // until it is known which columns there are
let heard = null; // by this browser's clock, which need not agree with the server's

function take(message, whole) {
  const before = new Map([...state.paths].map(([name, path]) => [name, path.state]));
  if (whole) state.paths.clear();
  for (const { paths: _, gone: __, ...rest } of [message]) Object.assign(state, rest);
  for (const path of message.paths) {
    const known = state.paths.get(path.name);
    state.paths.set(path.name, known ? Object.assign(known, path) : path);
  }
  for (const name of message.gone ?? []) state.paths.delete(name);
  heard = performance.now();
  learnStates(state.states);
  table ??= new PathTable(byId("paths"), columns(state.classes), byId("filter"), byId("shown"));
  announce(before);
  show();
}

function announce(before) {
  const news = [];
  for (const path of state.paths.values()) {
    if (isAlarming(path.state) && before.get(path.name) !== path.state) {
      news.push(`${path.name}: ${path.state}, ${path.state_text}`);
    }
  }
  if (before.size && news.length) setText(byId("news"), news.slice(0, 3).join("; "));
}

function show() {
  setText(byId("site"), `at ${state.site}`);
  const words = new Map();
  for (const path of state.paths.values()) words.set(path.state, (words.get(path.state) ?? 0) + 1);
  const order = [...words].sort(([a], [b]) => worstFirst(a, b));
  const summary = order.map(([word, number]) => `${count(number)} ${word}`).join(", ");
  setText(byId("summary"), `${count(state.paths.size)} paths: ${summary}`);
  const worst = [...words.keys()].some(isAlarming) ? "! " : "";
  if (document.title !== `${worst}Inflight at ${state.site}`) document.title = `${worst}Inflight at ${state.site}`;
  const banner = byId("banner");
  banner.hidden = !state.not_ready;
  setText(banner, state.not_ready ? `Not ready: ${state.not_ready}.` : "");
  table.show(state.paths, state.now_seconds);
  mesh.show(state);
  brokerLinks.show(state);
  queues.show(state);
  showEvents();
  showLink();
}

function showEvents() {
  const list = byId("events");
  byId("events-section").hidden = !state.events.length;
  list.replaceChildren(...[...state.events].reverse().slice(0, 8).map((event) => {
    const until = event.until_seconds ?? event.at_seconds;
    const unended = event.until_seconds === null && event.do !== ""; // an action tells its end when it is over
    const now = event.at_seconds <= state.now_seconds && (unended || state.now_seconds < until);
    const ago = state.now_seconds - event.at_seconds;
    const when = now && unended ? `since ${duration(ago)}` : now ? `now, until ${moment(until)}` : ago < 0 ? `from ${moment(event.at_seconds)}` : `${duration(ago)} ago`;
    const where = event.paths.length ? ` (${event.paths.join(", ")})` : "";
    return element("li", { class: now ? "now" : "" }, `${event.kind}, ${when}${effect(event)}${where}: ${event.text}`);
  }));
}

// When its trouble was seen after its begin, and how long after its end all was well again.
function effect({ effect: did }) {
  const seen = did?.detected_seconds ?? null;
  const over = did?.recovered_seconds ?? null;
  return `${seen === null ? "" : `, seen in ${duration(seen)}`}${over === null ? "" : `, over in ${duration(over)}`}`;
}

function showLink() {
  const link = byId("link");
  const quiet = heard === null ? null : (performance.now() - heard) / 1000;
  if (quiet === null) return;
  const off = quiet > QUIET_SECONDS;
  setClass(link, off ? "off" : "");
  setText(link, off ? `no news for ${duration(quiet)}: is the exporter down?` : "live");
}

function connect() {
  const source = new EventSource("events");
  source.addEventListener("state", (event) => take(JSON.parse(event.data), true));
  source.addEventListener("change", (event) => take(JSON.parse(event.data), false));
  source.addEventListener("error", () => {
    // The browser comes back by itself after a broken connection, not after a refusal.
    if (source.readyState === EventSource.CLOSED) setTimeout(connect, RETRY_SECONDS * 1000);
  });
}

connect();
setInterval(showLink, 1000);
