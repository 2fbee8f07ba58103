// Built by tools/bundle_report.py from report.js and its modules. Do not edit.
// Elements and drawings. Text enters the page only as text, never as markup.
const SVG = "http://www.w3.org/2000/svg";

const byId = (id) => document.getElementById(id);

function put(node, attributes) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === "style") node.style.cssText = value;
    else node.setAttribute(key, value);
  }
}
function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  put(node, attributes);
  node.append(...children);
  return node;
}
function shape(parent, tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  put(node, attributes);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}
function svgOf(box, height, label) {
  const width = Math.max(240, Math.floor(box.clientWidth));
  const node = document.createElementNS(SVG, "svg");
  put(node, { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, xmlns: SVG });
  box.replaceChildren(node);
  return { node, width };
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

// Make a shape clickable, also by keyboard.
function press(node, label, action) {
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
function showTip(event, text) {
  const tip = byId("tip");
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = Math.min(event.clientX + 14, window.innerWidth - box.width - 8);
  const below = event.clientY + 18 + box.height < window.innerHeight;
  tip.style.left = Math.max(4, left) + "px";
  tip.style.top = (below ? event.clientY + 18 : event.clientY - box.height - 10) + "px";
}
function hideTip() {
  byId("tip").hidden = true;
}
function hover(node, text) {
  node.addEventListener("pointermove", (event) => showTip(event, text));
  node.addEventListener("pointerleave", hideTip);
  return node;
}

function saveFile(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = el("a", { download: name, href: address });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

// Colors of clusters, of values from 0 to 1, and of the page.
let palette = { clusters: ["#0a4f79"], light: ["#ffffff", "#000000"], dark: ["#000000", "#ffffff"] };

function setColors(given) {
  palette = given;
}
const dark = () => document.documentElement.dataset.theme === "dark";
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const clusterColor = (c) => (c === null || c === undefined || c < 0 ? "#9aa0a6" : onPage(palette.clusters[c % palette.clusters.length]));
const part = (hex, j) => parseInt(hex.slice(j, j + 2), 16);
const brightness = (hex) => 0.299 * part(hex, 1) + 0.587 * part(hex, 3) + 0.114 * part(hex, 5);

// On a dark page, mix dark colors with white until they contrast with the background.
function onPage(hex) {
  const least = 100, now = brightness(hex);
  if (!dark() || now >= least) return hex;
  const white = (least - now) / (255 - now);
  return `#${[1, 3, 5].map((j) => Math.round(part(hex, j) + white * (255 - part(hex, j))).toString(16).padStart(2, "0")).join("")}`;
}
const inkOn = (hex) => (brightness(hex) > 150 ? "#10151c" : "#ffffff");
function ramp(value) {
  const stops = dark() ? palette.dark : palette.light;
  const place = Math.max(0, Math.min(1, value)) * (stops.length - 1);
  const i = Math.min(Math.floor(place), stops.length - 2);
  const mixed = [1, 3, 5].map((j) => Math.round(part(stops[i], j) + (place - i) * (part(stops[i + 1], j) - part(stops[i], j))));
  return `#${mixed.map((x) => x.toString(16).padStart(2, "0")).join("")}`;
}
// The inks of lines, brighter on dark pages.
const INKS = {
  blue: () => (dark() ? "#6cb6e8" : "#0b62a4"),
  orange: () => (dark() ? "#f2915a" : "#c44e0e"),
  green: () => (dark() ? "#58c99a" : "#16956e"),
};

// Light or dark: follow the system until the user chooses.
function followTheme(button, redraw) {
  const set = (theme) => {
    document.documentElement.dataset.theme = theme;
    redraw();
  };
  const prefers = window.matchMedia("(prefers-color-scheme: dark)");
  prefers.addEventListener("change", (event) => set(event.matches ? "dark" : "light"));
  button.addEventListener("click", () => set(dark() ? "light" : "dark"));
  let before = null;
  window.addEventListener("beforeprint", () => { before = document.documentElement.dataset.theme; set("light"); });
  window.addEventListener("afterprint", () => { if (before) set(before); });
  let width = window.innerWidth, waiting = 0;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(redraw, 120);
  });
  document.documentElement.dataset.theme = prefers.matches ? "dark" : "light";
}

// Numbers and short sentences for people.
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const count = (n) => whole.format(Number(n));
const percent = (x, digits = 0) => (100 * x).toFixed(digits) + "%";
const share = (x) => (x > 0 && x < 0.001 ? "< 0.1%" : percent(x, 1));
const decimals = (x, digits = 3) => (x === null || x === undefined ? "" : Number(x).toFixed(digits));
const figure = (x) => Number(Number(x).toPrecision(4)).toLocaleString("en", { maximumSignificantDigits: 4 });
const shorten = (text, most) => (text.length > most ? text.slice(0, most - 1) + "\u2026" : text);
const many = (n, one, more) => `${count(n)} ${n === 1 ? one : more || one + "s"}`;
// How well a row fits its cluster: "Confidence 4.8%; cluster 1 fits better by 25 points."
function placement(confidence, margin, runnerUp) {
  const none = runnerUp === null || runnerUp < 0;
  const points = Math.round(100 * Math.abs(margin));
  const next = none ? "no other cluster has support" : margin < 0 ? `cluster ${runnerUp} fits better by ${many(points, "point")}` : `${many(points, "point")} ahead of cluster ${runnerUp}`;
  return `Confidence ${percent(confidence, 1)}; ${next}.`;
}
// A cell of a CSV file.
function csvCell(value) {
  const text = String(value);
  return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}

// Sortable tables; on a phone each row is a card. A column: [title, value for sorting, content, class].

function drawTable(table, columns, rows, { chosen, faded } = {}) {
  if (!table) return;
  const sorted = table.dataset.sort ? JSON.parse(table.dataset.sort) : null;
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
function gauge(value, text) {
  const inner = el("b");
  inner.style.width = percent(Math.max(0, Math.min(1, value)), 1);
  return el("span", { class: "gauge" }, text === undefined ? decimals(value) : text, el("i", {}, inner));
}
function clusterName(c, pick) {
  if (c === null || c === undefined) return "";
  const swatch = el("span", { class: "swatch" });
  swatch.style.background = clusterColor(c);
  const text = c < 0 ? "none" : String(c);
  if (!pick) return el("span", { class: "cluster" }, swatch, text);
  const button = el("button", { type: "button", class: "cluster plain", "aria-label": `Select cluster ${c}` }, swatch, text);
  button.addEventListener("click", () => pick(c));
  return button;
}
// How reliable a member is: reliable, partly reliable, unreliable, not tested or ignored.
const statusLabel = (status) => el("span", { class: `status ${status.split(" ")[0]}` }, status);
// The methods that the default compared.
function drawMethodTable(table, candidates) {
  drawTable(table, [
    ["Method", (r) => r.method, (r) => r.method, "text"],
    ["Agreement with the members (AMI)", (r) => r.agreement, (r) => gauge(r.agreement), "number"],
    ["Clusters", (r) => r.n_clusters, (r) => String(r.n_clusters), "number"],
    ["Chosen", (r) => Number(r.chosen), (r) => (r.chosen ? "chosen" : ""), "short"],
  ], candidates, { chosen: (r) => r.chosen });
}

// Heat maps with their scale: agreement of members, and co-association of rows.

function framed(box) {
  const inner = el("div");
  const stops = Array.from({ length: 13 }, (_, i) => ramp(i / 12)).join(", ");
  const bar = el("i");
  bar.style.background = `linear-gradient(to right, ${stops})`;
  box.replaceChildren(inner, el("div", { class: "scale" }, "0", bar, "1", el("span", {}, box.dataset.scale || "")));
  return inner;
}
function fitText(pen, text, space) {
  for (let most = text.length; most > 3; most--) {
    const short = shorten(text, most);
    if (pen.measureText(short).width <= space) return short;
  }
  return shorten(text, 3);
}

// names and values[i][j] in drawing order; a click on a cell calls pick(i, j).
function drawAgreement(box, { names, values }, { pick, chosen } = {}) {
  const inner = framed(box);
  const n = names.length;
  const width = Math.max(240, Math.floor(box.clientWidth));
  const labeled = n <= 60 && width / n > 9;
  const font = `${Math.min(13, Math.max(8, (width * 0.75) / n))}px system-ui, sans-serif`;
  const ruler = el("canvas").getContext("2d");
  ruler.font = font;
  const fitted = names.map((name) => fitText(ruler, shorten(name, 60), Math.min(width * 0.3, 220)));
  const margin = labeled ? Math.max(...fitted.map((name) => ruler.measureText(name).width)) + 9 : 2;
  const top = labeled ? Math.min(margin, 130) : 2;
  const wide = (width - margin - 2) / n;
  const tall = Math.min(wide, Math.max(labeled ? 13 : 2, 620 / n));
  const height = Math.ceil(tall * n + top + 2);
  const { canvas, pen } = canvasOf(inner, width, height, "Agreement of every two members (AMI)");
  for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) {
    pen.fillStyle = ramp(values[i][j]);
    pen.fillRect(margin + j * wide, top + i * tall, wide + 0.3, tall + 0.3);
    if (wide > 34 && tall > 15 && n <= 24) {
      pen.fillStyle = inkOn(ramp(values[i][j]));
      pen.font = "11px system-ui, sans-serif";
      pen.textAlign = "center";
      pen.textBaseline = "middle";
      pen.fillText(Math.max(0, values[i][j]).toFixed(2), margin + (j + 0.5) * wide, top + (i + 0.5) * tall);
    }
  }
  pen.strokeStyle = css("--line");
  pen.strokeRect(margin, top, wide * n, tall * n);
  if (chosen) {
    pen.strokeStyle = css("--accent");
    pen.lineWidth = 2.5;
    pen.strokeRect(margin + chosen[1] * wide + 1, top + chosen[0] * tall + 1, wide - 2, tall - 2);
  }
  if (labeled) {
    pen.fillStyle = css("--ink");
    pen.font = font;
    pen.textBaseline = "middle";
    fitted.forEach((text, i) => {
      pen.textAlign = "right";
      pen.fillText(text, margin - 5, top + (i + 0.5) * tall);
      pen.save();
      pen.translate(margin + (i + 0.5) * wide, top - 5);
      pen.rotate(-Math.PI / 2);
      pen.textAlign = "left";
      pen.fillText(fitText(pen, text, top - 8), 0, 0);
      pen.restore();
    });
  }
  const cellAt = (event) => {
    const j = Math.floor((event.offsetX - margin) / wide), i = Math.floor((event.offsetY - top) / tall);
    return i < 0 || j < 0 || i >= n || j >= n ? null : [i, j];
  };
  canvas.addEventListener("pointermove", (event) => {
    const cell = cellAt(event);
    if (!cell) return hideTip();
    showTip(event, `${shorten(names[cell[0]], 200)}\n${shorten(names[cell[1]], 200)}\nAMI ${decimals(values[cell[0]][cell[1]])}`);
  });
  canvas.addEventListener("pointerleave", hideTip);
  if (!pick) return;
  canvas.style.cursor = "pointer";
  canvas.addEventListener("click", (event) => { const cell = cellAt(event); if (cell) pick(...cell); });
}

// Sampled rows ordered by cluster; widths are the numbers of rows they represent, values are hundredths.
function drawMatrix(box, { rows, values, labels }, { cluster = null, pick } = {}) {
  const inner = framed(box);
  const order = labels.map((_, i) => i).sort((a, b) => labels[a] - labels[b] || a - b);
  const width = Math.max(240, Math.floor(box.clientWidth));
  const strip = 14, at = strip + 3;
  const [wide, tall] = [width - at - 1, Math.min(width - at - 1, 700)];
  const total = rows.reduce((sum, n) => sum + n, 0);
  const ends = [0];
  for (const i of order) ends.push(ends[ends.length - 1] + rows[i] / total);
  const { canvas, pen } = canvasOf(inner, width, at + tall + 1, "Consensus matrix");
  order.forEach((i, a) => order.forEach((j, b) => {
    pen.fillStyle = ramp(values[i][j] / 100);
    pen.fillRect(at + ends[b] * wide, at + ends[a] * tall, (ends[b + 1] - ends[b]) * wide + 0.3, (ends[a + 1] - ends[a]) * tall + 0.3);
  }));
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.font = "600 10px system-ui, sans-serif";
  for (let a = 0; a < order.length;) {
    const label = labels[order[a]];
    let b = a;
    while (b < order.length && labels[order[b]] === label) b++;
    const [from, to] = [ends[a], ends[b]];
    const fill = clusterColor(label);
    pen.globalAlpha = cluster === null || cluster === label ? 1 : 0.3;
    pen.fillStyle = fill;
    pen.fillRect(at + from * wide, 0, (to - from) * wide, strip);
    pen.fillRect(0, at + from * tall, strip, (to - from) * tall);
    pen.globalAlpha = 1;
    pen.fillStyle = inkOn(fill);
    if ((to - from) * wide > 14) pen.fillText(String(label), at + ((from + to) / 2) * wide, strip / 2 + 0.5);
    if ((to - from) * tall > 12) pen.fillText(String(label), strip / 2, at + ((from + to) / 2) * tall);
    pen.strokeStyle = css("--ink");
    pen.lineWidth = 0.7;
    pen.strokeRect(at + from * wide, at + from * tall, (to - from) * wide, (to - from) * tall);
    if (label === cluster) veil(pen, at, wide, tall, from, to);
    a = b;
  }
  const find = (share) => { let i = 0; while (i < order.length - 1 && ends[i + 1] <= share) i++; return order[i]; };
  const cellAt = (event) => {
    const x = (event.offsetX - at) / wide, y = (event.offsetY - at) / tall;
    return x > 1 || y > 1 || (x < 0 && y < 0) ? null : [find(Math.max(0, y)), find(Math.max(0, x))];
  };
  canvas.addEventListener("pointermove", (event) => {
    const cell = cellAt(event);
    if (!cell) return hideTip();
    const [i, j] = cell;
    showTip(event, `Co-association ${(values[i][j] / 100).toFixed(2)}\ncluster ${labels[i]}: ${count(rows[i])} rows\ncluster ${labels[j]}: ${count(rows[j])} rows`);
  });
  canvas.addEventListener("pointerleave", hideTip);
  if (!pick) return;
  canvas.style.cursor = "pointer";
  canvas.addEventListener("click", (event) => {
    const cell = cellAt(event);
    if (cell) pick(labels[event.offsetY < at ? cell[1] : cell[0]]);
  });
}
// Dim the blocks that do not involve the selected cluster.
function veil(pen, at, wide, tall, from, to) {
  pen.save();
  pen.globalAlpha = 0.78;
  pen.fillStyle = css("--card");
  for (const [x0, x1] of [[0, from], [to, 1]]) for (const [y0, y1] of [[0, from], [to, 1]])
    pen.fillRect(at + x0 * wide, at + y0 * tall, (x1 - x0) * wide, (y1 - y0) * tall);
  pen.restore();
}

// Cluster sizes as one bar, and a histogram of confidence.

function drawSizes(box, clusters, { cluster = null, pick } = {}) {
  const tall = 38;
  const { node, width } = svgOf(box, tall, "Cluster sizes");
  const total = clusters.reduce((sum, one) => sum + one.size, 0) || 1;
  let x = 0;
  for (const one of clusters) {
    const wide = (one.size / total) * width;
    const fill = clusterColor(one.label);
    const faded = cluster !== null && cluster !== one.label;
    const bar = shape(node, "rect", { x, y: 1, width: Math.max(wide - 1, 0.6), height: tall - 2, rx: wide > 8 ? 3 : 0, fill, stroke: css("--line"), "stroke-width": 0.5, opacity: faded ? 0.25 : 1, "data-cluster": one.label });
    const text = `Cluster ${one.label}: ${count(one.size)} rows (${share(one.size / total)}), stability ${decimals(one.stability)}` + (one.chance === undefined ? "" : ` (expected ${decimals(one.chance)})`);
    hover(bar, text);
    if (pick) press(bar, text, () => pick(one.label));
    if (wide > 22) {
      const label = shape(node, "text", { x: x + wide / 2, y: tall / 2 + 4, "text-anchor": "middle", "font-weight": 600, style: `fill:${faded ? css("--quiet") : inkOn(fill)};pointer-events:none` }, one.label);
      label.setAttribute("aria-hidden", "true");
    }
    x += wide;
  }
}

function drawHistogram(box, bins, { chosen = null, pick, chance = null } = {}) {
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

// Scores by number of clusters: lines, and bars of the score of the automatic choice.

// The agreement of different kinds of clusterings by number of clusters.
function drawKinds(box, curve, options) {
  const kinds = "agreement of kinds (ARI)", density = "agreement with HDBSCAN (ARI)";
  const points = curve.map((one) => ({ k: one.k, score: one.score, values: { [kinds]: one.agreement, [density]: one.density } }));
  drawByK(box, points, [[kinds, "blue", ""], [density, "orange", "6 3"]], options);
}

// points: [{k, values: {name: number|null}, score: number|null}]; series: [[name, ink, dash]].
function drawByK(box, points, series, { k, pick }) {
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
    legend.append(el("span", {}, block, "score of the automatic choice"));
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
    if (i % every === 0 || i === now)
      shape(node, "text", { x: x(i), y: bottom + 18, "text-anchor": "middle", class: i === now ? "" : "quiet" }, point.k);
    const area = shape(node, "rect", { x: left + i * step, y: 0, width: step, height: 240, fill: "transparent", "data-k": point.k });
    const lines = series.map(([name]) => [name, point.values[name]]).filter(([, value]) => value !== null && value !== undefined).map(([name, value]) => `${name} ${decimals(value)}`);
    if (point.score !== null && point.score !== undefined) lines.push(`score ${decimals(point.score)}`);
    hover(area, `${point.k} clusters\n${lines.join("\n")}`);
    press(area, `${point.k} clusters`, () => pick(point.k));
  });
}

// How clusters split and merge over numbers of clusters: one bar per number, bands as wide as their rows.

// layers: [{title, key, clusters: [{label, size, stability?}]}]; steps[i]: [[from, to, rows]] between layers i and i + 1.
function drawRiver(box, layers, steps, { now, cluster = null, pick, gap: givenGap }) {
  const thick = 17, gap = givenGap || Math.max(6, Math.min(26, 1100 / layers.length - thick));
  const left = 30, top = 4;
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
      const text = `${row.title}${part.name === undefined ? " clusters" : ""}: cluster ${part.name ?? part.label}\n${count(part.size)} rows` + (part.stability === undefined ? "" : `, stability ${decimals(part.stability)}`);
      hover(bar, text);
      press(bar, text.replace("\n", ", "), () => pick(row.key, part.label));
      if (part.wide > 16)
        shape(node, "text", { x: part.x + part.wide / 2, y: row.y + thick / 2 + 4, "text-anchor": "middle", "aria-hidden": "true", opacity: shown(part), style: `fill:${inkOn(fill)};pointer-events:none;font-size:11px` }, shorten(part.name ?? String(part.label), Math.floor(part.wide / 7)));
    }
  });
}
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
    hover(shape(node, "path", { d: path, fill: clusterColor(family), opacity: 0.34 * Math.min(shown(a), shown(b)) }), `${count(n)} rows: ${one.title}, cluster ${a.name ?? a.label} to ${other.title}, cluster ${b.name ?? b.label}`);
  }
}

// Rows as points in a plane, colored by cluster or confidence; and the distinctive features of each cluster.

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
function drawPlane(box, { points, axes, labels, confidence }, { by, cluster = null, pick } = {}) {
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
    showTip(event, `Cluster ${labels[i] < 0 ? "none" : labels[i]}, confidence ${percent(confidence[i] / 100)}\n${shorten(axes[0], 40)} ${figure(points[i][0])}, ${shorten(axes[1], 40)} ${figure(points[i][1])}`);
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
function drawDistinctive(box, clusters, { names, most, cluster = null, pick } = {}) {
  const shown = clusters.map((features, label) => ({ features, label })).filter((one) => one.features.length && (cluster === null || one.label === cluster));
  box.replaceChildren(...shown.map(({ label }) => el("div", { class: "panel" }, el("h4", {}, clusterName(label, pick)), el("div", { class: "chart" }))));
  shown.forEach(({ features, label }, place) => {
    const tall = 20;
    const { node, width } = svgOf(box.children[place].lastChild, features.length * tall + 4, `Distinctive features of cluster ${label}`);
    const space = Math.min(0.46 * width, 150), middle = space + (width - space) / 2, half = (width - space) / 2 - 42;
    shape(node, "line", { x1: middle, x2: middle, y1: 0, y2: features.length * tall + 4, class: "grid" });
    features.forEach((one, i) => {
      const y = 2 + i * tall, wide = (Math.abs(one.difference) / most) * half, right = one.difference >= 0;
      const name = names[one.feature];
      shape(node, "text", { x: space - 6, y: y + 14, "text-anchor": "end" }, shorten(name, Math.floor(space / 6.6)));
      shape(node, "rect", { x: right ? middle : middle - wide, y: y + 3, width: Math.max(wide, 0.5), height: tall - 6, rx: 2, fill: right ? INKS.blue() : INKS.orange() });
      const end = right ? middle + wide + 4 : middle - wide - 4;
      shape(node, "text", { x: end, y: y + 14, "text-anchor": right ? "start" : "end", class: "quiet" }, signed(one.difference));
      hover(shape(node, "rect", { x: 0, y, width, height: tall, fill: "transparent" }), `${shorten(name, 200)}\nmean in cluster ${label}: ${figure(one.inside)}\nmean of the other rows: ${figure(one.outside)}`);
    });
  });
}
const signed = (x) => (x > 0 ? "+" : x < 0 ? "\u2212" : "") + Math.abs(x).toFixed(2);

// The report: all figures follow the selected number of clusters and the selected cluster.

const S = JSON.parse(byId("summary").textContent);
setColors(JSON.parse(byId("colors").textContent));
const ks = S.answers.map((answer) => answer.k);
const state = { k: S.choice.k, cluster: null, row: null };
const answerAt = (k) => S.answers[ks.indexOf(k)];
// Reliable members are folded only if they are many for the screen.
const foldedFrom = () => (window.innerWidth < 640 ? 12 : 30);

// Headline and clusters.
function drawAnswer() {
  const now = answerAt(state.k);
  const sizes = now.clusters.map((cluster) => cluster.size);
  const tiles = [
    [String(now.k), now.k === 1 ? "cluster" : "clusters"],
    [count(Math.max(...sizes)), "rows in the largest"],
    [count(Math.min(...sizes)), "rows in the smallest"],
    [percent(now.mean_confidence), `mean confidence (random rows: ${percent(now.chance_confidence)})`],
    [percent(now.agreement), "agreement with the members (AMI)"],
  ];
  if (now.unlabeled) tiles.push([count(now.unlabeled), "rows without a cluster"]);
  if (now.scores) tiles.push([now.scores.ami.toFixed(3), "AMI with the known classes"]);
  byId("tiles").replaceChildren(...tiles.map(([big, small]) => el("div", { class: "tile" }, el("b", {}, big), el("span", {}, small))));
  const written = state.k === S.choice.k;
  byId("headline").textContent = written ? S.headline : `${now.finding} The written result has ${many(S.choice.k, "cluster")}.`;
  byId("structure").hidden = !written;
  byId("choice").textContent = "Click a cluster to highlight it in all figures.";
  byId("k-note").textContent = written ? "as written" : `written: ${S.choice.k}`;
  byId("outlook").textContent = now.outlook.sentences.join(" ");
  byId("confidence-sentence").textContent = now.confidence_sentence;
  drawSizes(byId("sizes"), now.clusters, { cluster: state.cluster, pick });
  drawTable(byId("clusters"), [
    ["Cluster", (r) => r.label, (r) => clusterName(r.label, pick), "number"],
    ["Rows", (r) => r.size, (r) => count(r.size), "number"],
    ["Share", (r) => r.share, (r) => share(r.share), "number"],
    ["Stability", (r) => r.stability, (r) => gauge(r.stability), "number"],
    ["Expected", (r) => r.chance, (r) => decimals(r.chance), "number"],
    ["Nearest", (r) => r.nearest, (r) => clusterName(r.nearest, pick), "number"],
    ["Separation", (r) => r.merge_cost, (r) => (r.nearest === null ? "" : gauge(r.merge_cost, percent(r.merge_cost))), "number"],
    ["Opposed by", (r) => (r.opponents.length ? r.opponents[0][1] : 0),
      (r) => r.opponents.map(([name, part]) => `${shorten(name, 60)} (${percent(part)})`).join(", ") || "none", "text"],
  ], now.clusters, { chosen: (r) => r.label === state.cluster });
}

// Rows in the plane of their features, and the distinctive features of clusters.
function drawFeatures() {
  const F = S.features;
  if (!F) return;
  const labels = F.labels[state.k];
  byId("planes").hidden = !labels;
  byId("no-plane").hidden = Boolean(labels);
  const clusters = F.distinctive[state.k] || [];
  if (labels) {
    const rows = { points: F.points, axes: F.axes, labels, confidence: F.confidence[state.k] };
    drawPlane(byId("plane-clusters"), rows, { by: "cluster", cluster: state.cluster, pick });
    drawPlane(byId("plane-confidence"), rows, { by: "confidence", cluster: state.cluster, pick });
  } else byId("no-plane").textContent = `Labels of these rows are available only for the written result, ${many(S.choice.k, "cluster")}.`;
  const lines = clusters.flatMap((features, label) => features.map((one) => ({ ...one, label })));
  const most = Math.max(...lines.map((one) => Math.abs(one.difference)), 1e-9);
  drawDistinctive(byId("distinctive"), clusters, { names: F.names, most, cluster: state.cluster, pick });
  drawTable(byId("distinctive-table"), [
    ["Cluster", (r) => r.label, (r) => clusterName(r.label, pick), "number"],
    ["Feature", (r) => F.names[r.feature], (r) => shorten(F.names[r.feature], 80), "text"],
    ["Difference", (r) => r.difference, (r) => signed(r.difference), "number"],
    ["Mean in cluster", (r) => r.inside, (r) => figure(r.inside), "number"],
    ["Mean of other rows", (r) => r.outside, (r) => figure(r.outside), "number"],
  ], lines, { chosen: (r) => r.label === state.cluster });
}

// Members: unreliable ones first, reliable ones folded if they are many.
function drawMembers() {
  const low = S.members.filter((member) => member.status === "ignored" || member.status === "unreliable");
  const untested = S.members.some((member) => member.status === "not tested");
  byId("members-note").textContent = low.length === 0 ? (untested ? "There are too few rows to test the members." : "No member is an outlier.")
    : `${low.length} of ${many(S.members.length, "member")} ${low.length === 1 ? "is" : "are"} unreliable or ignored: ` +
      shorten(low.map((member) => member.name).join(", "), 160) + ".";
  const split = state.cluster === null ? null : answerAt(state.k).separated;
  const columns = [
    ["Member", (r) => r.name, (r) => shorten(r.name, 200), "text"],
    ["Reliability", (r) => r.trust, (r) => statusLabel(r.status), "text"],
    ["Agreement (AMI)", (r) => r.trust, (r) => gauge(r.trust), "number"],
    ["Weight", (r) => r.weight, (r) => percent(r.weight, 1), "number"],
    ["Clusters", (r) => r.n_clusters, (r) => count(r.n_clusters), "number"],
    ...(S.source.missing ? [["Rows labeled", (r) => r.coverage, (r) => percent(r.coverage), "number"]] : []),
    ...(split ? [[`Splits cluster ${state.cluster}`, (r) => split[state.cluster][r.position], (r) => gauge(split[state.cluster][r.position] / 100, `${split[state.cluster][r.position]}%`), "number"]] : []),
    ["NCAI", (r) => r.ncai, (r) => decimals(r.ncai), "number"],
    ["Reason", (r) => r.reason, (r) => r.reason, "long"],
  ];
  const ranked = S.members.map((member, position) => ({ ...member, position })).sort((a, b) => a.trust - b.trust || a.weight - b.weight);
  const reliable = ranked.filter((member) => member.status === "reliable");
  const folded = reliable.length > foldedFrom();
  byId("fold").hidden = !folded;
  drawTable(byId("members"), columns, folded ? ranked.filter((member) => member.status !== "reliable") : ranked);
  if (!folded) return;
  byId("fold-title").textContent = `${reliable.length} reliable members`;
  byId("members").hidden = reliable.length === ranked.length;
  drawTable(byId("reliable"), columns, reliable);
}
function drawHeat() {
  drawAgreement(byId("agreement"), S.agreement);
  drawMatrix(byId("matrix"), { rows: S.matrix.rows, values: S.matrix.values, labels: S.matrix.labels[state.k] }, { cluster: state.cluster, pick });
}

// Rows: the least certain, those of the selected cluster, and a single row with the label of every member.
const firstRow = new Map();
S.rows.pattern.forEach((pattern, row) => { if (!firstRow.has(pattern)) firstRow.set(pattern, row); });
function rowsOfCluster() {
  const labels = S.rows.labels[state.k], confidence = S.rows.confidence[state.k];
  return [...firstRow].filter(([pattern]) => labels[pattern] === state.cluster)
    .sort(([p], [q]) => confidence[p] - confidence[q] || p - q).slice(0, 12)
    .map(([pattern, row]) => ({ example: S.rows.names[row], rows: S.rows.counts[pattern], label: state.cluster, confidence: confidence[pattern] / 100, margin: S.rows.margin[state.k][pattern] / 100, runner_up: S.rows.runner_up[state.k][pattern] }));
}
function drawUncertain() {
  const chosen = state.cluster !== null;
  byId("uncertain-title").textContent = chosen ? `Least certain rows of cluster ${state.cluster}` : "Least certain rows";
  const restricted = chosen && !S.rows.all ? ` Only the ${count(S.rows.names.length)} searchable rows are listed.` : "";
  byId("uncertain-note").textContent = restricted;
  const rowOf = new Map(S.rows.names.map((name, row) => [name, row]));
  drawTable(byId("uncertain"), [
    [S.source.id || "Row", (r) => r.example, (r) => rowButton(r.example, rowOf.get(r.example)), "text"],
    ["Identical rows", (r) => r.rows, (r) => count(r.rows), "number"],
    ["Cluster", (r) => r.label, (r) => clusterName(r.label, pick), "number"],
    ["Confidence", (r) => r.confidence, (r) => gauge(r.confidence), "number"],
    ["Runner-up", (r) => r.runner_up, (r) => clusterName(r.runner_up, pick), "number"],
    ["Margin", (r) => r.margin, (r) => decimals(r.margin), "number"],
  ], (chosen ? rowsOfCluster() : answerAt(state.k).uncertain).slice(0, window.innerWidth < 640 ? 6 : 12));
}
function rowButton(name, row) {
  if (row === undefined) return shorten(name, 80);
  const button = el("button", { type: "button", class: "plain link" }, shorten(name, 80));
  button.addEventListener("click", () => { selectRow(row); byId("row").scrollIntoView({ block: "nearest" }); });
  return button;
}
function selectRow(row) {
  state.row = row;
  drawRow();
}
function findRows(text) {
  const query = text.trim().toLowerCase();
  if (!query) return byId("matches").replaceChildren();
  const hits = [];
  for (const exact of [true, false]) {
    S.rows.names.forEach((name, row) => {
      const same = name.toLowerCase() === query || name.toLowerCase() === `row ${query}`;
      if (hits.length < 12 && (exact ? same : !same && name.toLowerCase().includes(query))) hits.push(row);
    });
  }
  const none = S.rows.all ? "No row has this name." : `Not among the ${count(S.rows.names.length)} searchable rows (of ${count(S.source.rows)}).`;
  byId("matches").replaceChildren(...(hits.length ? hits.map((row) => el("li", {}, rowButton(S.rows.names[row], row))) : [el("li", { class: "quiet" }, none)]));
  if (hits.length) selectRow(hits[0]);
}
function drawRow() {
  byId("row").hidden = state.row === null;
  if (state.row === null) return;
  const pattern = S.rows.pattern[state.row];
  const label = S.rows.labels[state.k][pattern], homes = S.rows.homes[state.k];
  const votes = S.members.map((member, j) => {
    const code = S.rows.codes[pattern][j];
    const home = code < 0 ? null : homes[j][code];
    return { member, level: code < 0 ? null : S.rows.levels[j][code], home: home ? home[0] : null, part: home ? home[1] / 100 : null };
  });
  const weights = new Map();
  for (const vote of votes) if (vote.home !== null) weights.set(vote.home, (weights.get(vote.home) || 0) + vote.member.weight);
  const ranked = [...weights].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  byId("row-title").replaceChildren(shorten(S.rows.names[state.row], 120), " is in cluster ", clusterName(label, pick));
  byId("row-lead").textContent = placement(S.rows.confidence[state.k][pattern] / 100, S.rows.margin[state.k][pattern] / 100, S.rows.runner_up[state.k][pattern]) +
    ` ${many(S.rows.counts[pattern], "row")} with the same labels. ` +
    `Weighted votes: ${ranked.slice(0, 3).map(([c, w]) => `cluster ${c} (${percent(w)})`).join(", ") || "none"}.`;
  drawTable(byId("votes"), [
    ["Member", (r) => r.member.name, (r) => shorten(r.member.name, 200), "text"],
    ["Label", (r) => r.level, (r) => r.level ?? "none", "text"],
    ["Cluster", (r) => r.home, (r) => clusterName(r.home, pick), "number"],
    ["Share of label in cluster", (r) => r.part, (r) => (r.part === null ? "" : gauge(r.part, percent(r.part))), "number"],
    ["Weight", (r) => r.member.weight, (r) => percent(r.member.weight, 1), "number"],
  ], votes.sort((a, b) => b.member.weight - a.member.weight), { faded: (r) => r.member.weight === 0, chosen: (r) => r.member.weight > 0 && r.home !== label });
}

// The number of clusters.
function drawChoice() {
  const series = [["mean confidence", "blue", ""], ["random rows", "blue", "1 3"], ["agreement with the members (AMI)", "orange", "6 3"]];
  if (S.answers[0].scores) series.push(["AMI with the known classes", "green", "2 3"]);
  const points = S.answers.map((a) => ({
    k: a.k, score: S.choice.scores[a.k],
    values: { "mean confidence": a.mean_confidence, "random rows": a.chance_confidence, "agreement with the members (AMI)": a.agreement, "AMI with the known classes": a.scores && a.scores.ami },
  }));
  if (S.choice.candidates.length) drawCandidates();
  if (S.choice.kinds) drawKinds(byId("kinds"), S.choice.curve, { k: state.k, pick: (k) => { if (ks.includes(k)) choose(k); } });
  drawByK(byId("by-k"), points, series, { k: state.k, pick: (k) => choose(k) });
  const layers = S.answers.map((a) => ({ title: String(a.k), key: a.k, clusters: a.clusters }));
  drawRiver(byId("river"), layers, S.steps, { now: ks.indexOf(state.k), cluster: state.cluster, pick: (k, c) => { if (k === state.k) pick(c); else choose(k, c); } });
}

function drawCandidates() {
  const largest = Math.max(1e-12, ...S.choice.candidates.map((candidate) => candidate.score));
  const orNone = (value) => (value === null ? "not available" : decimals(value));
  const number = (k) => {
    if (!ks.includes(k)) return String(k);
    const button = el("button", { type: "button", class: "plain link", "aria-label": `Show ${k} clusters` }, String(k));
    button.addEventListener("click", () => choose(k));
    return button;
  };
  drawTable(byId("candidates"), [
    ["Clusters", (r) => r.k, (r) => number(r.k), "number"],
    ["Score", (r) => r.score, (r) => gauge(r.score / largest, decimals(r.score)), "number"],
    ...(S.choice.kinds ? [
      ["Agreement of kinds (ARI)", (r) => r.agreement, (r) => orNone(r.agreement), "number"],
      ["With HDBSCAN (ARI)", (r) => r.density, (r) => orNone(r.density), "number"],
    ] : [
      ["Eigengap", (r) => r.eigengap, (r) => orNone(r.eigengap), "number"],
      ["Split-half stability (ARI)", (r) => r.stability, (r) => orNone(r.stability), "number"],
    ]),
  ], S.choice.candidates, { chosen: (r) => r.k === state.k });
}

// Known classes and other columns, by cluster.
function drawClasses() {
  if (!S.source.classes) return;
  const now = answerAt(state.k);
  const totals = S.source.classes.map((_, j) => now.classes.reduce((sum, row) => sum + row[j], 0));
  const shaded = (n, j) => { const cell = el("span", { class: "shade" }, n ? count(n) : "\u00b7"); cell.style.setProperty("--share", percent(totals[j] ? n / totals[j] : 0)); return cell; };
  drawTable(byId("classes"), [
    ["Cluster", (r) => r.label, (r) => clusterName(r.label, pick), "number"],
    ...S.source.classes.map((name, j) => [shorten(name, 40), (r) => now.classes[r.label][j], (r) => shaded(now.classes[r.label][j], j), "number"]),
  ], now.clusters, { chosen: (r) => r.label === state.cluster });
  const names = { ami: "AMI", ari: "ARI", nmi_sqrt: "NMI (sqrt)", nmi_max: "NMI (max)", purity: "Purity" };
  byId("scores-note").textContent = `${many(now.k, "cluster")}: ${Object.entries(names).map(([key, title]) => `${title} ${decimals(now.scores[key])}`).join(", ")}.`;
  drawTable(byId("scores"), [
    ["Clusters", (r) => r.k, (r) => String(r.k), "number"],
    ...Object.entries(names).map(([key, title]) => [title, (r) => r.scores[key], (r) => decimals(r.scores[key]), "number"]),
  ], S.answers, { chosen: (r) => r.k === state.k });
}
function drawColumns() {
  if (!byId("columns")) return;
  const now = answerAt(state.k);
  const content = (column, c) => {
    const cells = column.clusters[c];
    if (!cells || cells.length === 0) return "no value";
    if (column.kind === "values") return cells.map(([value, part]) => `${shorten(value, 40)} (${percent(part)})`).join(", ");
    return `${figure(cells.mean)} \u00b1 ${figure(cells.sd)} (${figure(cells.min)} to ${figure(cells.max)})`;
  };
  const value = (column, c) => (column.kind === "values" ? content(column, c) : column.clusters[c] && column.clusters[c].mean);
  drawTable(byId("columns"), [
    ["Cluster", (r) => r.label, (r) => clusterName(r.label, pick), "number"],
    ...now.columns.map((column) => [shorten(column.name, 40), (r) => value(column, r.label), (r) => content(column, r.label), "text"]),
  ], now.clusters, { chosen: (r) => r.label === state.cluster });
}
function drawExport() {
  drawMethodTable(byId("methods"), S.method.candidates);
  byId("labels-command").textContent = answerAt(state.k).command;
  byId("labels").textContent = `Save the labels for ${many(state.k, "cluster")} (CSV)`;
  byId("labels").hidden = !S.rows.all;
  byId("labels-note").textContent = S.rows.all ? "or run:"
    : `This file contains ${count(S.rows.names.length)} of ${count(S.source.rows)} rows. To write all labels for ${many(state.k, "cluster")}, run:`;
}
function saveLabels() {
  const labels = S.rows.labels[state.k], idColumn = S.source.id;
  const lines = S.rows.pattern.map((pattern, row) => `${csvCell(idColumn ? S.rows.names[row] : row)},${labels[pattern]}`);
  saveFile(`consensus_${state.k}.csv`, [`${csvCell(idColumn || "row")},consensus`, ...lines].join("\n") + "\n", "text/csv");
}

// Controls.
function pick(cluster) {
  state.cluster = cluster === state.cluster || cluster < 0 ? null : cluster;
  drawAll();
}
function choose(k, cluster = null) {
  state.k = k;
  state.cluster = cluster;
  drawAll();
}
function drawAll() {
  hideTip();
  byId("k").value = String(state.k);
  byId("fewer").disabled = ks.indexOf(state.k) === 0;
  byId("more").disabled = ks.indexOf(state.k) === ks.length - 1;
  const chip = byId("chip");
  chip.hidden = state.cluster === null;
  if (state.cluster !== null) {
    chip.textContent = `Cluster ${state.cluster} \u00d7`;
    chip.style.borderColor = clusterColor(state.cluster);
  }
  for (const draw of [drawAnswer, drawFeatures, drawMembers, drawHeat, drawUncertain, drawRow, drawChoice, drawClasses, drawColumns, drawExport]) draw();
  const now = answerAt(state.k);
  drawHistogram(byId("histogram"), now.confidence_histogram, { chance: now.chance_confidence });
}
for (const k of ks) byId("k").append(el("option", { value: k }, String(k)));
byId("k").addEventListener("change", (event) => choose(Number(event.target.value)));
byId("fewer").addEventListener("click", () => choose(ks[ks.indexOf(state.k) - 1]));
byId("more").addEventListener("click", () => choose(ks[ks.indexOf(state.k) + 1]));
byId("chip").addEventListener("click", () => pick(state.cluster));
byId("find").addEventListener("input", (event) => findRows(event.target.value));
byId("labels").addEventListener("click", saveLabels);
byId("download").addEventListener("click", () => saveFile("summary.json", JSON.stringify(S, null, 1), "application/json"));
const fold = byId("fold");
let opened = false;
window.addEventListener("beforeprint", () => { opened = fold.open; fold.open = true; });
window.addEventListener("afterprint", () => { fold.open = opened; });
followTheme(byId("theme"), drawAll);
drawAll();
document.documentElement.dataset.drawn = "true";
