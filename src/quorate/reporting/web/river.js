// How clusters split and merge over numbers of clusters: one bar per number, bands as wide as their rows.
import { hover, press, shape, svgOf } from "./dom.js";
import { clusterColor, css, inkOn } from "./colors.js";
import { count, decimals, shorten } from "./words.js";

// layers: [{title, key, clusters: [{label, size, id?, name?, stability?}]}]; steps[i]: [[from, to, rows]] between layers i and i + 1.
export function drawRiver(box, layers, steps, { now, cluster = null, pick, gap: givenGap }) {
  const thick = 17, gap = givenGap || Math.max(6, Math.min(26, 1100 / layers.length - thick));
  const left = 9 + Math.max(21, ...layers.map((layer) => 7 * layer.title.length)), top = 4;
  const { node, width } = svgOf(box, top + layers.length * thick + (layers.length - 1) * gap + 4, "Clusters by number of clusters");
  const rows = layers.map((layer, i) => placed(layer, i, { left, width: width - left - 2, y: top + i * (thick + gap) }));
  rows.forEach((row, i) => { if (i > 0) arrange(row, rows[i - 1], steps[i - 1]); });
  paint(rows, steps, now);
  const shown = (part) => (cluster === null || part.family === cluster ? 1 : 0.12);
  for (let i = 0; i + 1 < rows.length; i++) bands(node, rows[i], rows[i + 1], steps[i], thick, gap, shown);
  rows.forEach((row, i) => {
    shape(node, "text", { x: left - 8, y: row.y + thick / 2 + 4, "text-anchor": "end", class: i === now ? "" : "quiet", "font-weight": i === now ? 700 : 400 }, row.title);
    for (const part of row.parts) {
      const fill = clusterColor(part.family);
      const bar = shape(node, "rect", { x: part.x, y: row.y, width: Math.max(part.wide, 0.8), height: thick, rx: 2, fill, opacity: shown(part), "data-k": row.key, "data-cluster": part.label });
      if (i === now) bar.setAttribute("stroke", css("--ink"));
      const text = `${row.title}${part.name === undefined ? " clusters" : ""}: cluster ${nameOf(part)}\n${count(part.size)} rows` + (part.stability === undefined ? "" : `, stability ${decimals(part.stability)}`);
      hover(bar, text);
      press(bar, text.replace("\n", ", "), () => pick(row.key, part.label));
      if (part.wide > 16)
        shape(node, "text", { x: part.x + part.wide / 2, y: row.y + thick / 2 + 4, "text-anchor": "middle", "aria-hidden": "true", opacity: shown(part), style: `fill:${inkOn(fill)};pointer-events:none;font-size:11px` }, shorten(nameOf(part), Math.floor(part.wide / 7)));
    }
  });
}
// Nested layers, the coarsest first: {layers: [{k, sizes, parents}]}; colors follow the coarsest.
export function drawLayers(box, { layers }, { pick }) {
  const parts = layers.map(({ k, sizes }) => ({ title: String(k), key: k, clusters: sizes.map((size, label) => ({ label, size, name: String(label) })) }));
  const steps = layers.slice(1).map(({ sizes, parents }) => sizes.map((size, label) => [parents[label], label, size]));
  drawRiver(box, parts, steps, { now: 0, gap: 34, pick });
}
const nameOf = (part) => part.name ?? String(part.id ?? part.label);
function placed(layer, i, { left, width, y }) {
  const space = Math.min(4, (0.15 * width) / layer.clusters.length);
  const total = layer.clusters.reduce((sum, one) => sum + one.size, 0) || 1;
  const room = width - space * (layer.clusters.length - 1);
  const row = { ...layer, y, left, space, scale: room / total, parts: layer.clusters.map((one) => ({ ...one, wide: (one.size / total) * room })) };
  stand(row);
  return row;
}
function stand(row) {
  let x = row.left;
  for (const part of row.parts) { part.x = x; x += part.wide + row.space; }
}
// Place clusters below the clusters their rows come from, so that few bands cross.
function arrange(row, above, cells) {
  const center = new Map(), weight = new Map();
  const from = new Map(above.parts.map((part) => [part.label, part]));
  for (const [a, b, n] of cells) {
    const origin = from.get(a);
    center.set(b, (center.get(b) || 0) + n * (origin.x + origin.wide / 2));
    weight.set(b, (weight.get(b) || 0) + n);
  }
  const place = (part) => (weight.get(part.label) ? center.get(part.label) / weight.get(part.label) : 1e9);
  row.parts.sort((p, q) => place(p) - place(q) || p.label - q.label);
  stand(row);
}
// Colors follow the selected layer: a cluster takes the color of the cluster with which it shares most rows.
function paint(rows, steps, now) {
  for (const part of rows[now].parts) part.family = part.label;
  const spread = (to, from, cells, flip) => {
    const family = new Map(from.parts.map((part) => [part.label, part.family]));
    for (const part of to.parts) {
      const votes = new Map();
      for (const [a, b, n] of cells) {
        const [own, other] = flip ? [a, b] : [b, a];
        if (own === part.label) votes.set(family.get(other), (votes.get(family.get(other)) || 0) + n);
      }
      part.family = [...votes].sort((p, q) => q[1] - p[1] || p[0] - q[0])[0]?.[0] ?? -1;
    }
  };
  for (let i = now + 1; i < rows.length; i++) spread(rows[i], rows[i - 1], steps[i - 1], false);
  for (let i = now - 1; i >= 0; i--) spread(rows[i], rows[i + 1], steps[i], true);
}
function bands(node, one, other, cells, thick, gap, shown) {
  const find = (row) => new Map(row.parts.map((part) => [part.label, part]));
  const [above, below] = [find(one), find(other)];
  const all = cells.map(([from, to, n]) => ({ a: above.get(from), b: below.get(to), n })).filter(({ a, b }) => a && b);
  const used = new Map();
  const take = (side, part, wide) => {
    const key = side + part.label, x = part.x + (used.get(key) || 0);
    used.set(key, (used.get(key) || 0) + wide);
    return x;
  };
  all.sort((p, q) => p.a.x - q.a.x || p.b.x - q.b.x);
  for (const band of all) { band.wa = band.n * one.scale; band.xa = take("a", band.a, band.wa); }
  for (const band of [...all].sort((p, q) => p.b.x - q.b.x || p.a.x - q.a.x)) { band.wb = band.n * other.scale; band.xb = take("b", band.b, band.wb); }
  const y1 = one.y + thick, y2 = other.y, mid = (y1 + y2) / 2;
  for (const { a, b, n, xa, wa, xb, wb } of all) {
    const path = `M${xa},${y1}C${xa},${mid} ${xb},${mid} ${xb},${y2}H${xb + wb}C${xb + wb},${mid} ${xa + wa},${mid} ${xa + wa},${y1}Z`;
    const family = a.wide <= b.wide ? a.family : b.family;
    hover(shape(node, "path", { d: path, fill: clusterColor(family), opacity: 0.34 * Math.min(shown(a), shown(b)) }), `${count(n)} rows: ${one.title}, cluster ${nameOf(a)} to ${other.title}, cluster ${nameOf(b)}`);
  }
}
