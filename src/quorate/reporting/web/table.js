// Sortable tables; on a phone each row is a card. A column: [title, value for sorting, content, class].
import { el } from "./dom.js";
import { clusterColor } from "./colors.js";
import { clusterId, decimals, percent, shorten } from "./words.js";

const MANY_COLUMNS = 8;

export function drawTable(table, columns, rows, { chosen, faded } = {}) {
  if (!table) return;
  const sorted = table.dataset.sort ? JSON.parse(table.dataset.sort) : null;
  table.classList.toggle("dense", columns.length > MANY_COLUMNS);
  const head = el("tr");
  const body = el("tbody");
  columns.forEach(([title, , , kind], j) => {
    const cell = el("th", { scope: "col", class: kind || "" });
    head.append(cell);
    if (!title) return; // a column of buttons cannot be sorted
    const button = el("button", { type: "button" }, title);
    cell.append(button);
    button.addEventListener("click", () => {
      const down = cell.getAttribute("aria-sort") === "ascending" || (kind === "number" && !cell.hasAttribute("aria-sort"));
      sortBy(j, down ? -1 : 1);
    });
  });
  function sortBy(j, direction) {
    table.dataset.sort = JSON.stringify([j, direction]);
    [...head.children].forEach((cell, i) => {
      if (i === j) cell.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      else cell.removeAttribute("aria-sort");
    });
    const value = columns[j][1];
    const compare = (a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === y) return 0;
      if (x === null) return 1;
      if (y === null) return -1;
      const less = typeof x === "string" ? x.localeCompare(y, "en", { numeric: true }) < 0 : x < y;
      return less ? -direction : direction;
    };
    body.replaceChildren(...[...rows].sort(compare).map(lineOf));
  }
  function lineOf(row) {
    const kinds = [chosen && chosen(row) ? "chosen" : "", faded && faded(row) ? "faded" : ""].filter(Boolean).join(" ");
    const line = el("tr", kinds ? { class: kinds } : {});
    columns.forEach(([title, , content, kind], j) => {
      line.append(el("td", { class: (kind || "") + (j === 0 ? " first" : ""), "data-title": title }, content(row)));
    });
    return line;
  }
  body.append(...rows.map(lineOf));
  table.replaceChildren(el("thead", {}, head), body);
  if (sorted && sorted[0] < columns.length) sortBy(sorted[0], sorted[1]);
}
export function gauge(value, text) {
  const inner = el("b");
  inner.style.width = percent(Math.max(0, Math.min(1, value)), 1);
  return el("span", { class: "gauge" }, text === undefined ? decimals(value) : text, el("i", {}, inner));
}
export function clusterName(c, pick) {
  if (c === null || c === undefined) return "";
  const swatch = el("span", { class: "swatch" });
  swatch.style.background = clusterColor(c);
  const text = c < 0 ? "none" : String(clusterId(c));
  if (!pick) return el("span", { class: "cluster" }, swatch, text);
  const button = el("button", { type: "button", class: "cluster plain", "aria-label": `Select cluster ${clusterId(c)}` }, swatch, text);
  button.addEventListener("click", () => pick(c));
  return button;
}
// The commonest text labels of the rows of clusters, if members have text labels.
export const textColumn = (clusters) => (clusters.some((one) => one.texts.length)
  ? [["Common labels", (r) => (r.texts.length ? r.texts[0][0] : null), (r) => r.texts.map(([text, part]) => `${shorten(text, 40)} (${percent(part)})`).join(", "), "text"]] : []);
// How reliable a member is: reliable, partly reliable, unreliable, not tested or ignored.
export const statusLabel = (status) => el("span", { class: `status ${status.split(" ")[0]}` }, status);
// The methods that the default compared.
export function drawMethodTable(table, candidates) {
  drawTable(table, [
    ["Method", (r) => r.method, (r) => r.method, "text"],
    ["Root mean square AMI with the members", (r) => r.agreement, (r) => gauge(r.agreement), "number"],
    ["Clusters", (r) => r.n_clusters, (r) => String(r.n_clusters), "number"],
    ["Chosen", (r) => Number(r.chosen), (r) => (r.chosen ? "chosen" : ""), "short"],
  ], candidates, { chosen: (r) => r.chosen });
}
