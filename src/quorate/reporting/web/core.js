// The core: rows on which members with a required share of the weight agree exactly with the result.
import { hover, press, shape, svgOf } from "./dom.js";
import { css, INKS } from "./colors.js";
import { count, percent, shorten } from "./words.js";
import { clusterName, drawTable, gauge } from "./table.js";

// curve: [{agreement, share, set_aside, clusters}], from full agreement on. The step that holds at a required agreement.
export const coreAt = (curve, required) => curve.filter((step) => step.agreement >= required - 1e-9).pop() ?? curve[0];

// What the core at a required agreement is, in words.
export function coreSentence(curve, required) {
  const step = coreAt(curve, required);
  const aside = curve.slice(0, curve.indexOf(step) + 1).flatMap((one) => one.set_aside);
  const which = aside.length ? ` Not counted: ${shorten(aside.join(", "), 160)}.` : "";
  return `Members with ${percent(step.agreement)} of the weight (required: ${percent(required)}) agree exactly on ${percent(step.share, 1)} of the rows.${which}`;
}

// The share of each cluster that the core keeps.
export function drawCoreTable(table, clusters, step, { cluster, pick }) {
  const kept = (r) => step.clusters[r.label];
  drawTable(table, [
    ["Cluster", (r) => r.label, (r) => clusterName(r.label, pick), "number"],
    ["Rows", (r) => r.size, (r) => count(r.size), "number"],
    ["Rows kept", kept, (r) => gauge(kept(r) / 100, `${kept(r)}%`), "number"],
  ], clusters, { chosen: (r) => r.label === cluster });
}

// Rows kept against the required agreement; click a required agreement to select it.
export function drawCore(box, curve, { required, pick }) {
  const tall = box.clientWidth < 500 ? 150 : 200;
  const { node, width } = svgOf(box, tall, "Rows kept by required agreement");
  const left = 44, right = width - 12, top = 10, bottom = tall - 38;
  const x = (value) => left + value * (right - left), y = (value) => bottom - value * (bottom - top);
  for (const tick of [0, 0.25, 0.5, 0.75, 1]) {
    shape(node, "line", { x1: left, x2: right, y1: y(tick), y2: y(tick), class: "grid" });
    shape(node, "text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end", class: "quiet" }, percent(tick));
    shape(node, "text", { x: x(tick), y: bottom + 17, "text-anchor": tick === 1 ? "end" : tick === 0 ? "start" : "middle", class: "quiet" }, percent(tick));
  }
  shape(node, "text", { x: (left + right) / 2, y: bottom + 34, "text-anchor": "middle", class: "quiet" }, "required agreement");
  const corners = curve.map((step, i) => `${x(step.agreement)},${y(step.share)} ${x(curve[i + 1]?.agreement ?? 0)},${y(step.share)}`);
  shape(node, "polyline", { points: corners.join(" "), fill: "none", stroke: INKS.blue(), "stroke-width": 2 });
  if (required !== null) {
    shape(node, "line", { x1: x(required), x2: x(required), y1: top, y2: bottom, stroke: css("--accent"), "stroke-width": 1.5, "stroke-dasharray": "5 4" });
    shape(node, "circle", { cx: x(required), cy: y(coreAt(curve, required).share), r: 4.5, fill: css("--accent") });
  }
  const step = 0.05;
  for (let level = step; level < 1 + step / 2; level += step) {
    const at = Math.min(1, Math.round(level * 100) / 100);
    const from = Math.max(0, at - step / 2), to = Math.min(1, at + step / 2);
    const area = shape(node, "rect", { x: x(from), y: top, width: x(to) - x(from), height: bottom - top, fill: "transparent", "data-core": at });
    const text = `Required agreement ${percent(at)}\n${percent(coreAt(curve, at).share, 1)} of the rows are kept`;
    hover(area, text);
    press(area, text.replace("\n", ": "), () => pick(at));
  }
}
