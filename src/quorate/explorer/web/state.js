// What is asked for and looked at, kept in the address: it can be bookmarked, and the way back works.
export const state = {
  tab: "members", method: "auto", k: null, off: [], weights: {}, params: {}, cluster: null, bin: null, row: null,
  pair: [0, 1], against: "answer", otherMethod: "weac", otherK: null, pinned: null, color: "cluster", find: "", offset: 0, polygon: null,
};
const KEPT = Object.keys(state).filter((name) => !["offset"].includes(name));
const first = JSON.parse(JSON.stringify(state));

export function readAddress(nMembers, methodNames) {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const name of KEPT) {
    state[name] = JSON.parse(JSON.stringify(first[name]));
    try { if (given.has(name)) state[name] = JSON.parse(given.get(name)); } catch { /* an address typed wrongly */ }
  }
  const member = (j) => Number.isInteger(j) && j >= 0 && j < nMembers;
  if (!methodNames.includes(state.method)) state.method = first.method;
  if (!methodNames.includes(state.otherMethod)) state.otherMethod = first.otherMethod;
  state.off = Array.isArray(state.off) ? state.off.filter(member) : [];
  if (state.off.length >= nMembers) state.off = [];
  if (!Array.isArray(state.pair) || !state.pair.every(member) || state.pair.length !== 2) state.pair = [0, Math.min(1, nMembers - 1)];
  if (!["members", "answer", "compare", "rows", "take"].includes(state.tab)) state.tab = "members";
  for (const name of ["weights", "params"]) if (typeof state[name] !== "object" || state[name] === null || Array.isArray(state[name])) state[name] = {};
  if (typeof state.find !== "string") state.find = "";
}
export function writeAddress() {
  const kept = new URLSearchParams();
  for (const name of KEPT) {
    const text = JSON.stringify(state[name]);
    if (text !== JSON.stringify(first[name])) kept.set(name, text);
  }
  history.replaceState(null, "", "#" + kept.toString());
}
export function asked(nMembers, more = {}) {
  const members = Array.from({ length: nMembers }, (_, j) => j).filter((j) => !state.off.includes(j));
  return { method: state.method, k: state.k, members, weights: state.weights, params: state.params, ...more };
}
