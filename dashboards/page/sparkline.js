// A small line of the last windows' p99, or maximum where there are too few messages for one; red ticks where
// messages are missing.

import { drawing } from "./dom.js";
import { count, latency } from "./format.js";

const WIDTH = 120;
const HEIGHT = 26;
const WINDOWS = 60;

export class Sparkline {
  constructor(cell) {
    this.line = drawing("path", { class: "line" });
    this.missing = drawing("path", { class: "missing" });
    this.svg = drawing("svg", { class: "spark", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" }, this.line, this.missing);
    this.svg.setAttribute("preserveAspectRatio", "none");
    cell.append(this.svg);
  }

  show(points, missing) {
    const known = points.filter((point) => point !== null);
    const top = Math.max(...known, 1e-9);
    const x = (index) => WIDTH - (points.length - 1 - index) * (WIDTH / (WINDOWS - 1));
    const y = (point) => HEIGHT - 2 - (point / top) * (HEIGHT - 5);
    let line = "";
    let down = false;
    points.forEach((point, index) => {
      if (point === null) {
        down = false;
        return;
      }
      line += `${down ? "L" : "M"}${x(index).toFixed(1)} ${y(point).toFixed(1)}`;
      if (!down && (index + 1 >= points.length || points[index + 1] === null)) line += "h0.1";
      down = true;
    });
    const ticks = missing.map((lost, index) => (lost ? `M${x(index).toFixed(1)} ${HEIGHT}v-6` : "")).join("");
    this.line.setAttribute("d", line);
    this.missing.setAttribute("d", ticks);
    const lost = missing.reduce((sum, one) => sum + one, 0);
    this.svg.setAttribute("aria-label", known.length
      ? `p99 or maximum of ${points.length} windows: ${latency(Math.min(...known))} to ${latency(top)}, ${count(lost)} missing`
      : `${points.length} windows, nothing received, ${count(lost)} missing`);
  }
}
