(function () {
"use strict";
const S = JSON.parse(document.getElementById("summary").textContent);
const C = JSON.parse(document.getElementById("colours").textContent);
const SVG = "http://www.w3.org/2000/svg";
const byId = (id) => document.getElementById(id);
const ks = S.answers.map((answer) => answer.k);
const state = { k: S.choice.k };

// Small helpers. Text only ever enters the page as text, never as markup.
function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) node.setAttribute(key, value);
  node.append(...children);
  return node;
}
function shape(parent, tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}
function canvasOf(box, width, height, label) {
  const scale = Math.max(2, window.devicePixelRatio || 1);
  const canvas = el("canvas", { width: width * scale, height: height * scale, role: "img", "aria-label": label });
  canvas.style.width = width + "px";
  canvas.style.height = height + "px";
  box.replaceChildren(canvas);
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  return { canvas, pen };
}
function svgOf(box, height, label) {
  const width = Math.max(260, Math.floor(box.clientWidth));
  const node = document.createElementNS(SVG, "svg");
  for (const [key, value] of Object.entries({ width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }))
    node.setAttribute(key, value);
  box.replaceChildren(node);
  return { node, width };
}
const count = (n) => Number(n).toLocaleString("en", { maximumFractionDigits: 1 });
const percent = (x, digits = 0) => (100 * x).toFixed(digits) + "%";
const share = (x) => (x > 0 && x < 0.001 ? "< 0.1%" : percent(x, 1));
const decimals = (x) => (x === null || x === undefined ? "" : Number(x).toFixed(3));
const colour = (c) => (c < 0 ? "#9aa0a6" : C.clusters[c % C.clusters.length]);
const dark = () => document.documentElement.dataset.theme === "dark";
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const answer = (k) => S.answers[ks.indexOf(k)];
const shorten = (text, most) => (text.length > most ? text.slice(0, most - 1) + "\u2026" : text);

function inkOn(hex) {
  const [r, g, b] = [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
  return 0.299 * r + 0.587 * g + 0.114 * b > 150 ? "#10151c" : "#ffffff";
}
function ramp(value) {
  const stops = dark() ? C.dark : C.light;
  const place = Math.max(0, Math.min(1, value)) * (stops.length - 1);
  const i = Math.min(Math.floor(place), stops.length - 2);
  const part = (hex, j) => parseInt(hex.slice(j, j + 2), 16);
  const mixed = [1, 3, 5].map((j) => Math.round(part(stops[i], j) + (place - i) * (part(stops[i + 1], j) - part(stops[i], j))));
  return `rgb(${mixed.join(",")})`;
}

// One tooltip for all charts.
const tip = byId("tip");
function showTip(event, text) {
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = Math.min(event.clientX + 14, window.innerWidth - box.width - 8);
  const below = event.clientY + 18 + box.height < window.innerHeight;
  tip.style.left = Math.max(4, left) + "px";
  tip.style.top = (below ? event.clientY + 18 : event.clientY - box.height - 10) + "px";
}
const hideTip = () => { tip.hidden = true; };
function hover(node, text) {
  node.addEventListener("pointermove", (event) => showTip(event, text));
  node.addEventListener("pointerleave", hideTip);
}

// Tables. A column: [title, value for sorting, content, class].
function drawTable(id, columns, rows, chosen) {
  const table = byId(id);
  if (!table) return;
  const kept = table.dataset.sort ? JSON.parse(table.dataset.sort) : null;
  const head = el("tr");
  const body = el("tbody");
  columns.forEach(([title, , , kind], j) => {
    const button = el("button", { type: "button" }, title);
    const cell = el("th", { scope: "col", class: kind || "" }, button);
    button.addEventListener("click", () => {
      const down = cell.getAttribute("aria-sort") === "ascending" || (kind === "number" && !cell.hasAttribute("aria-sort"));
      sortBy(j, down ? -1 : 1);
    });
    head.append(cell);
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
    const line = el("tr", chosen && chosen(row) ? { class: "chosen" } : {});
    for (const [, , content, kind] of columns) line.append(el("td", { class: kind || "" }, content(row)));
    return line;
  }
  body.append(...rows.map(lineOf));
  table.replaceChildren(el("thead", {}, head), body);
  if (kept) sortBy(kept[0], kept[1]);
}
function gauge(value, text) {
  const inner = el("b");
  inner.style.width = percent(Math.max(0, Math.min(1, value)), 1);
  return el("span", { class: "gauge" }, text === undefined ? decimals(value) : text, el("i", {}, inner));
}
function clusterName(c) {
  if (c === null || c === undefined) return "";
  const swatch = el("span", { class: "swatch" });
  swatch.style.background = colour(c);
  return el("span", {}, swatch, String(c));
}

// The answer.
function drawAnswer() {
  const now = answer(state.k);
  const sizes = now.clusters.map((cluster) => cluster.size);
  const tiles = [
    [String(now.k), now.k === 1 ? "cluster" : "clusters"],
    [count(Math.max(...sizes)), "rows in the largest"],
    [count(Math.min(...sizes)), "rows in the smallest"],
    [percent(now.mean_confidence), "mean confidence of a row"],
    [percent(now.agreement), "agreement with the members"],
  ];
  if (now.unlabelled) tiles.push([count(now.unlabelled), "rows no member labels"]);
  if (now.scores) tiles.push([now.scores.nmi_sqrt.toFixed(3), "NMI with the known classes"]);
  byId("tiles").replaceChildren(...tiles.map(([big, small]) => el("div", { class: "tile" }, el("b", {}, big), el("span", {}, small))));
  const asked = state.k === S.choice.k;
  byId("choice").textContent = asked ? S.choice.explanation
    : `You are looking at ${state.k} clusters; the answer that was written has ${S.choice.k}.`;
  byId("k-note").textContent = asked ? "as written" : `the answer written has ${S.choice.k}`;
  drawSizes(now);
  drawTable("clusters", [
    ["Cluster", (r) => r.label, (r) => clusterName(r.label), "number"],
    ["Rows", (r) => r.size, (r) => count(r.size), "number"],
    ["Share", (r) => r.share, (r) => share(r.share), "number"],
    ["Stability", (r) => r.stability, (r) => gauge(r.stability), "number"],
    ["Opposed most by", (r) => (r.opponents.length ? r.opponents[0][1] : 0),
      (r) => r.opponents.map(([name, part]) => `${name} (${percent(part)})`).join(", ") || "nobody", "text"],
  ], now.clusters);
}
function drawSizes(now) {
  const { node, width } = svgOf(byId("sizes"), 34, "Cluster sizes");
  const total = now.clusters.reduce((sum, cluster) => sum + cluster.size, 0);
  let x = 0;
  for (const cluster of now.clusters) {
    const wide = (cluster.size / total) * width;
    const fill = colour(cluster.label);
    const box = shape(node, "rect", { x, y: 0, width: Math.max(wide - 1, 0.6), height: 34, rx: wide > 8 ? 3 : 0, fill, stroke: css("--line"), "stroke-width": 0.5 });
    const text = `Cluster ${cluster.label}: ${count(cluster.size)} rows (${share(cluster.share)}), stability ${decimals(cluster.stability)}`;
    hover(box, text);
    if (wide > 22) {
      const label = shape(node, "text", { x: x + wide / 2, y: 22, "text-anchor": "middle", style: `fill:${inkOn(fill)};pointer-events:none` }, cluster.label);
      label.setAttribute("font-weight", "600");
    }
    x += wide;
  }
}

// Members.
function drawMembers() {
  const low = S.members.filter((member) => member.trust === "hardly");
  byId("trust-note").textContent = low.length === 0 ? "No member stands apart from the crowd."
    : `${low.length} of ${S.members.length} hardly ${low.length === 1 ? "counts" : "count"}: ` +
      shorten(low.map((member) => member.name).join(", "), 160) + ".";
  const words = { trusted: "trusted", partly: "partly trusted", hardly: "hardly trusted" };
  const ranked = [...S.members].sort((a, b) => b.ncai - a.ncai);
  drawTable("members", [
    ["Member", (r) => r.name, (r) => r.name, "text"],
    ["NCAI", (r) => r.ncai, (r) => gauge(r.ncai), "number"],
    ["Agreement", (r) => r.agreement, (r) => decimals(r.agreement), "number"],
    ["Weight", (r) => r.weight, (r) => percent(r.weight, 1), "number"],
    ["Clusters", (r) => r.n_clusters, (r) => count(r.n_clusters), "number"],
    ...(S.source.missing ? [["Labels", (r) => r.coverage, (r) => percent(r.coverage), "number"]] : []),
    ["Trust", (r) => r.influence, (r) => el("span", { class: r.trust }, words[r.trust]), "short"],
    ["Why", (r) => r.words, (r) => r.words, "long"],
  ], ranked);
}
function fit(pen, text, room) {
  for (let most = text.length; most > 3; most--) {
    const short = shorten(text, most);
    if (pen.measureText(short).width <= room) return short;
  }
  return shorten(text, 3);
}
function drawAgreement() {
  const box = byId("agreement");
  const names = S.agreement.names;
  const n = names.length;
  const width = Math.max(240, Math.floor(box.clientWidth));
  const labelled = n <= 45 && width / n > 9;
  const font = `${Math.min(12, Math.max(8, (width * 0.75) / n))}px system-ui, sans-serif`;
  const ruler = el("canvas").getContext("2d");
  ruler.font = font;
  const fitted = names.map((name) => fit(ruler, name, width * 0.3));
  const margin = labelled ? Math.max(...fitted.map((name) => ruler.measureText(name).width)) + 9 : 4;
  const cell = (width - margin - 2) / n;
  const height = Math.ceil(cell * n + margin + 2);
  const { canvas, pen } = canvasOf(box, width, height, "Agreement of every two members");
  for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) {
    pen.fillStyle = ramp(S.agreement.values[i][j]);
    pen.fillRect(margin + j * cell, margin + i * cell, cell + 0.3, cell + 0.3);
  }
  pen.strokeStyle = css("--line");
  pen.strokeRect(margin, margin, cell * n, cell * n);
  if (labelled) {
    pen.fillStyle = css("--ink");
    pen.font = font;
    pen.textBaseline = "middle";
    fitted.forEach((text, i) => {
      pen.textAlign = "right";
      pen.fillText(text, margin - 5, margin + (i + 0.5) * cell);
      pen.save();
      pen.translate(margin + (i + 0.5) * cell, margin - 5);
      pen.rotate(-Math.PI / 2);
      pen.textAlign = "left";
      pen.fillText(text, 0, 0);
      pen.restore();
    });
  }
  canvas.addEventListener("pointermove", (event) => {
    const j = Math.floor((event.offsetX - margin) / cell), i = Math.floor((event.offsetY - margin) / cell);
    if (i < 0 || j < 0 || i >= n || j >= n) return hideTip();
    showTip(event, `${names[i]}\n${names[j]}\nagreement ${decimals(S.agreement.values[i][j])}`);
  });
  canvas.addEventListener("pointerleave", hideTip);
}

// Consensus matrix: samples ordered by the cluster they are in at this k, each as wide as its rows.
function drawMatrix() {
  const box = byId("matrix");
  const labels = S.matrix.labels[state.k];
  const order = labels.map((_, i) => i).sort((a, b) => labels[a] - labels[b] || a - b);
  const width = Math.max(240, Math.floor(box.clientWidth));
  const strip = 12;
  const side = width - strip - 4;
  const total = S.matrix.rows.reduce((sum, rows) => sum + rows, 0);
  const edges = [0];
  for (const i of order) edges.push(edges[edges.length - 1] + (S.matrix.rows[i] / total) * side);
  const { canvas, pen } = canvasOf(box, width, width, "Consensus matrix");
  const at = strip + 3;
  order.forEach((i, a) => order.forEach((j, b) => {
    pen.fillStyle = ramp(S.matrix.evidence[i][j] / 100);
    pen.fillRect(at + edges[b], at + edges[a], edges[b + 1] - edges[b] + 0.3, edges[a + 1] - edges[a] + 0.3);
  }));
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.font = "600 10px system-ui, sans-serif";
  for (let a = 0; a < order.length;) {
    const cluster = labels[order[a]];
    let b = a;
    while (b < order.length && labels[order[b]] === cluster) b++;
    const fill = colour(cluster);
    pen.fillStyle = fill;
    pen.fillRect(at + edges[a], 0, edges[b] - edges[a], strip);
    pen.fillRect(0, at + edges[a], strip, edges[b] - edges[a]);
    pen.fillStyle = inkOn(fill);
    if (edges[b] - edges[a] > 14) {
      pen.fillText(String(cluster), at + (edges[a] + edges[b]) / 2, strip / 2 + 0.5);
      pen.fillText(String(cluster), strip / 2, at + (edges[a] + edges[b]) / 2);
    }
    pen.strokeStyle = css("--ink");
    pen.lineWidth = 0.6;
    pen.strokeRect(at + edges[a], at + edges[a], edges[b] - edges[a], edges[b] - edges[a]);
    a = b;
  }
  const find = (place) => { let i = 0; while (i < order.length - 1 && edges[i + 1] <= place) i++; return i; };
  canvas.addEventListener("pointermove", (event) => {
    const x = event.offsetX - at, y = event.offsetY - at;
    if (x < 0 || y < 0 || x > side || y > side) return hideTip();
    const [i, j] = [order[find(y)], order[find(x)]];
    showTip(event, `Evidence ${(S.matrix.evidence[i][j] / 100).toFixed(2)}\n` +
      `cluster ${labels[i]}: ${count(S.matrix.rows[i])} rows\ncluster ${labels[j]}: ${count(S.matrix.rows[j])} rows`);
  });
  canvas.addEventListener("pointerleave", hideTip);
}

// Certainty.
function drawHistogram() {
  const bins = answer(state.k).confidence_histogram;
  const total = bins.reduce((sum, n) => sum + n, 0) || 1;
  const { node, width } = svgOf(byId("histogram"), 170, "Rows by confidence");
  const left = 44, bottom = 146, top = 10, right = width - 6;
  const most = Math.max(...bins) / total || 1;
  for (const tick of [0, 0.5, 1]) {
    const y = bottom - tick * (bottom - top);
    shape(node, "line", { x1: left, x2: right, y1: y, y2: y, class: "grid" });
    shape(node, "text", { x: left - 6, y: y + 4, "text-anchor": "end", class: "quiet" }, percent(most * tick, most < 0.1 ? 1 : 0));
  }
  const wide = (right - left) / bins.length;
  bins.forEach((n, i) => {
    const tall = (n / total / most) * (bottom - top);
    const bar = shape(node, "rect", { x: left + i * wide + 1, y: bottom - tall, width: Math.max(wide - 2, 1), height: tall, rx: 1.5, fill: css("--accent") });
    const area = shape(node, "rect", { x: left + i * wide, y: top, width: wide, height: bottom - top, fill: "transparent" });
    hover(area, `Confidence ${(i / bins.length).toFixed(2)} to ${((i + 1) / bins.length).toFixed(2)}\n${count(n)} rows (${share(n / total)})`);
    bar.style.pointerEvents = "none";
  });
  for (const tick of [0, 0.25, 0.5, 0.75, 1])
    shape(node, "text", { x: left + tick * (right - left), y: bottom + 17, "text-anchor": tick === 1 ? "end" : "middle", class: "quiet" }, tick);
}
function drawUncertain() {
  drawTable("uncertain", [
    [S.source.id || "Row", (r) => r.example, (r) => r.example, "text"],
    ["Rows alike", (r) => r.rows, (r) => count(r.rows), "number"],
    ["Cluster", (r) => r.label, (r) => clusterName(r.label), "number"],
    ["Confidence", (r) => r.confidence, (r) => gauge(r.confidence), "number"],
    ["Next best", (r) => r.next, (r) => clusterName(r.next), "number"],
    ["Evidence for it", (r) => r.next_evidence, (r) => decimals(r.next_evidence), "number"],
  ], answer(state.k).uncertain);
}

// The number of clusters.
function drawByK() {
  const box = byId("by-k");
  const series = [
    ["mean confidence", "#0b62a4", "", (a) => a.mean_confidence],
    ["agreement with the members", "#c44e0e", "6 3", (a) => a.agreement],
  ];
  if (S.answers[0].scores) series.push(["NMI with the known classes", "#16956e", "2 3", (a) => a.scores.nmi_sqrt]);
  const gaps = S.answers.map((a) => S.choice.values[a.k]);
  const drawn = gaps.some((value) => value !== null && value !== undefined);
  const legend = el("div", { class: "legend" });
  for (const [name, stroke, dash] of series) {
    const line = el("i");
    line.style.borderTopColor = dark() ? brighter(stroke) : stroke;
    line.style.borderTopStyle = dash ? (dash === "2 3" ? "dotted" : "dashed") : "solid";
    legend.append(el("span", {}, line, name));
  }
  if (drawn) {
    const block = el("i");
    block.style.borderTop = `.7em solid ${css("--bar")}`;
    legend.append(el("span", {}, block, `${S.choice.criterion} (what the automatic choice looks at)`));
  }
  const inner = el("div");
  box.replaceChildren(legend, inner);
  const { node, width } = svgOf(inner, 240, "Scores by number of clusters");
  const left = 44, right = width - 12, top = 10, bottom = 206;
  const step = (right - left) / ks.length;
  const x = (i) => left + (i + 0.5) * step;
  const y = (value) => bottom - value * (bottom - top);
  for (const tick of [0, 0.25, 0.5, 0.75, 1]) {
    shape(node, "line", { x1: left, x2: right, y1: y(tick), y2: y(tick), class: "grid" });
    shape(node, "text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end", class: "quiet" }, tick);
  }
  const largest = Math.max(1e-12, ...gaps.map((value) => value || 0));
  gaps.forEach((value, i) => {
    if (!value) return;
    const tall = (value / largest) * (bottom - top);
    shape(node, "rect", { x: x(i) - step * 0.36, y: bottom - tall, width: step * 0.72, height: tall, fill: css("--bar") });
  });
  const now = ks.indexOf(state.k);
  shape(node, "rect", { x: left + now * step, y: top, width: step, height: bottom - top + 24, fill: css("--accent"), opacity: 0.16 });
  for (const [, stroke, dash, value] of series) {
    const points = S.answers.map((a, i) => `${x(i)},${y(value(a))}`).join(" ");
    const ink = dark() ? brighter(stroke) : stroke;
    shape(node, "polyline", { points, fill: "none", stroke: ink, "stroke-width": 2, "stroke-dasharray": dash });
    S.answers.forEach((a, i) => shape(node, "circle", { cx: x(i), cy: y(value(a)), r: 2.6, fill: ink }));
  }
  const every = Math.max(1, Math.ceil(24 / step));
  ks.forEach((k, i) => {
    if (i % every === 0 || i === now)
      shape(node, "text", { x: x(i), y: bottom + 18, "text-anchor": "middle", class: i === now ? "" : "quiet" }, k);
    const area = shape(node, "rect", { x: left + i * step, y: 0, width: step, height: 240, fill: "transparent", style: "cursor:pointer", "data-k": k });
    const lines = series.map(([name, , , value]) => `${name} ${decimals(value(S.answers[i]))}`);
    if (gaps[i] !== null && gaps[i] !== undefined) lines.push(`${S.choice.criterion} ${decimals(gaps[i])}`);
    hover(area, `${k} clusters\n${lines.join("\n")}`);
    area.addEventListener("click", () => choose(k));
  });
}
const brighter = (hex) => ({ "#0b62a4": "#6cb6e8", "#c44e0e": "#f2915a", "#16956e": "#58c99a" })[hex] || hex;

// How clusters split and join between the neighbouring numbers of clusters.
function drawFlow() {
  const at = ks.indexOf(state.k);
  const shown = ks.slice(Math.max(0, at - 1), at + 2);
  const box = byId("flow");
  byId("flow-note").textContent = shown.length < 2 ? "" :
    `How clusters split and join between ${shown.join(", ")} clusters; a band is as thick as the rows in it.`;
  if (shown.length < 2) return box.replaceChildren();
  const most = Math.max(...shown);
  const height = Math.min(620, Math.max(220, most * 16 + 60));
  const { node, width } = svgOf(box, height, "Clusters at neighbouring numbers of clusters");
  const pillar = 26, top = 22, gap = Math.min(6, 90 / most);
  const columns = shown.map((k, c) => pillarsOf(answer(k), c, shown.length, width, height, pillar, top, gap));
  reorder(columns, shown, height, top, gap);
  for (let c = 0; c + 1 < shown.length; c++) drawBands(node, columns[c], columns[c + 1], S.steps[ks.indexOf(shown[c])], pillar);
  columns.forEach((column, c) => {
    shape(node, "text", { x: column.x + pillar / 2, y: 13, "text-anchor": c === 0 ? "start" : c === columns.length - 1 ? "end" : "middle", class: "quiet",
      dx: c === 0 ? -pillar / 2 : c === columns.length - 1 ? pillar / 2 : 0 }, `${shown[c]} clusters`);
    for (const part of column.parts) {
      const fill = colour(part.label);
      const bar = shape(node, "rect", { x: column.x, y: part.y, width: pillar, height: Math.max(part.tall, 1), fill, rx: 2 });
      hover(bar, `${shown[c]} clusters: cluster ${part.label}\n${count(part.size)} rows, stability ${decimals(part.stability)}`);
      if (part.tall > 11)
        shape(node, "text", { x: column.x + pillar / 2, y: part.y + part.tall / 2 + 4, "text-anchor": "middle", style: `fill:${inkOn(fill)};pointer-events:none` }, part.label);
    }
  });
}
function pillarsOf(now, c, columns, width, height, pillar, top, gap) {
  const total = now.clusters.reduce((sum, cluster) => sum + cluster.size, 0);
  const room = height - top - gap * (now.clusters.length - 1) - 4;
  const parts = now.clusters.map((cluster) => ({ label: cluster.label, size: cluster.size, stability: cluster.stability, tall: (cluster.size / total) * room }));
  return { x: (c / (columns - 1)) * (width - pillar), parts, total, room };
}
// Clusters stand where most of their rows come from, so that bands cross little.
function reorder(columns, shown, height, top, gap) {
  columns.forEach((column, c) => {
    if (c > 0) {
      const centre = new Map(), rows = new Map();
      for (const [from, to, n] of S.steps[ks.indexOf(shown[c - 1])]) {
        const origin = columns[c - 1].parts.find((part) => part.label === from);
        centre.set(to, (centre.get(to) || 0) + n * (origin.y + origin.tall / 2));
        rows.set(to, (rows.get(to) || 0) + n);
      }
      const place = (part) => (rows.get(part.label) ? centre.get(part.label) / rows.get(part.label) : 1e9);
      column.parts.sort((a, b) => place(a) - place(b) || a.label - b.label);
    }
    let y = top;
    for (const part of column.parts) { part.y = y; y += part.tall + gap; }
  });
}
function drawBands(node, one, other, cells, pillar) {
  const used = new Map();
  const find = (column, label) => column.parts.find((part) => part.label === label);
  const take = (side, part, tall) => { const key = side + part.label; const y = part.y + (used.get(key) || 0); used.set(key, (used.get(key) || 0) + tall); return y; };
  const ordered = cells.map(([from, to, n]) => ({ a: find(one, from), b: find(other, to), n })).sort((p, q) => p.a.y - q.a.y || p.b.y - q.b.y);
  const onRight = [...ordered].sort((p, q) => p.b.y - q.b.y || p.a.y - q.a.y);
  for (const band of ordered) { band.left = (band.n / one.total) * one.room; band.ya = take("a", band.a, band.left); }
  for (const band of onRight) { band.right = (band.n / other.total) * other.room; band.yb = take("b", band.b, band.right); }
  const x1 = one.x + pillar, x2 = other.x, mid = (x1 + x2) / 2;
  for (const band of ordered) {
    const path = `M${x1},${band.ya}C${mid},${band.ya} ${mid},${band.yb} ${x2},${band.yb}V${band.yb + band.right}` +
      `C${mid},${band.yb + band.right} ${mid},${band.ya + band.left} ${x1},${band.ya + band.left}Z`;
    hover(shape(node, "path", { d: path, fill: colour(band.a.label), opacity: 0.38 }), `${count(band.n)} rows: cluster ${band.a.label} to cluster ${band.b.label}`);
  }
}
function drawScores() {
  if (!S.answers[0].scores) return;
  const names = { nmi_sqrt: "NMI (sqrt)", nmi_max: "NMI (max)", ari: "ARI", ami: "AMI", purity: "Purity" };
  drawTable("scores", [
    ["Clusters", (r) => r.k, (r) => String(r.k), "number"],
    ...Object.entries(names).map(([key, title]) => [title, (r) => r.scores[key], (r) => decimals(r.scores[key]), "number"]),
  ], S.answers, (r) => r.k === state.k);
}

// Controls.
function choose(k) {
  state.k = k;
  byId("k").value = String(k);
  byId("fewer").disabled = ks.indexOf(k) === 0;
  byId("more").disabled = ks.indexOf(k) === ks.length - 1;
  hideTip();
  for (const draw of [drawAnswer, drawMatrix, drawHistogram, drawUncertain, drawByK, drawFlow, drawScores]) draw();
}
function drawAll() {
  drawMembers();
  drawAgreement();
  choose(state.k);
}
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  drawAll();
}
for (const k of ks) byId("k").append(el("option", { value: k }, String(k)));
byId("k").addEventListener("change", (event) => choose(Number(event.target.value)));
byId("fewer").addEventListener("click", () => choose(ks[ks.indexOf(state.k) - 1]));
byId("more").addEventListener("click", () => choose(ks[ks.indexOf(state.k) + 1]));
byId("theme").addEventListener("click", () => setTheme(dark() ? "light" : "dark"));
byId("download").addEventListener("click", () => {
  const link = el("a", { download: "summary.json", href: URL.createObjectURL(new Blob([JSON.stringify(S, null, 1)], { type: "application/json" })) });
  link.click();
});
const prefers = window.matchMedia("(prefers-color-scheme: dark)");
prefers.addEventListener("change", (event) => setTheme(event.matches ? "dark" : "light"));
let before = null;
window.addEventListener("beforeprint", () => { before = document.documentElement.dataset.theme; setTheme("light"); });
window.addEventListener("afterprint", () => { if (before) setTheme(before); });
let width = window.innerWidth, waiting = 0;
window.addEventListener("resize", () => {
  if (window.innerWidth === width) return;
  width = window.innerWidth;
  clearTimeout(waiting);
  waiting = setTimeout(drawAll, 120);
});
setTheme(prefers.matches ? "dark" : "light");
document.documentElement.dataset.drawn = "true";
})();
