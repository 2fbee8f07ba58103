// Figures of the explorer only: a dendrogram with a movable cut, eigenvalues, co-association of a row, a scatter plot.
import { canvasOf, el, hover, press, saveFile, shape, svgOf } from "./dom.js";
import { clusterColor, css, inkOn, ramp } from "./colors.js";
import { drawTable } from "./table.js";
import { count, decimals, figure, percent, shorten } from "./words.js";

export function drawTree(box, tree, { k, cluster, pick, cutAt }) {
  const { node, width } = svgOf(box, 300, "Dendrogram with the cut");
  const left = 44, right = width - 8, top = 12, bottom = 262;
  const places = tree.labels.length;
  const high = Math.max(1e-9, ...tree.segments.map((corners) => corners[1][1])) * 1.05;
  const x = (place) => left + ((place + 0.5) / places) * (right - left);
  const y = (height) => bottom - (height / high) * (bottom - top);
  for (const tick of [0, 0.25, 0.5, 0.75, 1]) if (tick <= high) {
    shape(node, "line", { x1: left, x2: right, y1: y(tick), y2: y(tick), class: "grid" });
    shape(node, "text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end", class: "quiet" }, tick);
  }
  tree.segments.forEach((corners, i) => {
    const c = tree.colors[i];
    const path = corners.map(([px, py], j) => `${j ? "L" : "M"}${x(px)},${y(py)}`).join("");
    shape(node, "path", { d: path, fill: "none", stroke: c < 0 ? css("--quiet") : clusterColor(c), "stroke-width": 1.6, opacity: cluster === null || c === cluster || c < 0 ? 1 : 0.25 });
  });
  const step = (right - left) / places;
  for (let from = 0; from < places;) {
    let to = from;
    while (to < places && tree.labels[to] === tree.labels[from]) to++;
    const label = tree.labels[from], fill = clusterColor(label);
    const bar = shape(node, "rect", { x: left + from * step + 1, y: bottom + 5, width: Math.max(1, (to - from) * step - 2), height: 18, rx: 3, fill });
    hover(bar, `Cluster ${label}`);
    press(bar, `Select cluster ${label}`, () => pick(label));
    if ((to - from) * step > 14) shape(node, "text", { x: left + ((from + to) / 2) * step, y: bottom + 18, "text-anchor": "middle", style: `fill:${inkOn(fill)};pointer-events:none;font-size:11px` }, label);
    from = to;
  }
  const line = shape(node, "line", { x1: left, x2: right, y1: y(tree.cut), y2: y(tree.cut), stroke: css("--accent"), "stroke-width": 2, "stroke-dasharray": "6 4" });
  const note = shape(node, "text", { x: right, y: y(tree.cut) - 6, "text-anchor": "end", "font-weight": 700 }, `k = ${k}`);
  const handle = shape(node, "rect", { x: left, y: y(tree.cut) - 12, width: right - left, height: 24, fill: "transparent", class: "line", role: "slider", tabindex: 0, "aria-label": "Cut of the dendrogram: number of clusters", "aria-valuemin": 1, "aria-valuemax": tree.heights.length, "aria-valuenow": k });
  const at = (py) => 1 + tree.heights.filter((height) => height > ((bottom - py) / (bottom - top)) * high).length;
  let dragged = null;
  const place = (event) => Math.max(top, Math.min(bottom, event.clientY - node.getBoundingClientRect().top));
  handle.addEventListener("pointerdown", (event) => { handle.setPointerCapture(event.pointerId); dragged = k; });
  handle.addEventListener("pointermove", (event) => {
    if (dragged === null) return;
    const py = place(event);
    dragged = at(py);
    for (const [name, value] of [["y1", py], ["y2", py]]) line.setAttribute(name, value);
    note.setAttribute("y", py - 6);
    note.textContent = `k = ${dragged}`;
  });
  handle.addEventListener("pointerup", () => { const chosen = dragged; dragged = null; if (chosen !== null && chosen !== k) cutAt(chosen); });
  handle.addEventListener("keydown", (event) => {
    const more = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (!more) return;
    event.preventDefault();
    if (k + more >= 1) cutAt(k + more, "slider");
  });
}

export function drawEigenvalues(box, values, { k, cutAt }) {
  const { node, width } = svgOf(box, 190, "Leading eigenvalues");
  const left = 44, right = width - 10, top = 10, bottom = 160;
  const step = (right - left) / values.length;
  const high = Math.max(1e-9, ...values);
  for (const tick of [0, 0.5, 1]) {
    const y = bottom - tick * (bottom - top);
    shape(node, "line", { x1: left, x2: right, y1: y, y2: y, class: "grid" });
    shape(node, "text", { x: left - 6, y: y + 4, "text-anchor": "end", class: "quiet" }, figure(tick * high));
  }
  values.forEach((value, i) => {
    const cx = left + (i + 0.5) * step, cy = bottom - (Math.max(0, value) / high) * (bottom - top);
    shape(node, "circle", { cx, cy, r: i < k ? 4.5 : 3, fill: i < k ? css("--accent") : css("--quiet") });
    if (i === k - 1 && i + 1 < values.length) shape(node, "line", { x1: left + (i + 1) * step, x2: left + (i + 1) * step, y1: top, y2: bottom, stroke: css("--accent"), "stroke-dasharray": "4 4" });
    if (step > 16 || i % 5 === 4) shape(node, "text", { x: cx, y: bottom + 18, "text-anchor": "middle", class: "quiet" }, i + 1);
    const area = shape(node, "rect", { x: left + i * step, y: 0, width: step, height: 190, fill: "transparent" });
    hover(area, `Eigenvalue ${i + 1}: ${decimals(value, 4)}`);
    press(area, `${i + 1} clusters`, () => cutAt(i + 1));
  });
}

export function drawRowCoassociation(box, shares, label) {
  const shown = shares.map((value, c) => [c, value]).sort((a, b) => b[1] - a[1]).slice(0, 12);
  const { node, width } = svgOf(box, shown.length * 24 + 4, "Co-association with each cluster");
  shown.forEach(([c, value], i) => {
    shape(node, "text", { x: 66, y: i * 24 + 17, "text-anchor": "end", "font-weight": c === label ? 700 : 400 }, `cluster ${c}`);
    shape(node, "rect", { x: 74, y: i * 24 + 4, width: Math.max(1, value * (width - 130)), height: 17, rx: 3, fill: clusterColor(c) });
    shape(node, "text", { x: 80 + value * (width - 130), y: i * 24 + 17, class: "quiet" }, percent(value, 1));
  });
}

// view: {left, right, table}, the contingency table of two members; shading is the share of the column.
export function drawContingency(box, view) {
  const columns = view.right.slice(0, 40);
  const totals = columns.map((_, j) => view.table.reduce((sum, row) => sum + row[j], 0));
  const cell = (n, j) => { const shade = el("span", { class: "shade" }, n ? count(n) : "\u00b7"); shade.style.setProperty("--share", percent(totals[j] ? n / totals[j] : 0)); return shade; };
  drawTable(box, [["", (r) => view.left[r], (r) => shorten(view.left[r], 40), "text"],
    ...columns.map((name, j) => [shorten(name, 20), (r) => view.table[r][j], (r) => cell(view.table[r][j], j), "number"])], view.left.slice(0, 200).map((_, i) => i));
}

// points: {x, y, names}; colors: {kind, values, names, inside}; drawn(polygon) is called with a new selection.
export function drawScatter(box, points, colors, { cluster = null, polygon = null, drawn }) {
  const width = Math.max(240, Math.floor(box.clientWidth)), height = Math.min(width, 560), pad = 34;
  const { canvas, pen } = canvasOf(box, width, height, "Rows as points");
  canvas.classList.add("scatter");
  const range = (values) => { let [low, high] = [Infinity, -Infinity]; for (const v of values) { if (v < low) low = v; if (v > high) high = v; } return high > low ? [low, high] : [low - 1, low + 1]; };
  const [x0, x1] = range(points.x), [y0, y1] = range(points.y);
  const px = (v) => pad + ((v - x0) / (x1 - x0)) * (width - 2 * pad), py = (v) => height - pad - ((v - y0) / (y1 - y0)) * (height - 2 * pad);
  const back = ([qx, qy]) => [x0 + ((qx - pad) / (width - 2 * pad)) * (x1 - x0), y0 + ((height - pad - qy) / (height - 2 * pad)) * (y1 - y0)];
  const size = points.x.length > 5000 ? 1.6 : points.x.length > 800 ? 2.4 : 3.6;
  function paint(path) {
    pen.clearRect(0, 0, width, height);
    pen.strokeStyle = css("--line");
    pen.strokeRect(pad - 8, pad - 8, width - 2 * pad + 16, height - 2 * pad + 16);
    points.x.forEach((_, i) => {
      const value = colors.values[i];
      const faded = (colors.kind === "cluster" && !colors.names && cluster !== null && value !== cluster) || (colors.inside && !colors.inside[i]);
      pen.globalAlpha = faded ? 0.12 : 0.85;
      pen.fillStyle = colors.kind === "share" ? ramp(0.15 + 0.85 * value) : clusterColor(value);
      pen.beginPath();
      pen.arc(px(points.x[i]), py(points.y[i]), size, 0, 7);
      pen.fill();
    });
    pen.globalAlpha = 1;
    pen.fillStyle = css("--quiet");
    pen.font = "12px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.fillText(shorten(points.names[0], 60), width / 2, height - 8);
    pen.save(); pen.translate(14, height / 2); pen.rotate(-Math.PI / 2); pen.fillText(shorten(points.names[1], 60), 0, 0); pen.restore();
    if (!path || path.length < 2) return;
    pen.strokeStyle = css("--accent");
    pen.lineWidth = 2;
    pen.beginPath();
    path.forEach(([qx, qy], i) => (i ? pen.lineTo(qx, qy) : pen.moveTo(qx, qy)));
    pen.closePath();
    pen.stroke();
    pen.globalAlpha = 0.1; pen.fillStyle = css("--accent"); pen.fill(); pen.globalAlpha = 1;
  }
  paint(polygon && polygon.map(([vx, vy]) => [px(vx), py(vy)]));
  let path = null;
  canvas.addEventListener("pointerdown", (event) => { canvas.setPointerCapture(event.pointerId); path = [[event.offsetX, event.offsetY]]; });
  canvas.addEventListener("pointermove", (event) => {
    if (!path) return;
    const last = path[path.length - 1];
    if (Math.hypot(event.offsetX - last[0], event.offsetY - last[1]) < 3) return;
    path.push([event.offsetX, event.offsetY]);
    paint(path);
  });
  canvas.addEventListener("pointerup", () => {
    const done = path;
    path = null;
    if (!done) return;
    const thin = done.filter((_, i) => i % Math.ceil(done.length / 400) === 0);
    drawn(thin.length < 3 ? null : thin.map(back));
  });
}

// A figure as a file: SVG with inlined styles, or the canvas as an image.
function asSvg(box) {
  const drawing = box.querySelector("svg");
  if (!drawing) return null;
  const copy = drawing.cloneNode(true);
  const [from, to] = [[drawing, ...drawing.querySelectorAll("*")], [copy, ...copy.querySelectorAll("*")]];
  from.forEach((node, i) => {
    const look = getComputedStyle(node);
    for (const name of ["fill", "stroke", "stroke-width", "font-size", "font-family", "font-weight", "opacity"]) to[i].setAttribute(name, look.getPropertyValue(name));
    for (const name of ["class", "style", "tabindex", "role", "aria-label"]) if (to[i] !== copy) to[i].removeAttribute(name);
  });
  return new XMLSerializer().serializeToString(copy);
}
async function asCanvas(box) {
  const canvas = box.querySelector("canvas");
  if (canvas) return canvas;
  const drawing = box.querySelector("svg");
  const [width, height] = [drawing.width.baseVal.value, drawing.height.baseVal.value];
  const picture = new Image();
  picture.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(asSvg(box));
  await picture.decode();
  const made = el("canvas", { width: width * 2, height: height * 2 });
  const pen = made.getContext("2d");
  pen.fillStyle = css("--card");
  pen.fillRect(0, 0, width * 2, height * 2);
  pen.drawImage(picture, 0, 0, width * 2, height * 2);
  return made;
}
export async function saveDrawn(box, kind) {
  const name = `${box.dataset.figure}.${kind}`;
  if (kind === "svg" && box.querySelector("svg")) return saveFile(name, asSvg(box), "image/svg+xml");
  const canvas = await asCanvas(box);
  if (kind === "png") return canvas.toBlob((blob) => saveFile(name, blob, "image/png"));
  const picture = `<image href="${canvas.toDataURL()}" width="100%" height="100%"/>`;
  return saveFile(name, `<svg xmlns="http://www.w3.org/2000/svg" width="${canvas.width / 2}" height="${canvas.height / 2}">${picture}</svg>`, "image/svg+xml");
}
