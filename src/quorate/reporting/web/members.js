// Groups of members that support different partitions, and the distance of each member from the result.
import { el, hover, shape, svgOf } from "./dom.js";
import { css } from "./colors.js";
import { count, decimals, percent, shorten } from "./words.js";
import { drawTable, gauge } from "./table.js";

// The number of each member's group, counted from 1; undefined for members of no group.
export const groupOf = (camps) => new Map((camps?.groups || []).flatMap((group, i) => group.members.map((j) => [j, i + 1])));

// camps: {groups: [{members, n_clusters?, agreement, weight?, difference?, ari?}]}; use(group) offers a button.
export function drawCamps(table, camps, names, { use, used } = {}) {
  const groups = camps.groups.map((group, i) => ({ ...group, number: i + 1 }));
  const has = (field) => groups.every((group) => group[field] !== undefined);
  const button = (r) => {
    const node = el("button", { type: "button", "data-group": r.number, "aria-pressed": String(used(r)) }, used(r) ? "Use all members" : "Use only this group");
    node.addEventListener("click", () => use(used(r) ? null : r));
    return node;
  };
  drawTable(table, [
    ["Group", (r) => r.number, (r) => String(r.number), "number"],
    ["Members", (r) => r.members.length, (r) => `${count(r.members.length)}: ${shorten(r.members.map((j) => names[j]).join(", "), 160)}`, "long"],
    ...(has("n_clusters") ? [["Clusters", (r) => r.n_clusters, (r) => count(r.n_clusters), "number"]] : []),
    ...(has("weight") ? [["Weight", (r) => r.weight, (r) => percent(r.weight, 1), "number"]] : []),
    ["Agreement within (AMI)", (r) => r.agreement, (r) => gauge(r.agreement), "number"],
    ...(has("ari") ? [["Compared with this result", (r) => r.ari, (r) => [r.difference, `ARI ${decimals(r.ari, 2)}`].filter(Boolean).join("; "), "text"]] : []),
    ...(use ? [["", (r) => Number(used(r)), button, "short"]] : []),
  ], groups, { chosen: use ? used : undefined });
}

// Members by their distance from the result (bits); the dashed line encloses 95 % of the weight.
export function drawBall(box, { distances, radius }, members) {
  const size = 5, most = Math.max(radius, ...distances, 1e-9) * 1.02;
  const width = Math.max(240, Math.floor(box.clientWidth)), left = 12, right = width - 12;
  const x = (value) => left + (value / most) * (right - left);
  const columns = new Map(); // dots that would overlap are stacked
  const placed = distances.map((distance, j) => ({ j, distance })).sort((a, b) => a.distance - b.distance).map((dot) => {
    const column = Math.round(x(dot.distance) / (2 * size + 1));
    const level = columns.get(column) || 0;
    columns.set(column, level + 1);
    return { ...dot, x: Math.max(left, Math.min(right, column * (2 * size + 1))), level };
  });
  const bottom = 26 + 2 * size * Math.max(3, ...columns.values());
  const { node } = svgOf(box, bottom + 40, "Distance of each member from the result");
  shape(node, "line", { x1: left, x2: right, y1: bottom, y2: bottom, class: "grid" });
  for (const tick of [0, 0.5, 1]) shape(node, "text", { x: x(tick * most), y: bottom + 16, "text-anchor": tick === 1 ? "end" : tick === 0 ? "start" : "middle", class: "quiet" }, decimals(tick * most, 2));
  shape(node, "text", { x: (left + right) / 2, y: bottom + 34, "text-anchor": "middle", class: "quiet" }, "variation of information (bits)");
  shape(node, "line", { x1: x(radius), x2: x(radius), y1: 16, y2: bottom, stroke: css("--accent"), "stroke-dasharray": "5 4" });
  shape(node, "text", { x: x(radius) + (radius > most / 2 ? -5 : 5), y: 12, "text-anchor": radius > most / 2 ? "end" : "start", class: "quiet" }, "95% of the weight");
  for (const dot of placed) {
    const member = members[dot.j];
    const inside = dot.distance <= radius, fill = member.weight > 0 && inside ? css("--accent") : css("--quiet");
    const circle = shape(node, "circle", { cx: dot.x, cy: bottom - size - 2 * size * dot.level, r: size - 0.7, fill, opacity: member.weight > 0 ? 1 : 0.4, "data-distance": dot.j });
    hover(circle, `${shorten(member.name, 200)}\n${decimals(dot.distance, 2)} bits, weight ${percent(member.weight, 1)}`);
  }
}
