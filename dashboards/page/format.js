// Figures as people read them; the same forms as in the terminal.

const UNKNOWN = "–";

const digits = (value) => String(Number(value.toPrecision(3)));

export function latency(seconds) {
  if (seconds === null || seconds === undefined) return UNKNOWN;
  const size = Math.abs(seconds);
  if (size < 0.001) return `${Math.round(seconds * 1e6)} µs`;
  if (size < 0.9995) return `${digits(seconds * 1e3)} ms`;
  return `${digits(seconds)} s`;
}

export function count(value) {
  if (value === null || value === undefined) return UNKNOWN;
  for (const [limit, divisor, unit] of [[1e4, 1, ""], [1e7, 1e3, " k"], [1e10, 1e6, " M"], [Infinity, 1e9, " G"]]) {
    if (Math.abs(value) < limit) {
      const scaled = value / divisor;
      return (Number.isInteger(scaled) || Math.abs(scaled) >= 100 ? scaled.toFixed(0) : scaled.toFixed(1)) + unit;
    }
  }
  return UNKNOWN;
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return UNKNOWN;
  if (seconds < 1) return `${Math.max(0, seconds).toFixed(1)} s`;
  if (seconds < 120) return `${Math.floor(seconds)} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  return `${Math.floor(seconds / 3600)} h`;
}

export function share(ratio) {
  return ratio === null ? UNKNOWN : `${Number((ratio * 100).toPrecision(6))} %`;
}

// What is left of a budget, or how often it is used up; -17,043 % would tell nobody anything.
export function budget(left, overspentSinceSeconds, now) {
  if (left === null) return UNKNOWN;
  if (left >= 0) return `${Math.round(left * 100)} % left`;
  const since = overspentSinceSeconds === null ? "" : `, since ${clock(overspentSinceSeconds, now)}`;
  return `used up ${times(1 - left)} times over${since}`;
}

// The same in a column, by what is used.
export function shortBudget(used) {
  if (used === null) return UNKNOWN;
  return used > 1 ? `${times(used)} × over` : `${Math.round((1 - used) * 100)} % left`;
}

const times = (used) => (used >= 10 ? Math.round(used).toLocaleString("en") : used.toFixed(1));

function clock(seconds, now) {
  const at = new Date(seconds * 1000);
  const time = at.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  return Math.abs(now - seconds) < 86400 ? time : `${at.toLocaleDateString()} ${time}`;
}

export function moment(seconds) {
  return new Date(seconds * 1000).toLocaleString();
}
