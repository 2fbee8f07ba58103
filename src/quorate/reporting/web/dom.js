// Elements and drawings. Text enters the page only as text, never as markup.
const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

function put(node, attributes) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === "style") node.style.cssText = value;
    else node.setAttribute(key, value);
  }
}
export function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  put(node, attributes);
  node.append(...children);
  return node;
}
export function shape(parent, tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  put(node, attributes);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}
export function svgOf(box, height, label) {
  const width = Math.max(240, Math.floor(box.clientWidth));
  const node = document.createElementNS(SVG, "svg");
  put(node, { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, xmlns: SVG });
  box.replaceChildren(node);
  return { node, width };
}
export function canvasOf(box, width, height, label) {
  const scale = Math.max(2, window.devicePixelRatio || 1);
  const canvas = el("canvas", { width: width * scale, height: height * scale, role: "img", "aria-label": label });
  canvas.style.width = width + "px";
  canvas.style.height = height + "px";
  box.replaceChildren(canvas);
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  return { canvas, pen };
}

// Make a shape clickable, also by keyboard.
export function press(node, label, action) {
  node.setAttribute("role", "button");
  node.setAttribute("tabindex", "0");
  node.setAttribute("aria-label", label);
  node.style.cursor = "pointer";
  node.addEventListener("click", action);
  node.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    action(event);
  });
  return node;
}

// One tooltip for all charts.
export function showTip(event, text) {
  const tip = byId("tip");
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = Math.min(event.clientX + 14, window.innerWidth - box.width - 8);
  const below = event.clientY + 18 + box.height < window.innerHeight;
  tip.style.left = Math.max(4, left) + "px";
  tip.style.top = (below ? event.clientY + 18 : event.clientY - box.height - 10) + "px";
}
export function hideTip() {
  byId("tip").hidden = true;
}
export function hover(node, text) {
  node.addEventListener("pointermove", (event) => showTip(event, text));
  node.addEventListener("pointerleave", hideTip);
  return node;
}

export function saveFile(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = el("a", { download: name, href: address });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
