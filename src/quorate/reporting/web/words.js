// Numbers and short sentences for people.
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
export const count = (n) => whole.format(Number(n));
export const percent = (x, digits = 0) => (100 * x).toFixed(digits) + "%";
export const share = (x) => (x > 0 && x < 0.001 ? "< 0.1%" : percent(x, 1));
export const decimals = (x, digits = 3) => (x === null || x === undefined ? "" : Number(x).toFixed(digits));
export const figure = (x) => Number(Number(x).toPrecision(4)).toLocaleString("en", { maximumSignificantDigits: 4 });
export const shorten = (text, most) => (text.length > most ? text.slice(0, most - 1) + "\u2026" : text);
export const many = (n, one, more) => `${count(n)} ${n === 1 ? one : more || one + "s"}`;
// The ids of the clusters, if they continue those of an earlier result; else their numbers.
let clusterIds = [];
export const setClusterIds = (ids) => { clusterIds = ids; };
export const clusterId = (c) => clusterIds[c] ?? c;
// How well a row fits its cluster: "Confidence 5%; cluster 1 fits better by 25 points."
export function placement(confidence, margin, runnerUp) {
  const none = runnerUp === null || runnerUp < 0;
  const points = Math.round(100 * Math.abs(margin));
  const level = `level with cluster ${clusterId(runnerUp)}`;
  const next = none ? "no other cluster has support" : points === 0 ? level : margin < 0 ? `cluster ${clusterId(runnerUp)} fits better by ${many(points, "point")}` : `${many(points, "point")} ahead of cluster ${clusterId(runnerUp)}`;
  return `Confidence ${percent(confidence)}; ${next}.`;
}
// A cell of a CSV file.
export function csvCell(value) {
  const text = String(value);
  return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}
