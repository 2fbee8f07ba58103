// Rows as points in a plane, colored by cluster or confidence; and the distinctive features of each cluster.
import { canvasOf, el, hideTip, shape, showTip, svgOf, hover } from "./dom.js";
import { clusterColor, css, INKS, ramp } from "./colors.js";
import { clusterId, figure, percent, shorten } from "./words.js";
import { clusterName } from "./table.js";

function frame(points, width, height, margin) {
  const spread = [0, 1].map((axis) => {
    const sorted = points.map((point) => point[axis]).sort((a, b) => a - b);
    const [low, high] = [sorted[0], sorted[sorted.length - 1]];
    return { low, size: high - low || 1 };
  });
  const inside = [width - 2 * margin, height - 2 * margin];
  return points.map(([x, y]) => [
    margin + ((x - spread[0].low) / spread[0].size) * inside[0],
    height - margin - ((y - spread[1].low) / spread[1].size) * inside[1],
  ]);
}

// points (n, 2), labels (n), confidence (n) in hundredths; by: "cluster" or "confidence".
export function drawPlane(box, { points, axes, labels, confidence }, { by, cluster = null, pick } = {}) {
  const width = Math.max(220, Math.floor(box.clientWidth)), height = Math.min(width, 420);
  const inner = el("div");
  box.replaceChildren(inner);
  const { canvas, pen } = canvasOf(inner, width, height, `Rows in a plane, colored by ${by}`);
  const places = frame(points, width, height, 22);
  const radius = points.length > 1500 ? 1.8 : points.length > 400 ? 2.4 : 3.2;
  pen.strokeStyle = css("--line");
  pen.strokeRect(0.5, 0.5, width - 1, height - 1);
  const most = Math.max(...confidence, 1);
  const order = places.map((_, i) => i);
  // Draw the selected cluster last, on top.
  if (cluster !== null) order.sort((a, b) => (labels[a] === cluster) - (labels[b] === cluster) || a - b);
  for (const i of order) {
    const faded = cluster !== null && labels[i] !== cluster;
    pen.globalAlpha = faded ? 0.12 : 0.8;
    pen.fillStyle = by === "cluster" ? clusterColor(labels[i]) : ramp(confidence[i] / most);
    pen.beginPath();
    pen.arc(places[i][0], places[i][1], radius, 0, 2 * Math.PI);
    pen.fill();
    if (by === "confidence" && !faded) {
      pen.globalAlpha = 0.25;
      pen.lineWidth = 0.5;
      pen.strokeStyle = css("--ink");
      pen.stroke();
    }
  }
  pen.globalAlpha = 1;
  pen.fillStyle = css("--quiet");
  pen.font = "12px system-ui, sans-serif";
  pen.textAlign = "right";
  pen.fillText(shorten(axes[0], 40), width - 6, height - 6);
  pen.save();
  pen.translate(14, 6);
  pen.rotate(-Math.PI / 2);
  pen.fillText(shorten(axes[1], 40), 0, 0);
  pen.restore();
  const nearest = (event) => {
    let best = 64, closest = null;
    places.forEach(([x, y], i) => {
      const distance = (x - event.offsetX) ** 2 + (y - event.offsetY) ** 2;
      if (distance < best) [best, closest] = [distance, i];
    });
    return closest;
  };
  canvas.addEventListener("pointermove", (event) => {
    const i = nearest(event);
    if (i === null) return hideTip();
    showTip(event, `Cluster ${labels[i] < 0 ? "none" : clusterId(labels[i])}, confidence ${percent(confidence[i] / 100)}\n${shorten(axes[0], 40)} ${figure(points[i][0])}, ${shorten(axes[1], 40)} ${figure(points[i][1])}`);
  });
  canvas.addEventListener("pointerleave", hideTip);
  canvas.style.cursor = "pointer";
  canvas.addEventListener("click", (event) => { const i = nearest(event); if (i !== null && pick) pick(labels[i]); });
  if (by !== "confidence") return;
  const bar = el("i");
  bar.style.background = `linear-gradient(to right, ${Array.from({ length: 13 }, (_, i) => ramp(i / 12)).join(", ")})`;
  box.append(el("div", { class: "scale" }, "0", bar, (most / 100).toFixed(2), el("span", {}, "confidence")));
}

// For each cluster, bars to the left or right: difference of its mean from the other rows, in standard deviations.
export function drawDistinctive(box, clusters, { names, most, cluster = null, pick } = {}) {
  const shown = clusters.map((features, label) => ({ features, label })).filter((one) => one.features.length && (cluster === null || one.label === cluster));
  box.replaceChildren(...shown.map(({ label }) => el("div", { class: "panel" }, el("h4", {}, clusterName(label, pick)), el("div", { class: "chart" }))));
  shown.forEach(({ features, label }, place) => {
    const tall = 20;
    const { node, width } = svgOf(box.children[place].lastChild, features.length * tall + 4, `Distinctive features of cluster ${clusterId(label)}`);
    const space = Math.min(0.46 * width, 150), middle = space + (width - space) / 2, half = (width - space) / 2 - 42;
    shape(node, "line", { x1: middle, x2: middle, y1: 0, y2: features.length * tall + 4, class: "grid" });
    features.forEach((one, i) => {
      const y = 2 + i * tall, wide = (Math.abs(one.difference) / most) * half, right = one.difference >= 0;
      const name = names[one.feature];
      shape(node, "text", { x: space - 6, y: y + 14, "text-anchor": "end" }, shorten(name, Math.floor(space / 6.6)));
      shape(node, "rect", { x: right ? middle : middle - wide, y: y + 3, width: Math.max(wide, 0.5), height: tall - 6, rx: 2, fill: right ? INKS.blue() : INKS.orange() });
      const end = right ? middle + wide + 4 : middle - wide - 4;
      shape(node, "text", { x: end, y: y + 14, "text-anchor": right ? "start" : "end", class: "quiet" }, signed(one.difference));
      hover(shape(node, "rect", { x: 0, y, width, height: tall, fill: "transparent" }), `${shorten(name, 200)}\nmean in cluster ${clusterId(label)}: ${figure(one.inside)}\nmean of the other rows: ${figure(one.outside)}`);
    });
  });
}
export const signed = (x) => (x > 0 ? "+" : x < 0 ? "\u2212" : "") + Math.abs(x).toFixed(2);
