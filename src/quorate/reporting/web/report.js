// The report: all figures follow the selected number of clusters and the selected cluster.
import { byId, el, hideTip, saveFile } from "./dom.js";
import { clusterColor, followTheme, setColors } from "./colors.js";
import { clusterId, count, csvCell, decimals, figure, many, percent, placement, setClusterIds, share, shorten } from "./words.js";
import { clusterName, drawMethodTable, drawTable, gauge, statusLabel, textColumn } from "./table.js";
import { drawAgreement, drawMatrix } from "./heat.js";
import { drawHistogram, drawSizes } from "./bars.js";
import { drawByK, drawKinds } from "./byk.js";
import { drawLayers, drawRiver } from "./river.js";
import { coreAt, coreSentence, drawCore, drawCoreTable } from "./core.js";
import { drawBall, drawCamps, groupOf } from "./members.js";
import { drawDistinctive, drawPlane, signed } from "./plane.js";

const S = JSON.parse(byId("summary").textContent);
setColors(JSON.parse(byId("colors").textContent));
const ks = S.answers.map((answer) => answer.k);
const state = { k: S.choice.k, cluster: null, row: null, core: 0.9 };
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
  byId("k-note").textContent = written ? "written result" : `written result: ${S.choice.k}`;
  byId("outlook").textContent = now.outlook.sentences.join(" ");
  byId("confidence-sentence").textContent = now.confidence_sentence;
  drawSizes(byId("sizes"), now.clusters, { cluster: state.cluster, pick });
  drawTable(byId("clusters"), [
    ["Cluster", (r) => r.label, (r) => clusterName(r.label, pick), "number"],
    ...textColumn(now.clusters),
    ["Rows", (r) => r.size, (r) => count(r.size), "number"],
    ["Share", (r) => r.share, (r) => share(r.share), "number"],
    ["Stability", (r) => r.stability, (r) => gauge(r.stability), "number"],
    ["Nearest", (r) => r.nearest, (r) => clusterName(r.nearest, pick), "number"],
    ["Merge cost", (r) => r.merge_cost, (r) => (r.nearest === null ? "" : gauge(r.merge_cost, percent(r.merge_cost))), "number"],
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
  byId("feature-splits").textContent = (F.splits[state.k] || []).join(" ");
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
  const untested = S.members.some((member) => member.status === "not tested");
  const named = (status) => shorten(S.members.filter((member) => member.status === status).map((member) => member.name).join(", "), 160);
  const notes = ["ignored", "unreliable", "partly reliable"].map((status) => [status, named(status)]).filter(([, names]) => names);
  byId("members-note").textContent = notes.map(([status, names]) => `${status[0].toUpperCase()}${status.slice(1)}: ${names}.`).join(" ") ||
    (untested ? "There are too few rows to test the members." : "No member is an outlier.");
  const split = state.cluster === null ? null : answerAt(state.k).separated;
  const group = groupOf(S.camps);
  const columns = [
    ["Member", (r) => r.name, (r) => shorten(r.name, 200), "text"],
    ["Reliability", (r) => r.trust, (r) => statusLabel(r.status), "text"],
    ["Agreement (AMI)", (r) => r.trust, (r) => gauge(r.trust), "number"],
    ["Weight", (r) => r.weight, (r) => percent(r.weight, 1), "number"],
    ["Clusters", (r) => r.n_clusters, (r) => count(r.n_clusters), "number"],
    ...(S.source.missing ? [["Rows labeled", (r) => r.coverage, (r) => percent(r.coverage), "number"]] : []),
    ...(S.members.some((member) => member.family) ? [
      ["Family", (r) => r.family, (r) => String(r.family ?? "none"), "number"],
      ["Counts as", (r) => r.counts, (r) => decimals(r.counts, 2), "number"],
    ] : []),
    ...(S.camps ? [["Group", (r) => group.get(r.position) ?? null, (r) => String(group.get(r.position) ?? "none"), "number"]] : []),
    ...(split ? [[`Splits cluster ${clusterId(state.cluster)}`, (r) => split[state.cluster][r.position], (r) => gauge(split[state.cluster][r.position] / 100, `${split[state.cluster][r.position]}%`), "number"]] : []),
    ...(S.method.parameters.weights === "ncai" ? [["NCAI", (r) => r.ncai, (r) => decimals(r.ncai), "number"]] : []),
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
function drawGroups() {
  const ball = answerAt(state.k).ball;
  byId("ball-sentence").textContent = ball.sentence;
  drawBall(byId("ball"), ball, S.members);
  if (S.camps) drawCamps(byId("camps"), S.camps, S.members.map((member) => member.name));
}
function drawHeat() {
  drawAgreement(byId("agreement"), S.agreement);
  drawMatrix(byId("matrix"), { rows: S.matrix.rows, values: S.matrix.values, labels: S.matrix.labels[state.k] }, { cluster: state.cluster, pick });
}

// Rows on which the members agree.
function drawCoreRows() {
  const now = answerAt(state.k), curve = now.core;
  byId("core-figures").hidden = !curve;
  byId("no-core").hidden = Boolean(curve);
  if (!curve) return;
  byId("core").value = Math.round(100 * state.core);
  byId("core-now").textContent = percent(state.core);
  byId("core-sentence").textContent = coreSentence(curve, state.core);
  drawCore(byId("core-curve"), curve, { required: state.core, pick: requireAgreement });
  drawCoreTable(byId("core-clusters"), now.clusters, coreAt(curve, state.core), { cluster: state.cluster, pick });
}
function requireAgreement(required) {
  state.core = required;
  drawCoreRows();
}

// What changed since an earlier result.
const FLOW_CLUSTERS = 40;
function drawChange() {
  const now = answerAt(state.k), change = now.change;
  if (!change) return;
  byId("change-sentence").textContent = change.sentence;
  const sizes = new Map();
  for (const pair of change.matches) sizes.set(pair.first, (sizes.get(pair.first) || 0) + pair.n_shared);
  const largest = [...sizes].sort((a, b) => b[1] - a[1]).slice(0, FLOW_CLUSTERS);
  const position = new Map(largest.map(([id], i) => [id, i]));
  const labelOf = new Map(now.clusters.map((cluster) => [cluster.id, cluster.label]));
  const cells = change.matches.filter((pair) => position.has(pair.first)).map((pair) => [position.get(pair.first), labelOf.get(pair.second), pair.n_shared]);
  const rowsOf = (label) => cells.reduce((sum, [, to, n]) => sum + (to === label ? n : 0), 0);
  const layers = [
    { title: "before", key: "before", clusters: largest.map(([id, size], label) => ({ label, size, name: String(id) })) },
    { title: "now", key: "now", clusters: now.clusters.map((cluster) => ({ label: cluster.label, size: rowsOf(cluster.label), name: String(cluster.id) })).filter((cluster) => cluster.size) },
  ];
  drawRiver(byId("change-flow"), layers, [cells], { now: 1, gap: 150, cluster: state.cluster, pick: (key, label) => { if (key === "now") pick(label); } });
  drawTable(byId("change-table"), [
    ["Earlier cluster", (r) => r.first, (r) => String(r.first), "number"],
    ["Cluster", (r) => r.second, (r) => clusterName(labelOf.get(r.second), pick), "number"],
    ["Common rows", (r) => r.n_shared, (r) => count(r.n_shared), "number"],
    ["Jaccard", (r) => r.jaccard, (r) => gauge(r.jaccard), "number"],
    ["Of the earlier cluster", (r) => r.first_share, (r) => percent(r.first_share), "number"],
    ["Of the cluster", (r) => r.second_share, (r) => percent(r.second_share), "number"],
    ["Relation", (r) => r.relation, (r) => r.relation, "short"],
  ], change.matches.slice(0, FLOW_CLUSTERS), { chosen: (r) => labelOf.get(r.second) === state.cluster });
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
  byId("uncertain-title").textContent = chosen ? `Least certain rows of cluster ${clusterId(state.cluster)}` : "Least certain rows";
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
  byId("row-title").replaceChildren(shorten(S.rows.names[state.row], 120), " is in cluster ", clusterName(label, pick));
  byId("row-lead").textContent = placement(S.rows.confidence[state.k][pattern] / 100, S.rows.margin[state.k][pattern] / 100, S.rows.runner_up[state.k][pattern]) +
    ` ${many(S.rows.counts[pattern], "row")} with the same labels. Below: the cluster that each member votes for most.`;
  drawTable(byId("votes"), [
    ["Member", (r) => r.member.name, (r) => shorten(r.member.name, 200), "text"],
    ["Label", (r) => r.level, (r) => r.level ?? "none", "text"],
    ["Votes for", (r) => r.home, (r) => clusterName(r.home, pick), "number"],
    ["Vote", (r) => r.part, (r) => (r.part === null ? "" : gauge(r.part, percent(r.part))), "number"],
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
  drawNested();
  const layers = S.answers.map((a) => ({ title: String(a.k), key: a.k, clusters: a.clusters }));
  drawRiver(byId("river"), layers, S.steps, { now: ks.indexOf(state.k), cluster: state.cluster, pick: (k, c) => { if (k === state.k) pick(c); else choose(k, c); } });
}

// Nested layers, drawn only while they are open: a hidden figure has no width.
function drawNested() {
  if (byId("layers-fold")?.open) drawLayers(byId("layers"), S.layers, { pick: (k) => { if (ks.includes(k)) choose(k); } });
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
      ["Tree stability (ARI)", (r) => r.stability, (r) => orNone(r.stability), "number"],
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
  const lines = S.rows.pattern.map((pattern, row) => `${csvCell(idColumn ? S.rows.names[row] : row)},${clusterId(labels[pattern])}`);
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
  setClusterIds(answerAt(state.k).clusters.map((cluster) => cluster.id));
  byId("k").value = String(state.k);
  byId("fewer").disabled = ks.indexOf(state.k) === 0;
  byId("more").disabled = ks.indexOf(state.k) === ks.length - 1;
  const chip = byId("chip");
  chip.hidden = state.cluster === null;
  if (state.cluster !== null) {
    chip.textContent = `Cluster ${clusterId(state.cluster)} \u00d7`;
    chip.style.borderColor = clusterColor(state.cluster);
  }
  for (const draw of [drawAnswer, drawChange, drawFeatures, drawMembers, drawGroups, drawHeat, drawCoreRows, drawUncertain, drawRow, drawChoice, drawClasses, drawColumns, drawExport]) draw();
  const now = answerAt(state.k);
  drawHistogram(byId("histogram"), now.confidence_histogram, { chance: now.chance_confidence });
}
for (const k of ks) byId("k").append(el("option", { value: k }, String(k)));
byId("k").addEventListener("change", (event) => choose(Number(event.target.value)));
byId("fewer").addEventListener("click", () => choose(ks[ks.indexOf(state.k) - 1]));
byId("more").addEventListener("click", () => choose(ks[ks.indexOf(state.k) + 1]));
byId("chip").addEventListener("click", () => pick(state.cluster));
byId("core").addEventListener("input", (event) => requireAgreement(Number(event.target.value) / 100));
byId("layers-fold")?.addEventListener("toggle", drawNested);
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
