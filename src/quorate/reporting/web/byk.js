// Scores by number of clusters: lines, and bars of the score of the automatic choice.
import { el, hover, press, shape, svgOf } from "./dom.js";
import { INKS, css } from "./colors.js";
import { decimals } from "./words.js";

// The agreement of different kinds of clusterings by number of clusters.
export function drawKinds(box, curve, options) {
  const kinds = "agreement of kinds (ARI)", density = "agreement with HDBSCAN (ARI)";
  const points = curve.map((one) => ({ k: one.k, score: one.score, values: { [kinds]: one.agreement, [density]: one.density } }));
  drawByK(box, points, [[kinds, "blue", ""], [density, "orange", "6 3"]], options);
}

// points: [{k, values: {name: number|null}, score: number|null}]; series: [[name, ink, dash]].
export function drawByK(box, points, series, { k, pick }) {
  const drawn = points.some((point) => point.score !== null && point.score !== undefined);
  const legend = el("div", { class: "legend" });
  for (const [name, ink, dash] of series) {
    const line = el("i");
    line.style.borderTopColor = INKS[ink]();
    line.style.borderTopStyle = dash ? (dash === "2 3" ? "dotted" : "dashed") : "solid";
    legend.append(el("span", {}, line, name));
  }
  if (drawn) {
    const block = el("i");
    block.style.borderTop = `.7em solid ${css("--bar")}`;
    legend.append(el("span", {}, block, "score (relative to the largest)"));
  }
  const inner = el("div");
  box.replaceChildren(legend, inner);
  const { node, width } = svgOf(inner, 240, "Scores by number of clusters");
  const left = 44, right = width - 12, top = 10, bottom = 206;
  const step = (right - left) / points.length;
  const x = (i) => left + (i + 0.5) * step;
  const y = (value) => bottom - Math.max(0, Math.min(1, value)) * (bottom - top);
  for (const tick of [0, 0.25, 0.5, 0.75, 1]) {
    shape(node, "line", { x1: left, x2: right, y1: y(tick), y2: y(tick), class: "grid" });
    shape(node, "text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end", class: "quiet" }, tick);
  }
  const largest = Math.max(1e-12, ...points.map((point) => point.score || 0));
  points.forEach((point, i) => {
    if (!(point.score > 0)) return;
    const tall = (point.score / largest) * (bottom - top);
    shape(node, "rect", { x: x(i) - step * 0.36, y: bottom - tall, width: step * 0.72, height: tall, rx: 2, fill: css("--bar") });
  });
  const now = points.findIndex((point) => point.k === k);
  if (now >= 0) shape(node, "rect", { x: left + now * step, y: top, width: step, height: bottom - top + 24, fill: css("--accent"), opacity: 0.16, rx: 3 });
  for (const [name, ink, dash] of series) {
    const available = points.map((point, i) => [i, point.values[name]]).filter(([, value]) => value !== null && value !== undefined);
    shape(node, "polyline", { points: available.map(([i, value]) => `${x(i)},${y(value)}`).join(" "), fill: "none", stroke: INKS[ink](), "stroke-width": 2, "stroke-dasharray": dash });
    for (const [i, value] of available) shape(node, "circle", { cx: x(i), cy: y(value), r: 2.6, fill: INKS[ink]() });
  }
  const every = Math.max(1, Math.ceil(24 / step));
  points.forEach((point, i) => {
    const free = now < 0 || Math.abs(i - now) >= every; // the selected number is always written
    if (i === now || (i % every === 0 && free))
      shape(node, "text", { x: x(i), y: bottom + 18, "text-anchor": "middle", class: i === now ? "" : "quiet" }, point.k);
    const area = shape(node, "rect", { x: left + i * step, y: 0, width: step, height: 240, fill: "transparent", "data-k": point.k });
    const lines = series.map(([name]) => [name, point.values[name]]).filter(([, value]) => value !== null && value !== undefined).map(([name, value]) => `${name} ${decimals(value)}`);
    if (point.score !== null && point.score !== undefined) lines.push(`score ${decimals(point.score)}`);
    hover(area, `${point.k} clusters\n${lines.join("\n")}`);
    press(area, `${point.k} clusters`, () => pick(point.k));
  });
}
