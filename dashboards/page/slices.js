// Work in slices: a task that lasts keeps the page from scrolling and answering, so long work is spread over frames.

const SLICE_MS = 8; // half of a frame of 60 a second

export class Slices {
  constructor() {
    this.steps = null;
    this.waiting = false;
  }

  // Do these steps (an iterator that does one by each `next`), instead of what is left of those before.
  run(steps) {
    this.steps = steps;
    this.wait();
  }

  // In a tab that nobody sees no frame comes, and no work is done.
  wait() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => this.slice());
  }

  slice() {
    this.waiting = false;
    const until = performance.now() + SLICE_MS;
    while (this.steps) {
      if (this.steps.next().done) this.steps = null;
      else if (performance.now() >= until) return this.wait();
    }
  }
}
