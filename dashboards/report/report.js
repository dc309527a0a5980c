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
