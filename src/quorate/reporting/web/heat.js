// Heat maps with their scale: agreement of members, and co-association of rows.
import { canvasOf, el, hideTip, showTip } from "./dom.js";
import { clusterColor, css, inkOn, ramp } from "./colors.js";
import { clusterId, count, decimals, shorten } from "./words.js";

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
export function drawAgreement(box, { names, values }, { pick, chosen } = {}) {
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
export function drawMatrix(box, { rows, values, labels }, { cluster = null, pick } = {}) {
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
    if ((to - from) * wide > 14) pen.fillText(String(clusterId(label)), at + ((from + to) / 2) * wide, strip / 2 + 0.5);
    if ((to - from) * tall > 12) pen.fillText(String(clusterId(label)), strip / 2, at + ((from + to) / 2) * tall);
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
    showTip(event, `Co-association ${(values[i][j] / 100).toFixed(2)}\ncluster ${clusterId(labels[i])}: ${count(rows[i])} rows\ncluster ${clusterId(labels[j])}: ${count(rows[j])} rows`);
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
