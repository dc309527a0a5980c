// The columns of the table of paths: what each is called, when it is left out, its figure, and how that reads.

import { count, duration, latency } from "./format.js";

const figure = (name) => (path) => path.response?.[name] ?? null;
const jitter = (path) => path.window?.jitter?.["99"] ?? path.window?.jitter?.max ?? null;
const atLeast = (name) => (path) => (path.response?.at_least.includes(name) ? "≥ " : "") + latency(figure(name)(path));

export const COLUMNS = [
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
export const ALARMING = new Set(["lost", "suspect"]);
