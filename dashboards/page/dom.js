// Text from the network enters the page through textContent and attributes alone, never as HTML.

export function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function drawing(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

// A name that may go on in the next line after each of these signs, and not within a word.
export function breakable(name) {
  return name.split(/(?<=[/._-])/).flatMap((part) => [part, element("wbr")]);
}

// Touching the page only where something changed keeps hundreds of rows smooth.
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function setClass(node, name) {
  if (node.className !== name) node.className = name;
}

// A figure with its exact value for machines: <data value="0.00213">2.13 ms</data>.
export function setValue(node, value, text) {
  const exact = value === null || value === undefined ? "" : String(value);
  if (node.value !== exact) node.value = exact;
  setText(node, text);
}

export function byId(id) {
  return document.getElementById(id);
}
