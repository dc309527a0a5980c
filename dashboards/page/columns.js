// The columns of the table of paths: what each is called, its CSS classes (its width, and from which width of the
// page on it is shown), its figure, how that reads, and when it is an alarm.

import { count, duration, latency, shortBudget } from "./format.js";

const figure = (name) => (path) => path.response?.[name] ?? null;
const jitter = (path) => path.window?.jitter?.["99"] ?? path.window?.jitter?.max ?? null;
const atLeast = (name) => (path) => (path.response?.at_least.includes(name) ? "≥ " : "") + latency(figure(name)(path));
const age = (path, now) => (path.last_received_seconds === null ? null : Math.max(0, now - path.last_received_seconds));
const some = (value) => value > 0;

// Of the objective that has least left; what is used, so that the worst is the largest.
function budgetUsed(path) {
  const left = path.slos.map((slo) => slo.budget_left).filter((value) => value !== null);
  return left.length ? 1 - Math.min(...left) : null;
}

const ofClass = (name, css, alarming) => [name, css, (p) => p.classes[name], (p) => count(p.classes[name]), alarming];

// `classes` are those that a message may end in.
export const columns = (classes) => [
  ["p50", "latency medium", figure("50"), atLeast("50")],
  ["p99", "latency", figure("99"), atLeast("99")],
  ["max", "latency medium", figure("max"), atLeast("max")],
  ["rate", "medium", (p) => p.rate, (p) => (p.rate === null ? "–" : `${count(p.rate)}/s`)],
  ofClass("lost", "short", some),
  ...classes.filter((name) => name !== "received" && name !== "lost")
    .map((name) => ofClass(name, name.length > 8 ? "long widest" : "wide")),
  ["suspect", "widest", (p) => p.suspect, (p) => count(p.suspect), some],
  ["jitter", "widest", jitter, (p) => latency(jitter(p))],
  ["budget", "long wide", budgetUsed, (p) => shortBudget(budgetUsed(p)), (used) => used > 1],
  ["age", "short", age, (p, now) => duration(age(p, now))],
];
