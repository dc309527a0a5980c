// Everything known of one path: the last final window, the totals, and the objectives.

import { element } from "./dom.js";
import { budget, count, duration, latency, moment, share } from "./format.js";

export function details(path, now) {
  const blocks = [totals(path)];
  if (path.where) blocks.push(whichHop(path));
  if (path.window) blocks.push(lastWindow(path.window), latencies(path.window));
  for (const slo of path.slos) blocks.push(objective(slo, now));
  return element("div", { class: "facts" }, ...blocks);
}

function totals(path) {
  const moved = Object.entries(path.reclassified);
  return block("Since counting began", [
    exact("sent", "sent", path.sent),
    ...Object.entries(path.classes).map(([name, n]) => exact(`class-${name}`, name, n)),
    ...moved.map(([move, n]) => exact(`moved-${move}`, `later ${move.replace(">", " → ")}`, n)),
    ...Object.entries(path.beside).filter(([, n]) => n).map(([name, n]) => exact(`beside-${name}`, name, n)),
    ...Object.entries(path.unsent).filter(([, n]) => n).map(([reason, n]) => exact(`unsent-${reason}`, `unsent: ${reason.replace("_", " ")}`, n)),
    exact("pending", "not final yet", path.pending),
    ["address", path.address],
    ["settlement", path.settlement],
  ]);
}

function whichHop({ name, where }) {
  return block("Which hop", [
    ["what", where.sentence],
    ["from", moment(where.from_seconds)],
    ["hop", where.hop || "not known"],
    ["cause", where.cause ? element("a", { href: `runbook#${where.cause}` }, where.cause) : "not known"],
    exact("where-said", "explained by it", where.said),
    ["sure", where.exact ? "exact" : where.final ? "final, within bounds" : "first suspect"],
    ["all hops", `inflight why ${name}`],
  ]);
}

function lastWindow(window) {
  return block("Last final window", [
    ["ended", moment(window.end_seconds)],
    ["length", duration(window.length_seconds)],
    exact("window-sent", "sent", window.sent),
    ...Object.entries(window.classes).map(([name, n]) => exact(`window-${name}`, name, n)),
    ["doubts", window.flags.length ? window.flags.join(", ") : "none"],
    ...(window.clock ? [["receiver's clock", `${latency(window.clock.offset_seconds)} ± ${latency(window.clock.bound_seconds)}`]] : []),
    ...Object.entries(window.routes).slice(0, 4).map(([route, n]) => [`by ${route}`, count(n)]),
  ]);
}

function latencies(window) {
  const lines = [];
  for (const [basis, title] of [["response", ""], ["service", "service "], ["jitter", "jitter "]]) {
    for (const [name, value] of Object.entries(window[basis] ?? {})) {
      if (basis === "service" && !["50", "99", "max"].includes(name)) continue;
      const label = /^[0-9.]+$/.test(name) ? `p${name}` : name;
      lines.push(exact(`${basis}-${name}`, `${title}${label}`, value, latency(value)));
    }
  }
  return block("Its latencies", lines);
}

function objective(slo, now) {
  const bound = slo.bound_seconds === null ? "delivered" : `within ${latency(slo.bound_seconds)}`;
  const met = slo.total ? slo.good / slo.total : null;
  return block(`Objective: ${share(slo.objective)} ${bound}`, [
    ["budget of 30 days", budget(slo.budget_left, slo.overspent_since_seconds, now)],
    ["so far", share(met)],
    exact(`slo-${slo.slo}-good`, "good", slo.good),
    exact(`slo-${slo.slo}-total`, "of", slo.total),
  ]);
}

function exact(key, label, value, text = value.toLocaleString()) {
  const data = element("data", { value: String(value), "data-key": key }, text);
  return [label, data];
}

function block(title, lines) {
  const list = element("dl", {}, ...lines.flatMap(([label, value]) => [element("dt", {}, label), element("dd", {}, value)]));
  return element("div", {}, element("h3", {}, title), list);
}
