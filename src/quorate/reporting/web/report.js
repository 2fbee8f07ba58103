// The report: everything that is shown follows the number of clusters and the cluster looked at.
import { byId, el, hideTip, saveFile } from "./dom.js";
import { clusterColor, followTheme, setColors } from "./colors.js";
import { count, csvCell, decimals, figure, many, percent, share, shorten } from "./words.js";
import { clusterName, drawTable, gauge } from "./table.js";
import { drawAgreement, drawMatrix } from "./heat.js";
import { drawHistogram, drawSizes } from "./bars.js";
import { drawByK } from "./byk.js";
import { drawRiver } from "./river.js";
import { drawApart, drawPlane, signed } from "./plane.js";

const S = JSON.parse(byId("summary").textContent);
setColors(JSON.parse(byId("colors").textContent));
const ks = S.answers.map((answer) => answer.k);
const state = { k: S.choice.k, cluster: null, row: null };
const answerAt = (k) => S.answers[ks.indexOf(k)];
const FOLDED_FROM = 12;

// The answer.
function drawAnswer() {
  const now = answerAt(state.k);
  const sizes = now.clusters.map((cluster) => cluster.size);
  const tiles = [
    [String(now.k), now.k === 1 ? "cluster" : "clusters"],
    [count(Math.max(...sizes)), "rows in the largest"],
    [count(Math.min(...sizes)), "rows in the smallest"],
    [percent(now.mean_confidence), `mean confidence of a row; by chance ${percent(now.chance_confidence)}`],
    [percent(now.agreement), "agreement with the members"],
  ];
  if (now.unlabeled) tiles.push([count(now.unlabeled), "rows no member labels"]);
  if (now.scores) tiles.push([now.scores.nmi_sqrt.toFixed(3), "NMI with the known classes"]);
  byId("tiles").replaceChildren(...tiles.map(([big, small]) => el("div", { class: "tile" }, el("b", {}, big), el("span", {}, small))));
  const asked = state.k === S.choice.k;
  byId("choice").textContent = asked ? "Click a cluster here or in any figure, and all of them follow it."
    : `You are looking at ${many(state.k, "cluster")}; the answer that was written has ${S.choice.k}.`;
  byId("k-note").textContent = asked ? "as written" : `the answer written has ${S.choice.k}`;
  byId("outlook").textContent = now.outlook.sentences.join(" ");
  byId("beside-chance").textContent = ` ${now.beside_chance}`;
  drawSizes(byId("sizes"), now.clusters, { cluster: state.cluster, pick });
  drawTable(byId("clusters"), [
    ["Cluster", (r) => r.label, (r) => clusterName(r.label, pick), "number"],
    ["Rows", (r) => r.size, (r) => count(r.size), "number"],
    ["Share", (r) => r.share, (r) => share(r.share), "number"],
    ["Stability", (r) => r.stability, (r) => gauge(r.stability), "number"],
    ["By chance", (r) => r.chance, (r) => decimals(r.chance), "number"],
    ["Nearest", (r) => r.nearest, (r) => clusterName(r.nearest, pick), "number"],
    ["Cost to merge", (r) => r.merge_cost, (r) => (r.nearest === null ? "" : gauge(r.merge_cost, percent(r.merge_cost))), "number"],
    ["Opposed most by", (r) => (r.opponents.length ? r.opponents[0][1] : 0),
      (r) => r.opponents.map(([name, part]) => `${shorten(name, 60)} (${percent(part)})`).join(", ") || "nobody", "text"],
  ], now.clusters, { chosen: (r) => r.label === state.cluster });
}

// Rows in the plane of their features, and what sets clusters apart.
function drawFeatures() {
  const F = S.features;
  if (!F) return;
  const labels = F.labels[state.k];
  byId("planes").hidden = !labels;
  byId("no-plane").hidden = Boolean(labels);
  const clusters = F.apart[state.k] || [];
  if (labels) {
    const rows = { points: F.points, axes: F.main ? F.axes.map((axis) => `${axis} direction`) : F.axes, labels, confidence: F.confidence[state.k] };
    drawPlane(byId("plane-clusters"), rows, { by: "cluster", cluster: state.cluster, pick });
    drawPlane(byId("plane-confidence"), rows, { by: "confidence", cluster: state.cluster, pick });
  } else byId("no-plane").textContent = `The clusters of these rows are known for the answer written, ${S.choice.k}, only.`;
  const lines = clusters.flatMap((features, label) => features.map((one) => ({ ...one, label })));
  const most = Math.max(...lines.map((one) => Math.abs(one.difference)), 1e-9);
  drawApart(byId("apart"), clusters, { names: F.names, most, cluster: state.cluster, pick });
  drawTable(byId("apart-table"), [
    ["Cluster", (r) => r.label, (r) => clusterName(r.label, pick), "number"],
    ["Feature", (r) => F.names[r.feature], (r) => shorten(F.names[r.feature], 80), "text"],
    ["Difference", (r) => r.difference, (r) => signed(r.difference), "number"],
    ["Mean in the cluster", (r) => r.inside, (r) => figure(r.inside), "number"],
    ["Mean of the others", (r) => r.outside, (r) => figure(r.outside), "number"],
  ], lines, { chosen: (r) => r.label === state.cluster });
}

// Members: those to doubt first, the trusted ones folded if they are many.
function drawMembers() {
  const low = S.members.filter((member) => member.trust === "hardly");
  byId("trust-note").textContent = low.length === 0 ? "No member stands apart from the crowd."
    : `${low.length} of ${S.members.length} ${low.length === 1 ? "agrees" : "agree"} with hardly any other: ` +
      shorten(low.map((member) => member.name).join(", "), 160) + ".";
  const split = state.cluster === null ? null : answerAt(state.k).separated;
  const columns = [
    ["Member", (r) => r.name, (r) => shorten(r.name, 200), "text"],
    ["Trust", (r) => r.influence, (r) => el("span", { class: r.trust }, r.called), "text"],
    ["Agreement beyond chance", (r) => r.trust_index, (r) => gauge(r.trust_index), "number"],
    ["NCAI", (r) => r.ncai, (r) => gauge(r.ncai), "number"],
    ["Agreement", (r) => r.agreement, (r) => decimals(r.agreement), "number"],
    ["Weight", (r) => r.weight, (r) => percent(r.weight, 1), "number"],
    ["Clusters", (r) => r.n_clusters, (r) => count(r.n_clusters), "number"],
    ...(S.source.missing ? [["Labels", (r) => r.coverage, (r) => percent(r.coverage), "number"]] : []),
    ...(split ? [[`Splits cluster ${state.cluster}`, (r) => split[state.cluster][r.place], (r) => gauge(split[state.cluster][r.place] / 100, `${split[state.cluster][r.place]}%`), "number"]] : []),
    ["Why", (r) => r.words, (r) => r.words, "long"],
  ];
  const ranked = S.members.map((member, place) => ({ ...member, place })).sort((a, b) => a.trust_index - b.trust_index || a.influence - b.influence);
  const trusted = ranked.filter((member) => member.trust === "trusted");
  const folded = trusted.length > FOLDED_FROM;
  byId("fold").hidden = !folded;
  drawTable(byId("members"), columns, folded ? ranked.filter((member) => member.trust !== "trusted") : ranked);
  if (!folded) return;
  byId("fold-title").textContent = `The ${trusted.length} trusted members`;
  byId("members").hidden = trusted.length === ranked.length;
  drawTable(byId("trusted"), columns, trusted);
}
function drawHeat() {
  drawAgreement(byId("agreement"), S.agreement);
  drawMatrix(byId("matrix"), { rows: S.matrix.rows, evidence: S.matrix.evidence, labels: S.matrix.labels[state.k] }, { cluster: state.cluster, pick });
}

// Rows: the least certain, those of the cluster looked at, and any one with all its votes.
const alike = new Map();
S.rows.pattern.forEach((pattern, row) => { if (!alike.has(pattern)) alike.set(pattern, row); });
function rowsOfCluster() {
  const labels = S.rows.labels[state.k], confidence = S.rows.confidence[state.k];
  return [...alike].filter(([pattern]) => labels[pattern] === state.cluster)
    .sort(([p], [q]) => confidence[p] - confidence[q] || p - q).slice(0, 12)
    .map(([pattern, row]) => ({ example: S.rows.names[row], rows: S.rows.counts[pattern], label: state.cluster, confidence: confidence[pattern] / 100, margin: S.rows.margin[state.k][pattern] / 100, runner_up: S.rows.runner_up[state.k][pattern] }));
}
function drawUncertain() {
  const chosen = state.cluster !== null;
  byId("uncertain-title").textContent = chosen ? `The least certain rows of cluster ${state.cluster}` : "The least certain rows";
  const from = chosen && !S.rows.all ? ` Taken from the ${count(S.rows.names.length)} rows that this file holds, of ${count(S.source.rows)}.` : "";
  byId("uncertain-note").textContent = from;
  const place = new Map(S.rows.names.map((name, row) => [name, row]));
  drawTable(byId("uncertain"), [
    [S.source.id || "Row", (r) => r.example, (r) => rowButton(r.example, place.get(r.example)), "text"],
    ["Rows alike", (r) => r.rows, (r) => count(r.rows), "number"],
    ["Cluster", (r) => r.label, (r) => clusterName(r.label, pick), "number"],
    ["Confidence", (r) => r.confidence, (r) => gauge(r.confidence), "number"],
    ["Runner-up", (r) => r.runner_up, (r) => clusterName(r.runner_up, pick), "number"],
    ["Margin", (r) => r.margin, (r) => decimals(r.margin), "number"],
  ], chosen ? rowsOfCluster() : answerAt(state.k).uncertain);
}
function rowButton(name, row) {
  if (row === undefined) return shorten(name, 80);
  const button = el("button", { type: "button", class: "plain link" }, shorten(name, 80));
  button.addEventListener("click", () => { lookAt(row); byId("row").scrollIntoView({ block: "nearest" }); });
  return button;
}
function lookAt(row) {
  state.row = row;
  drawRow();
}
function findRows(text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return byId("found").replaceChildren();
  const hits = [];
  for (const exact of [true, false]) {
    S.rows.names.forEach((name, row) => {
      const same = name.toLowerCase() === wanted || name.toLowerCase() === `row ${wanted}`;
      if (hits.length < 12 && (exact ? same : !same && name.toLowerCase().includes(wanted))) hits.push(row);
    });
  }
  const none = S.rows.all ? "No row has this name." : `Not among the ${count(S.rows.names.length)} rows that this file holds, of ${count(S.source.rows)}.`;
  byId("found").replaceChildren(...(hits.length ? hits.map((row) => el("li", {}, rowButton(S.rows.names[row], row))) : [el("li", { class: "quiet" }, none)]));
  if (hits.length) lookAt(hits[0]);
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
  const runnerUp = S.rows.runner_up[state.k][pattern];
  byId("row-lead").textContent = `Confidence ${percent(S.rows.confidence[state.k][pattern] / 100)}` +
    (runnerUp < 0 ? ", no evidence for any other cluster" : `, ${percent(S.rows.margin[state.k][pattern] / 100)} ahead of cluster ${runnerUp}`) + `; ${many(S.rows.counts[pattern], "row")} with the same labels. ` +
    `By weight the members put it with ${ranked.slice(0, 3).map(([c, w]) => `cluster ${c} (${percent(w)})`).join(", ") || "nobody"}.`;
  drawTable(byId("votes"), [
    ["Member", (r) => r.member.name, (r) => shorten(r.member.name, 200), "text"],
    ["Its label", (r) => r.level, (r) => r.level ?? "says nothing", "text"],
    ["Puts it with cluster", (r) => r.home, (r) => clusterName(r.home, pick), "number"],
    ["Share of its label there", (r) => r.part, (r) => (r.part === null ? "" : gauge(r.part, percent(r.part))), "number"],
    ["Weight", (r) => r.member.weight, (r) => percent(r.member.weight, 1), "number"],
  ], votes.sort((a, b) => b.member.weight - a.member.weight), { faded: (r) => r.home !== label });
}

// The number of clusters.
function drawChoice() {
  const series = [["mean confidence", "blue", ""], ["the same of rows at random", "blue", "1 3"], ["agreement with the members", "orange", "6 3"]];
  if (S.answers[0].scores) series.push(["NMI with the known classes", "green", "2 3"]);
  const points = S.answers.map((a) => ({
    k: a.k, evidence: S.choice.values[a.k],
    values: { "mean confidence": a.mean_confidence, "the same of rows at random": a.chance_confidence, "agreement with the members": a.agreement, "NMI with the known classes": a.scores && a.scores.nmi_sqrt },
  }));
  if (S.choice.candidates.length) drawCandidates();
  drawByK(byId("by-k"), points, series, { k: state.k, evidence: S.choice.criterion, pick: (k) => choose(k) });
  const layers = S.answers.map((a) => ({ title: String(a.k), key: a.k, clusters: a.clusters }));
  drawRiver(byId("river"), layers, S.steps, { now: ks.indexOf(state.k), cluster: state.cluster, pick: (k, c) => { if (k === state.k) pick(c); else choose(k, c); } });
}

function drawCandidates() {
  const largest = Math.max(1e-12, ...S.choice.candidates.map((candidate) => candidate.score));
  const known = (value) => (value === null ? "unknown" : decimals(value));
  const number = (k) => {
    if (!ks.includes(k)) return String(k);
    const button = el("button", { type: "button", class: "plain link", "aria-label": `Look at ${k} clusters` }, String(k));
    button.addEventListener("click", () => choose(k));
    return button;
  };
  drawTable(byId("candidates"), [
    ["Clusters", (r) => r.k, (r) => number(r.k), "number"],
    ["Evidence", (r) => r.score, (r) => gauge(r.score / largest, decimals(r.score)), "number"],
    ["Eigenvalues fall by", (r) => r.eigengap, (r) => known(r.eigengap), "number"],
    ["Halves of the members repeat it", (r) => r.stability, (r) => known(r.stability), "number"],
  ], S.choice.candidates, { chosen: (r) => r.k === state.k });
}

// Known classes and kept columns, by cluster.
function drawClasses() {
  if (!S.source.classes) return;
  const now = answerAt(state.k);
  const totals = S.source.classes.map((_, j) => now.classes.reduce((sum, row) => sum + row[j], 0));
  const shaded = (n, j) => { const cell = el("span", { class: "shade" }, n ? count(n) : "\u00b7"); cell.style.setProperty("--share", percent(totals[j] ? n / totals[j] : 0)); return cell; };
  drawTable(byId("classes"), [
    ["Cluster", (r) => r.label, (r) => clusterName(r.label, pick), "number"],
    ...S.source.classes.map((name, j) => [shorten(name, 40), (r) => now.classes[r.label][j], (r) => shaded(now.classes[r.label][j], j), "number"]),
  ], now.clusters, { chosen: (r) => r.label === state.cluster });
  const names = { nmi_sqrt: "NMI (sqrt)", nmi_max: "NMI (max)", ari: "ARI", ami: "AMI", purity: "Purity" };
  drawTable(byId("scores"), [
    ["Clusters", (r) => r.k, (r) => String(r.k), "number"],
    ...Object.entries(names).map(([key, title]) => [title, (r) => r.scores[key], (r) => decimals(r.scores[key]), "number"]),
  ], S.answers, { chosen: (r) => r.k === state.k });
}
function drawColumns() {
  if (!byId("columns")) return;
  const now = answerAt(state.k);
  const content = (column, c) => {
    const found = column.clusters[c];
    if (!found || found.length === 0) return "no cell";
    if (column.kind === "values") return found.map(([value, part]) => `${shorten(value, 40)} (${percent(part)})`).join(", ");
    return `${figure(found.mean)} \u00b1 ${figure(found.sd)} (${figure(found.least)} to ${figure(found.most)})`;
  };
  const value = (column, c) => (column.kind === "values" ? content(column, c) : column.clusters[c] && column.clusters[c].mean);
  drawTable(byId("columns"), [
    ["Cluster", (r) => r.label, (r) => clusterName(r.label, pick), "number"],
    ...now.columns.map((column) => [shorten(column.name, 40), (r) => value(column, r.label), (r) => content(column, r.label), "text"]),
  ], now.clusters, { chosen: (r) => r.label === state.cluster });
}
function drawTakeAway() {
  byId("labels-command").textContent = answerAt(state.k).command;
  byId("labels").textContent = `Save the labels at ${many(state.k, "cluster")} (CSV)`;
  byId("labels").hidden = !S.rows.all;
  byId("labels-note").textContent = S.rows.all ? "or write them again by this:"
    : `This file holds ${count(S.rows.names.length)} of ${count(S.source.rows)} rows; all labels at ${many(state.k, "cluster")} are written by this:`;
}
function saveLabels() {
  const labels = S.rows.labels[state.k], named = S.source.id;
  const lines = S.rows.pattern.map((pattern, row) => `${csvCell(named ? S.rows.names[row] : row)},${labels[pattern]}`);
  saveFile(`consensus_${state.k}.csv`, [`${csvCell(named || "row")},consensus`, ...lines].join("\n") + "\n", "text/csv");
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
  for (const draw of [drawAnswer, drawFeatures, drawMembers, drawHeat, drawUncertain, drawRow, drawChoice, drawClasses, drawColumns, drawTakeAway]) draw();
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
