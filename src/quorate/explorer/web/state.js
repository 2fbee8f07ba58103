// All settings, stored in the address: it can be bookmarked, and the browser's back button works.
import { readSettings, writeSettings } from "./connection.js";

export const state = {
  tab: "members", method: "auto", k: null, off: [], weights: {}, params: {}, cluster: null, bin: null, core: null, layers: "", row: null,
  pair: [0, 1], against: "answer", otherMethod: "weac", otherK: null, pinned: null, color: "cluster", find: "", offset: 0, polygon: null,
};
const STORED = Object.keys(state).filter((name) => !["offset"].includes(name));
const defaults = JSON.parse(JSON.stringify(state));

export function readAddress(nMembers, methodNames) {
  const stored = new URLSearchParams(readSettings());
  for (const name of STORED) {
    state[name] = JSON.parse(JSON.stringify(defaults[name]));
    try { if (stored.has(name)) state[name] = JSON.parse(stored.get(name)); } catch { /* ignore an invalid address */ }
  }
  const member = (j) => Number.isInteger(j) && j >= 0 && j < nMembers;
  if (!methodNames.includes(state.method)) state.method = defaults.method;
  if (!methodNames.includes(state.otherMethod)) state.otherMethod = defaults.otherMethod;
  state.off = Array.isArray(state.off) ? state.off.filter(member) : [];
  if (state.off.length >= nMembers) state.off = [];
  if (!Array.isArray(state.pair) || !state.pair.every(member) || state.pair.length !== 2) state.pair = [0, Math.min(1, nMembers - 1)];
  if (!["members", "answer", "compare", "rows", "take"].includes(state.tab)) state.tab = "members";
  for (const name of ["weights", "params"]) if (typeof state[name] !== "object" || state[name] === null || Array.isArray(state[name])) state[name] = {};
  if (!(state.core > 0 && state.core <= 1)) state.core = null;
  for (const name of ["find", "layers"]) if (typeof state[name] !== "string") state[name] = "";
}
export function writeAddress() {
  const fields = new URLSearchParams();
  for (const name of STORED) {
    const text = JSON.stringify(state[name]);
    if (text !== JSON.stringify(defaults[name])) fields.set(name, text);
  }
  writeSettings(fields.toString());
}
export function query(nMembers, more = {}) {
  const members = Array.from({ length: nMembers }, (_, j) => j).filter((j) => !state.off.includes(j));
  return { method: state.method, k: state.k, members, weights: state.weights, params: state.params, ...more };
}
