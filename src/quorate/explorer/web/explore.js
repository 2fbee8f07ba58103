// The explorer: `state` holds all settings; every change requests new results and draws them.
import { byId, el, hideTip, saveFile } from "./dom.js";
import { clusterColor, followTheme, setColors } from "./colors.js";
import { count, decimals, many, percent, placement, share, shorten } from "./words.js";
import { clusterName, drawMethodTable, drawTable, gauge, statusLabel, textColumn } from "./table.js";
import { drawAgreement, drawMatrix } from "./heat.js";
import { drawHistogram, drawSizes } from "./bars.js";
import { drawByK, drawKinds } from "./byk.js";
import { drawLayers, drawRiver } from "./river.js";
import { coreAt, coreSentence, drawCore, drawCoreTable } from "./core.js";
import { drawBall, drawCamps, groupOf } from "./members.js";
import { drawContingency, drawEigenvalues, drawRowCoassociation, drawScatter, drawTree, saveDrawn } from "./figures.js";
import { offerCandidates } from "./candidates.js";
import { pageAddress } from "./connection.js";
import { cancelAll, cancelDetails, request } from "./server.js";
import "./waiting.js";
import { query, readAddress, state, writeAddress } from "./state.js";

let S = null;
const shown = { answer: null, camps: null, core: null, layers: null, choice: null, structure: null, diagnostics: null, matrix: null, pair: null, compare: null, rows: null, row: null, points: null, selection: null };
const page = 25;
const memberName = (j) => shorten(S.members[j].name, 200);
const methodOf = (name) => S.methods.find((method) => method.name === name);
// Details are requested at the number of clusters that is shown, also if it was chosen automatically.
const withQuery = (more) => ({ query: query(S.members.length, shown.answer ? { k: shown.answer.k } : {}), ...more });

// Requests. Each part of the page has its own; a newer request replaces an older one.
async function get(part, data, draw) {
  try {
    const result = await request(part, data);
    if (result === null) return false;
    byId("error").hidden = true;
    draw(result);
    return true;
  } catch (error) {
    byId("error").hidden = false;
    byId("error").textContent = error.message;
    return false;
  }
}
async function follow() {
  cancelDetails();
  writeAddress();
  drawControls();
  const ok = await get("answer", { query: query(S.members.length) }, (view) => { shown.answer = view; drawAnswer(); });
  if (!ok) return;
  document.documentElement.dataset.answered = String(Number(document.documentElement.dataset.answered || 0) + 1);
  await followTab();
}
// Request only the details of the visible tab.
async function followTab() {
  if (state.tab === "answer") {
    await Promise.all([
      getChoice().then(() => Promise.all([getStructure(), getLayers()])),
      get("diagnostics", withQuery(), (view) => { shown.diagnostics = view; drawDiagnostics(); }),
      get("matrix", withQuery(), (view) => { shown.matrix = view; drawMatrixNow(); }),
      get("core", withQuery(), (view) => { shown.core = view.curve; drawCoreNow(); }),
    ]);
  } else if (state.tab === "members") await Promise.all([getPair(), getCamps()]);
  else if (state.tab === "compare") await getCompare();
  else if (state.tab === "rows") await Promise.all([getRows(), getRow(), getPoints(), getSelection()]);
  if (state.tab !== "answer" && (state.k === null || !S.large)) await getChoice();
  document.documentElement.dataset.drawn = String(Number(document.documentElement.dataset.drawn || 0) + 1);
}
// The automatic choice is the same for all k. It replaces a preliminary number of clusters.
async function getChoice() {
  const about = choiceOf();
  if (shown.choice?.about !== about) await get("choice", { query: query(S.members.length) }, (view) => { shown.choice = { about, ...view }; drawChoice(); });
  if (shown.answer.choosing && state.k === null && shown.choice?.about === about) await follow();
}
// The check for cluster structure runs immediately, or on request if it may take long.
async function getStructure(requested = !S.large) {
  const about = JSON.stringify([state.off, state.k]);
  if (requested && shown.structure?.about !== about) await get("structure", { query: query(S.members.length) }, (view) => { shown.structure = { about, ...view }; });
  const checked = shown.structure?.about === about;
  byId("structure").textContent = checked ? [shown.structure.sentence, shown.structure.limits].filter(Boolean).join(" ") : "";
  byId("check-structure").hidden = checked || !S.large;
}
const choiceOf = () => JSON.stringify([state.method, state.off]);
// The contingency table of two members does not depend on the result.
async function getPair() {
  const about = JSON.stringify(state.pair);
  if (shown.pair?.about !== about) await get("contingency", { one: state.pair[0], other: state.pair[1] }, (view) => { shown.pair = { about, ...view }; drawPair(); });
}
// Nested layers at the given numbers of clusters, or at the best-supported ones.
async function getLayers() {
  const given = (state.layers.match(/\d+/g) || []).map(Number).filter((k) => k >= 1 && k <= S.most_clusters);
  const ks = given.length ? given : [shown.answer.k, ...(shown.choice?.candidates || []).map((one) => one.k)];
  await get("layers", withQuery({ ks: [...new Set(ks)].slice(0, 8) }), (view) => { shown.layers = view; drawLayersNow(); });
}
// Groups of members are combined immediately, or on request if it may take long.
const getCamps = (combined = !S.large || Boolean(shown.camps?.combined)) => get("camps", withQuery({ combined }), (view) => { shown.camps = view; drawGroups(); });
const getRows = () => get("rows", withQuery({ cluster: state.cluster, bin: state.bin, core: state.core, find: state.find || null, polygon: state.polygon, offset: state.offset, limit: page }), (view) => { shown.rows = view; drawRows(); });
async function getRow() {
  if (state.row === null) { byId("row").hidden = true; return; }
  await get("row", withQuery({ row: state.row }), (view) => { shown.row = view; drawRow(); });
}
async function getPoints() {
  if (S.points) await get("points", withQuery({ color: state.color, core: state.core }), (view) => { shown.points = view; drawPoints(); });
}
async function getSelection() {
  byId("selection").hidden = !state.polygon;
  byId("clear").hidden = !state.polygon;
  if (state.polygon) await get("selection", withQuery({ polygon: state.polygon }), (view) => { shown.selection = view; drawSelection(); });
}
async function getCompare() {
  const sides = {
    answer: () => ({ query: query(S.members.length, { method: state.otherMethod, k: state.otherK, params: state.otherMethod === state.method ? state.params : {} }) }),
    pinned: () => ({ query: state.pinned }), truth: () => ({ truth: true }),
  };
  const right = sides[state.against] ? sides[state.against]() : { member: Number(state.against) };
  await get("compare", { left: { query: query(S.members.length) }, right }, (view) => { shown.compare = view; drawCompare(); });
}

// Settings.
function drawControls() {
  byId("method").value = state.method;
  const k = state.k ?? shown.answer?.k ?? 2;
  byId("k").max = Math.min(S.most_clusters, Math.max(24, k));
  byId("k").value = k;
  byId("k-now").textContent = state.k === null && !shown.answer ? "auto" : k;
  byId("fewer").disabled = k <= 1;
  byId("auto").setAttribute("aria-pressed", String(state.k === null));
  drawCandidates();
  byId("chip").hidden = state.cluster === null;
  if (state.cluster !== null) { byId("chip").textContent = `Cluster ${state.cluster} \u00d7`; byId("chip").style.borderColor = clusterColor(state.cluster); }
  for (const button of document.querySelectorAll("[data-tab]")) {
    const now = button.dataset.tab === state.tab;
    button.setAttribute("aria-selected", String(now));
    button.tabIndex = now ? 0 : -1;
    byId(`tab-${button.dataset.tab}`).hidden = !now;
  }
  drawParams();
  drawWeighting();
}
function drawCandidates() {
  const view = shown.choice?.about === choiceOf() ? shown.choice.candidates : [];
  offerCandidates(byId("candidates"), view, state.k ?? shown.answer?.k, takeK);
}
function drawParams() {
  const method = methodOf(state.method);
  byId("method-name").textContent = method.name;
  byId("method-note").textContent = `${method.citation}.`;
  if (byId("params").dataset.method === method.name && byId("params").contains(document.activeElement)) return;
  byId("params").dataset.method = method.name;
  byId("params").replaceChildren(...method.parameters.map((parameter) => {
    const id = `param-${parameter.name}`;
    const now = state.params[parameter.name] ?? parameter.default;
    const control = parameter.choices ? el("select", { id }, ...parameter.choices.map((choice) => el("option", { value: choice }, choice)))
      : parameter.kind === "bool" ? el("input", { id, type: "checkbox" })
        : el("input", { id, type: parameter.kind === "str" || parameter.kind === "NoneType" ? "text" : "number", step: parameter.kind === "int" ? 1 : "any" });
    if (parameter.kind === "bool") control.checked = now; else control.value = now ?? "";
    control.addEventListener("change", () => {
      const raw = parameter.kind === "bool" ? control.checked : control.value;
      const isNumber = ["int", "float"].includes(parameter.kind) || (parameter.kind === "NoneType" && raw !== "" && !Number.isNaN(Number(raw)));
      const value = isNumber ? Number(raw) : parameter.kind === "NoneType" && raw === "" ? null : raw;
      setParam(parameter, raw === "" ? parameter.default : value);
    });
    return el("div", {}, el("label", { for: id }, parameter.name), control, el("p", { class: "quiet" }, parameter.meaning));
  }));
}
function setParam(parameter, value) {
  if (value === parameter.default) delete state.params[parameter.name]; else state.params[parameter.name] = value;
  follow();
}
const WEIGHTINGS = { trust: "by trust (AMI with the others)", ncai: "by NCAI (the paper's index)", equal: "equal", local: "by the certainty of each cluster" };
function drawWeighting() {
  const parameter = methodOf(state.method).parameters.find((one) => one.name === "weights");
  byId("by").disabled = !parameter;
  options("by", (parameter?.choices || []).map((choice) => [choice, WEIGHTINGS[choice] || choice]), parameter ? state.params.weights ?? parameter.default : "");
  byId("forget").disabled = !Object.keys(state.weights).length;
}
function takeK(k, focus) {
  state.k = Math.max(1, Math.min(k, S.most_clusters));
  state.cluster = state.bin = null;
  const done = follow();
  if (focus) done.then(() => document.querySelector(`#tree [role="${focus}"]`)?.focus());
}
function pick(cluster) {
  state.cluster = cluster === state.cluster || cluster < 0 ? null : cluster;
  state.offset = 0;
  writeAddress();
  drawAll();
  if (state.tab === "rows") getRows();
}

// Members.
function drawMembers() {
  const figures = new Map((shown.answer?.members || []).map((member) => [member.member, member]));
  const rows = S.members.map((member, j) => ({ ...member, j, on: !state.off.includes(j), ...(figures.get(j) || {}), now: figures.get(j) }));
  const groups = groupOf(shown.camps);
  const figureOf = (r, draw) => (r.now ? draw(r) : "");
  drawTable(byId("members"), [
    ["Use", (r) => (r.on ? 1 : 0), (r) => onBox(r), "short"],
    ["Member", (r) => r.name, (r) => memberName(r.j), "text"],
    ["Reliability", (r) => r.trust ?? null, (r) => figureOf(r, () => statusLabel(r.status)), "text"],
    ["Agreement (AMI)", (r) => r.trust ?? null, (r) => figureOf(r, () => gauge(r.trust)), "number"],
    ["Weight", (r) => r.weight ?? null, (r) => figureOf(r, () => percent(r.weight, 1)), "number"],
    ["Manual", (r) => state.weights[r.j] ?? r.relative_weight ?? null, (r) => weightBox(r), "number"],
    ["Clusters", (r) => r.n_clusters, (r) => count(r.n_clusters), "number"],
    ...(rows.some((r) => r.coverage < 1) ? [["Rows labeled", (r) => r.coverage, (r) => percent(r.coverage), "number"]] : []),
    ...(rows.some((r) => r.family) ? [
      ["Family", (r) => r.family ?? null, (r) => String(r.family ?? "none"), "number"],
      ["Counts as", (r) => r.counts ?? null, (r) => figureOf(r, () => decimals(r.counts, 2)), "number"],
    ] : []),
    ...(groups.size ? [["Group", (r) => groups.get(r.j) ?? null, (r) => String(groups.get(r.j) ?? "none"), "number"]] : []),
    ...(byId("by").value === "ncai" ? [["NCAI", (r) => r.ncai ?? null, (r) => figureOf(r, () => decimals(r.ncai)), "number"]] : []),
    ["Reason", (r) => r.reason || "", (r) => r.reason || "", "long"],
  ], rows, { faded: (r) => !r.on });
}
function drawGroups() {
  const view = shown.camps;
  if (!view || state.tab !== "members") return;
  byId("groups").hidden = !view.groups.length;
  if (!view.groups.length) return;
  byId("camps-sentence").textContent = view.sentence;
  byId("combine-groups").hidden = view.combined;
  const isOnly = (group) => S.members.every((_, j) => group.members.includes(j) !== state.off.includes(j));
  drawCamps(byId("camps"), view, S.members.map((_, j) => memberName(j)), { used: isOnly, use: useGroup });
  drawMembers();
}
// Enable the members of one group only, or all members.
function useGroup(group) {
  state.off = group ? S.members.map((_, j) => j).filter((j) => !group.members.includes(j)) : [];
  state.cluster = state.bin = null;
  drawGroups();
  follow();
}
function onBox(r) {
  const box = el("input", { type: "checkbox", "aria-label": `Use ${memberName(r.j)}`, "data-member": r.j });
  box.checked = r.on;
  box.addEventListener("change", () => turn([r.j], box.checked));
  return box;
}
function weightBox(r) {
  const box = el("input", { type: "number", class: "weight", min: 0, max: 1, step: 0.05, "aria-label": `Weight of ${memberName(r.j)}`, placeholder: r.now ? decimals(r.relative_weight, 2) : "", "data-weight": r.j });
  box.disabled = !r.on || !methodOf(state.method).weighted;
  if (state.weights[r.j] !== undefined) box.value = state.weights[r.j];
  box.addEventListener("change", () => {
    if (box.value === "") delete state.weights[r.j];
    else state.weights[r.j] = Math.max(0, Math.min(1, Number(box.value)));
    follow();
  });
  return box;
}
function turn(members, on) {
  const off = new Set(state.off);
  for (const j of members) if (on) off.delete(j); else off.add(j);
  if (off.size === S.members.length) {
    byId("error").hidden = false;
    byId("error").textContent = "At least one member must be enabled.";
    return drawMembers();
  }
  state.off = [...off].sort((a, b) => a - b);
  state.cluster = state.bin = null;
  drawMembers(); // ticks and fading appear before the new result
  follow();
}
const named = () => S.members.map((member, j) => j).filter((j) => S.members[j].name.toLowerCase().includes(byId("match").value.trim().toLowerCase()));
function drawHeat() {
  const names = S.agreement.order.map(memberName);
  const place = (j) => S.agreement.order.indexOf(j);
  drawAgreement(byId("agreement"), { names, values: S.agreement.values }, { chosen: [place(state.pair[0]), place(state.pair[1])], pick: (i, j) => takePair(S.agreement.order[i], S.agreement.order[j]) });
  byId("one").value = state.pair[0];
  byId("other").value = state.pair[1];
}
function drawDistances() {
  const now = shown.answer;
  if (!now || state.tab !== "members") return;
  byId("ball-sentence").textContent = now.ball.sentence;
  drawBall(byId("ball"), now.ball, now.members.map((member) => ({ ...member, name: memberName(member.member) })));
}
function takePair(one, other) {
  state.pair = [one, other];
  writeAddress();
  drawHeat();
  getPair();
}
function drawPair() {
  const view = shown.pair;
  if (!view || state.tab !== "members") return;
  byId("pair-note").textContent = `AMI ${decimals(view.agreement)}. Rows: clusters of ${memberName(state.pair[0])}; columns: clusters of ${memberName(state.pair[1])}.` +
    (view.right.length > 40 ? ` The first 40 of ${view.right.length} columns are shown.` : "");
  drawContingency(byId("pair"), view);
}

// Headline and clusters.
function drawAnswer() {
  const now = shown.answer;
  if (!now) return;
  if (state.cluster !== null && state.cluster >= now.k) state.cluster = null;
  drawControls();
  byId("k-now").textContent = now.k;
  byId("k").value = now.k;
  byId("headline").textContent = now.headline;
  byId("notes").textContent = now.notes.join(" ");
  const first = now.choosing ? `Preliminary result with ${many(now.k, "cluster")}; the number of clusters is being chosen.` : "";
  byId("caution").hidden = !now.caution && !first;
  byId("caution").textContent = [first, now.caution].filter(Boolean).join(" ");
  const sizes = now.clusters.map((cluster) => cluster.size);
  const tiles = [
    [String(now.k), now.k === 1 ? "cluster" : "clusters"], [count(Math.max(0, ...sizes)), "rows in the largest"], [count(Math.min(...sizes, Infinity)), "rows in the smallest"],
    [percent(now.mean_confidence), "mean confidence"], [percent(now.agreement), "agreement with the members (AMI)"],
  ];
  if (now.unlabeled) tiles.push([count(now.unlabeled), "rows without a cluster"]);
  if (now.scores) tiles.push([now.scores.ami.toFixed(3), "AMI with the known classes"]);
  byId("tiles").replaceChildren(...tiles.map(tile));
  drawExport();
  if (state.tab === "members") { drawMembers(); drawDistances(); }
  if (state.tab !== "answer") return;
  drawSizes(byId("sizes"), now.clusters, { cluster: state.cluster, pick });
  const total = sizes.reduce((sum, n) => sum + n, 0);
  drawTable(byId("clusters"), [
    ["Cluster", (r) => r.label, (r) => clusterName(r.label, pick), "number"],
    ...textColumn(now.clusters),
    ["Rows", (r) => r.size, (r) => count(r.size), "number"],
    ["Share", (r) => r.size, (r) => share(r.size / total), "number"],
    ["Stability", (r) => r.stability, (r) => gauge(r.stability), "number"],
    ["Opposed by", (r) => (r.opponents.length ? r.opponents[0][1] : 0), (r) => r.opponents.map(([name, part]) => `${shorten(name, 60)} (${percent(part)})`).join(", ") || "none", "text"],
  ], now.clusters, { chosen: (r) => r.label === state.cluster });
  drawHistogram(byId("histogram"), now.histogram, { chosen: state.bin, pick: (bin) => { state.bin = bin; state.offset = 0; go("rows"); } });
}
const tile = ([big, small]) => el("div", { class: "tile" }, el("b", {}, big), el("span", {}, small));
function drawChoice() {
  drawCandidates();
  const view = shown.choice;
  if (!view || state.tab !== "answer") return;
  byId("suggested").textContent = `Automatic choice: ${view.sentence}`;
  byId("by-k-figure").hidden = !view.curve.length;
  byId("score-of-kinds").hidden = !view.kinds;
  byId("score-of-labels").hidden = view.kinds;
  const selection = { k: shown.answer.k, pick: (k) => takeK(k) };
  const points = view.curve.map((one) => ({ k: one.k, values: { "tree stability (ARI)": one.stability }, score: one.score }));
  if (view.kinds) drawKinds(byId("by-k"), view.curve, selection);
  else if (points.length) drawByK(byId("by-k"), points, [["tree stability (ARI)", "orange", ""]], selection);
}
function drawDiagnostics() {
  const view = shown.diagnostics;
  if (!view || state.tab !== "answer") return;
  byId("tree-figure").hidden = !view.tree;
  byId("eigen-figure").hidden = !view.eigenvalues;
  if (view.tree) drawTree(byId("tree"), view.tree, { k: shown.answer.k, cluster: state.cluster, pick, cutAt: takeK });
  byId("why-method").hidden = !view.candidates.length;
  drawMethodTable(byId("methods"), view.candidates);
  if (view.eigenvalues) drawEigenvalues(byId("eigen"), view.eigenvalues, { k: shown.answer.k, cutAt: (k) => takeK(k) });
}
function drawMatrixNow() {
  if (shown.matrix && state.tab === "answer") drawMatrix(byId("matrix"), shown.matrix, { cluster: state.cluster, pick });
}

function drawLayersNow() {
  const view = shown.layers;
  if (!view || state.tab !== "answer") return;
  byId("layer-ks").value = state.layers;
  byId("layers-note").textContent = view.exact ? "Each layer is the method's result for its number of clusters." : "The finest layer is the method's result; its clusters are merged by average link.";
  drawLayers(byId("layers"), view, { pick: (k) => takeK(k) });
}

// Rows on which the members agree.
function drawCoreNow() {
  const curve = shown.core, required = state.core ?? 0.9;
  if (!curve || state.tab !== "answer") return;
  byId("core").value = Math.round(100 * required);
  byId("core-now").textContent = percent(required);
  byId("core-sentence").textContent = coreSentence(curve, required);
  drawCore(byId("core-curve"), curve, { required, pick: requireAgreement });
  const step = coreAt(curve, required);
  if (step.clusters.length === shown.answer.k) drawCoreTable(byId("core-clusters"), shown.answer.clusters, step, { cluster: state.cluster, pick });
}
function requireAgreement(required) {
  state.core = required;
  state.offset = 0;
  writeAddress();
  drawCoreNow();
  drawExport();
}

// Comparison of two results.
function drawCompare() {
  const view = shown.compare;
  if (!view || state.tab !== "compare") return;
  const names = { ari: "ARI", ami: "AMI", nmi_sqrt: "NMI" };
  byId("compare-note").textContent = `${shorten(view.left.title, 100)} and ${shorten(view.right.title, 100)}: ${count(view.moved)} of ${many(view.compared, "row")} change cluster after matching the two solutions.`;
  byId("compare-tiles").replaceChildren(...(view.scores ? Object.entries(names).map(([key, name]) => tile([view.scores[key].toFixed(3), name])) : []), tile([count(view.moved), "rows change cluster"]));
  const side = (one, key) => ({ title: key, key, clusters: one.names.map((name, label) => ({ label, size: one.sizes[label], name })).filter((cluster) => cluster.size > 0) });
  drawRiver(byId("flow"), [side(view.left, "A"), side(view.right, "B")], [view.cells], { now: 0, gap: 150, pick: () => {} });
  byId("moved-title").textContent = view.moved ? "Rows that change cluster" : "No row changes cluster";
  byId("moved-note").textContent = view.rows.length < view.moved ? `The first ${count(view.rows.length)} of ${count(view.moved)} are shown.` : "";
  byId("moved").hidden = !view.moved;
  drawTable(byId("moved"), [
    [S.id || "Row", (r) => r.name, (r) => rowButton(r), "text"],
    [`A: ${shorten(view.left.title, 40)}`, (r) => r.left, (r) => shorten(r.left, 60), "text"],
    [`B: ${shorten(view.right.title, 40)}`, (r) => r.right, (r) => shorten(r.right, 60), "text"],
  ], view.rows);
}

// Rows.
function rowButton(r) {
  const button = el("button", { type: "button", class: "plain link", "data-row": r.row }, shorten(r.name, 80));
  button.addEventListener("click", () => { state.row = r.row; writeAddress(); if (state.tab !== "rows") go("rows"); else getRow(); });
  return button;
}
function drawRows() {
  const view = shown.rows;
  if (!view || state.tab !== "rows") return;
  const parts = [state.cluster === null ? "" : `of cluster ${state.cluster}`, state.polygon ? "in the selection" : "", state.core === null ? "" : "in the core", state.find ? "with this name" : ""].filter(Boolean).join(" ");
  byId("rows-note").textContent = `${many(view.total, "row")} ${parts}, least certain first; ${view.total ? state.offset + 1 : 0} to ${Math.min(state.offset + page, view.total)} are shown.`.replace(" ,", ",");
  byId("core-chip").hidden = state.core === null;
  if (state.core !== null) byId("core-chip").textContent = `Required agreement ${percent(state.core)} \u00d7`;
  byId("bin-chip").hidden = state.bin === null;
  if (state.bin !== null) byId("bin-chip").textContent = `Confidence ${(state.bin / 20).toFixed(2)} to ${((state.bin + 1) / 20).toFixed(2)} \u00d7`;
  drawTable(byId("rows"), [
    [S.id || "Row", (r) => r.name, (r) => rowButton(r), "text"],
    ["Cluster", (r) => r.label, (r) => clusterName(r.label, pick), "number"],
    ["Confidence", (r) => r.confidence, (r) => gauge(r.confidence), "number"],
    ["Runner-up", (r) => r.runner_up, (r) => clusterName(r.runner_up, pick), "number"],
    ["Margin", (r) => r.margin, (r) => decimals(r.margin), "number"],
    ...(S.truth ? [[shorten(S.truth, 40), (r) => r.truth, (r) => r.truth, "text"]] : []),
  ], view.rows, { chosen: (r) => r.row === state.row });
  byId("back").disabled = state.offset === 0;
  byId("next").disabled = state.offset + page >= view.total;
}
function drawRow() {
  const view = shown.row;
  byId("row").hidden = state.row === null || !view;
  if (byId("row").hidden || state.tab !== "rows") return;
  byId("row-title").replaceChildren(shorten(view.name, 120), " is in cluster ", clusterName(view.label, pick));
  byId("row-lead").textContent = `${placement(view.confidence, view.margin, view.runner_up)} ${many(view.alike, "row")} with the same labels.` +
    (view.truth ? ` Known class: ${view.truth}.` : "") + " Below: mean co-association with the rows of each cluster, and the cluster that each member votes for most.";
  drawRowCoassociation(byId("row-coassociation"), view.coassociation, view.label);
  drawTable(byId("votes"), [
    ["Member", (r) => S.members[r.member].name, (r) => memberName(r.member), "text"],
    ["Label", (r) => r.label, (r) => r.label ?? "none", "text"],
    ["Votes for", (r) => r.home && r.home[0], (r) => clusterName(r.home && r.home[0], pick), "number"],
    ["Vote", (r) => r.home && r.home[1], (r) => (r.home ? gauge(r.home[1], percent(r.home[1])) : ""), "number"],
    ["Weight", (r) => r.weight, (r) => (r.weight === null ? "off" : percent(r.weight, 1)), "number"],
  ], view.votes, { faded: (r) => !r.weight, chosen: (r) => r.weight > 0 && r.home && r.home[0] !== view.label });
}
function drawPoints() {
  if (!S.points || !shown.points || state.tab !== "rows") return;
  byId("picture-note").textContent = S.points.all ? "" : `${count(S.points.rows.length)} of ${count(S.rows)} rows are drawn; a selection counts all rows.`;
  drawScatter(byId("scatter"), S.points, shown.points, { cluster: state.cluster, polygon: state.polygon, drawn: (polygon) => { state.polygon = polygon; state.offset = 0; writeAddress(); followTab(); } });
}
function drawSelection() {
  const view = shown.selection;
  if (!view || !state.polygon || state.tab !== "rows") return;
  byId("selection-title").textContent = `${many(view.rows, "row")} selected`;
  drawSizes(byId("selection-sizes"), view.clusters.map((size, label) => ({ label, size, stability: shown.answer.clusters[label]?.stability })).filter((one) => one.size), { cluster: state.cluster, pick });
  drawTable(byId("selection-members"), [
    ["Member", (r) => S.members[r.member].name, (r) => memberName(r.member), "text"],
    ["Most frequent labels", (r) => (r.top.length ? r.top[0][1] : 0), (r) => r.top.map(([name, n]) => `${shorten(name, 40)} (${count(n)})`).join(", ") || "none", "long"],
  ], view.members);
}

// Export.
function drawExport() {
  const now = shown.answer, core = state.core;
  byId("python").textContent = now.python + (core === null ? "" : `\nqt.core(result, ${core}).labels`);
  byId("command-box").hidden = !now.command;
  byId("command").textContent = now.command ? now.command + (core === null ? "" : ` --core ${core}`) : "";
  byId("address-box").hidden = !pageAddress();
  byId("address").textContent = pageAddress();
}
async function saveLabels(format) {
  await get("labels", withQuery({ format, core: state.core }), (blob) => saveFile(`consensus_${shown.answer.k}.${format}`, blob, blob.type));
}
async function saveFigure(kind) {
  const box = byId(byId("figure").value);
  const home = box.closest("[role=tabpanel]");
  const before = state.tab;
  state.tab = home.id.slice(4);
  drawControls();
  await followTab();
  drawAll();
  await saveDrawn(box, kind);
  state.tab = before;
  drawControls();
}

function drawAll() {
  hideTip();
  if (!S) return;
  drawControls();
  if (state.tab === "members") { drawHeat(); drawPair(); drawGroups(); }
  drawAnswer();
  drawChoice();
  drawDiagnostics();
  drawMatrixNow();
  drawCoreNow();
  drawLayersNow();
  drawCompare();
  drawRows();
  drawRow();
  drawPoints();
  drawSelection();
}
async function go(tab) {
  cancelDetails();
  state.tab = tab;
  writeAddress();
  drawAll();
  await followTab();
}

function listen() {
  const on = (id, event, action) => byId(id).addEventListener(event, action);
  on("method", "change", (event) => { state.method = event.target.value; state.params = {}; state.cluster = state.bin = null; follow(); });
  let waiting = 0;
  on("k", "input", (event) => {
    byId("k-now").textContent = event.target.value;
    clearTimeout(waiting);
    waiting = setTimeout(() => takeK(Number(event.target.value)), 60);
  });
  on("fewer", "click", () => takeK((shown.answer?.k ?? 2) - 1));
  on("more", "click", () => takeK((shown.answer?.k ?? 2) + 1));
  on("auto", "click", () => { state.k = null; state.cluster = state.bin = null; follow(); });
  on("chip", "click", () => pick(state.cluster));
  on("bin-chip", "click", () => { state.bin = null; state.offset = 0; writeAddress(); getRows(); });
  on("core", "input", (event) => requireAgreement(Number(event.target.value) / 100));
  on("layer-ks", "change", (event) => { state.layers = event.target.value.trim(); writeAddress(); getLayers(); });
  on("core-rows", "click", () => { requireAgreement(state.core ?? 0.9); go("rows"); });
  on("core-chip", "click", () => { state.core = null; state.offset = 0; writeAddress(); drawExport(); followTab(); });
  on("combine-groups", "click", () => getCamps(true));
  on("cancel", "click", cancelAll);
  const tabs = [...document.querySelectorAll("[data-tab]")];
  tabs.forEach((button, i) => {
    button.addEventListener("click", () => go(button.dataset.tab));
    button.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const next = tabs[(i + step + tabs.length) % tabs.length];
      go(next.dataset.tab);
      next.focus();
    });
  });
  on("all-on", "click", () => turn(S.members.map((_, j) => j), true));
  on("unreliable-off", "click", () => turn(shown.answer.members.filter((member) => ["ignored", "unreliable"].includes(member.status)).map((member) => member.member), false));
  on("by", "change", (event) => setParam(methodOf(state.method).parameters.find((one) => one.name === "weights"), event.target.value));
  on("forget", "click", () => { state.weights = {}; follow(); });
  on("check-structure", "click", () => getStructure(true));
  on("match-on", "click", () => turn(named(), true));
  on("match-off", "click", () => turn(named(), false));
  on("one", "change", (event) => takePair(Number(event.target.value), state.pair[1]));
  on("other", "change", (event) => takePair(state.pair[0], Number(event.target.value)));
  on("against", "change", (event) => { state.against = event.target.value; byId("against-answer").hidden = state.against !== "answer"; writeAddress(); getCompare(); });
  on("other-method", "change", (event) => { state.otherMethod = event.target.value; writeAddress(); getCompare(); });
  on("other-k", "change", (event) => { state.otherK = event.target.value === "" ? null : Number(event.target.value); writeAddress(); getCompare(); });
  on("pin", "click", () => { state.pinned = query(S.members.length, { k: shown.answer.k }); state.against = "pinned"; fillAgainst(); writeAddress(); getCompare(); });
  on("find", "input", (event) => { state.find = event.target.value; state.offset = 0; writeAddress(); clearTimeout(waiting); waiting = setTimeout(getRows, 120); });
  on("back", "click", () => { state.offset = Math.max(0, state.offset - page); getRows(); });
  on("next", "click", () => { state.offset += page; getRows(); });
  on("color", "change", (event) => { const value = event.target.value; state.color = /^\d+$/.test(value) ? Number(value) : value; writeAddress(); followTab(); });
  on("clear", "click", () => { state.polygon = null; state.offset = 0; writeAddress(); followTab(); });
  on("csv", "click", () => saveLabels("csv"));
  on("parquet", "click", () => saveLabels("parquet"));
  on("svg", "click", () => saveFigure("svg"));
  on("png", "click", () => saveFigure("png"));
  window.addEventListener("hashchange", () => { readAddress(S.members.length, S.methods.map((method) => method.name)); fillAgainst(); drawAll(); follow(); });
}
function options(id, pairs, chosen) {
  byId(id).replaceChildren(...pairs.map(([value, text]) => el("option", { value }, text)));
  byId(id).value = chosen;
}
function fillAgainst() {
  const members = S.members.map((_, j) => [String(j), `member ${shorten(S.members[j].name, 60)}`]);
  options("against", [["answer", "another result"], ...(state.pinned ? [["pinned", "the pinned result"]] : []), ...(S.truth ? [["truth", `the known classes (${shorten(S.truth, 40)})`]] : []), ...members], String(state.against));
  byId("against-answer").hidden = state.against !== "answer";
}
async function begin() {
  const ok = await get("start", {}, (view) => { S = view; });
  if (!ok) return;
  setColors(S.colors);
  const names = S.methods.map((method) => method.name);
  readAddress(S.members.length, names);
  document.title = `${shorten(S.name, 60)} \u2013 Quorate explorer`;
  byId("title").textContent = `${shorten(S.name, 120)}: ${many(S.rows, "row")}, ${many(S.members.length, "clustering")}, ${count(S.patterns)} distinct rows of labels`;
  for (const id of ["method", "other-method"]) options(id, names.map((name) => [name, name === "auto" ? "auto (recommended)" : name]), id === "method" ? state.method : state.otherMethod);
  const members = S.members.map((_, j) => [String(j), shorten(S.members[j].name, 60)]);
  for (const id of ["one", "other"]) options(id, members, "0");
  fillAgainst();
  byId("other-k").placeholder = "auto";
  if (state.otherK !== null) byId("other-k").value = state.otherK;
  byId("find").value = state.find;
  byId("find-label").textContent = S.id ? shorten(S.id, 40) : "Row number";
  byId("picture").hidden = !S.points;
  options("color", [["cluster", "cluster"], ["confidence", "confidence"], ["margin", "margin"], ...(S.truth ? [["truth", shorten(S.truth, 40)]] : []), ...members.map(([j, name]) => [j, `member ${name}`])], String(state.color));
  options("figure", [...document.querySelectorAll("[data-figure]")].filter((box) => S.points || box.id !== "scatter").map((box) => [box.id, box.dataset.figure]), "sizes");
  listen();
  followTheme(byId("theme"), drawAll);
  drawAll();
  await follow();
}
begin();
