// Cluster sizes as one bar, and a histogram of confidence.
import { hover, press, shape, svgOf } from "./dom.js";
import { clusterColor, css, inkOn } from "./colors.js";
import { clusterId, count, decimals, percent, share } from "./words.js";

export function drawSizes(box, clusters, { cluster = null, pick } = {}) {
  const tall = 38;
  const { node, width } = svgOf(box, tall, "Cluster sizes");
  const total = clusters.reduce((sum, one) => sum + one.size, 0) || 1;
  let x = 0;
  for (const one of clusters) {
    const wide = (one.size / total) * width;
    const fill = clusterColor(one.label);
    const faded = cluster !== null && cluster !== one.label;
    const bar = shape(node, "rect", { x, y: 1, width: Math.max(wide - 1, 0.6), height: tall - 2, rx: wide > 8 ? 3 : 0, fill, stroke: css("--line"), "stroke-width": 0.5, opacity: faded ? 0.25 : 1, "data-cluster": one.label });
    const text = `Cluster ${clusterId(one.label)}: ${count(one.size)} rows (${share(one.size / total)}), stability ${decimals(one.stability)}`;
    hover(bar, text);
    if (pick) press(bar, text, () => pick(one.label));
    if (wide > 22) {
      const label = shape(node, "text", { x: x + wide / 2, y: tall / 2 + 4, "text-anchor": "middle", "font-weight": 600, style: `fill:${faded ? css("--quiet") : inkOn(fill)};pointer-events:none` }, clusterId(one.label));
      label.setAttribute("aria-hidden", "true");
    }
    x += wide;
  }
}

export function drawHistogram(box, bins, { chosen = null, pick, chance = null } = {}) {
  const total = bins.reduce((sum, n) => sum + n, 0) || 1;
  const { node, width } = svgOf(box, 182, "Rows by confidence");
  const left = 44, bottom = 154, top = 16, right = width - 10;
  const most = Math.max(...bins) / total || 1;
  for (const tick of [0, 0.5, 1]) {
    const y = bottom - tick * (bottom - top);
    shape(node, "line", { x1: left, x2: right, y1: y, y2: y, class: "grid" });
    shape(node, "text", { x: left - 6, y: y + 4, "text-anchor": "end", class: "quiet" }, percent(most * tick, most < 0.1 ? 1 : 0));
  }
  const wide = (right - left) / bins.length;
  bins.forEach((n, i) => {
    const tall = (n / total / most) * (bottom - top);
    shape(node, "rect", { x: left + i * wide + 1, y: bottom - tall, width: Math.max(wide - 2, 1), height: tall, rx: 1.5, fill: css("--accent"), opacity: chosen === null || chosen === i ? 1 : 0.35, style: "pointer-events:none" });
    const area = shape(node, "rect", { x: left + i * wide, y: top, width: wide, height: bottom - top, fill: "transparent", "data-bin": i });
    const text = `Confidence ${(i / bins.length).toFixed(2)} to ${((i + 1) / bins.length).toFixed(2)}\n${count(n)} rows (${share(n / total)})`;
    hover(area, text);
    if (pick && n > 0) press(area, text, () => pick(i));
  });
  if (chance !== null) {
    const x = left + chance * (right - left);
    shape(node, "line", { x1: x, x2: x, y1: top, y2: bottom, stroke: css("--quiet"), "stroke-dasharray": "4 3", style: "pointer-events:none" });
    shape(node, "text", { x: x + (chance > 0.8 ? -5 : 5), y: top - 3, "text-anchor": chance > 0.8 ? "end" : "start", class: "quiet", style: "pointer-events:none" }, "random rows");
  }
  for (const tick of [0, 0.25, 0.5, 0.75, 1])
    shape(node, "text", { x: left + tick * (right - left), y: bottom + 18, "text-anchor": tick === 1 ? "end" : tick === 0 ? "start" : "middle", class: "quiet" }, tick);
}
