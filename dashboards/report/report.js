"use strict";

// Draws each plot once it is in sight: those of a closed run wait until it is opened.
const draw = (place) => {
  if (place.dataset.drawn) return;
  place.dataset.drawn = "yes";
  const item = JSON.parse(document.getElementById(`${place.id}-data`).textContent);
  Bokeh.embed.embed_item(item, place.id);
};

const drawInside = (element) => {
  for (const place of element.querySelectorAll(".plot")) {
    const closed = place.closest("details:not([open])");
    if (!closed) draw(place);
  }
};

for (const closed of document.querySelectorAll("details")) {
  closed.addEventListener("toggle", () => drawInside(closed));
}
drawInside(document);

// On paper a plot is as wide as the page, and not as wide as the window was: it is shrunk, for it cannot be drawn anew
// before the printer has it.
const PAPER_PIXELS = 680;
addEventListener("beforeprint", () => {
  for (const place of document.querySelectorAll(".plot")) {
    if (place.clientWidth > PAPER_PIXELS) place.style.zoom = PAPER_PIXELS / place.clientWidth;
  }
});
addEventListener("afterprint", () => {
  for (const place of document.querySelectorAll(".plot")) place.style.zoom = "";
});
