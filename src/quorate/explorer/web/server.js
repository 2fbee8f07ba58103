// Requests to Python: a newer request for the same part replaces an older one.
import { send, silence } from "./connection.js";

const tab = Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(36)).join("-");
const newest = new Map();
const waiting = new Set();
let watch = () => {};

export const onWaiting = (action) => { watch = action; };

export async function request(part, data) {
  newest.get(part)?.abort();
  const stop = new AbortController();
  newest.set(part, stop);
  waiting.add(stop);
  watch(waiting.size);
  try {
    const response = await send(part, { tab, request: data }, stop.signal);
    if (newest.get(part) !== stop) return null;
    if (response.status === 409) return null;
    if (!response.ok) throw new Error((await response.json()).error || `The server answered ${response.status}.`);
    const kind = response.headers.get("content-type") || "";
    const result = kind.startsWith("application/json") ? await response.json() : await response.blob();
    return newest.get(part) === stop ? result : null;
  } catch (error) {
    if (error.name === "AbortError") return null;
    if (error instanceof TypeError) throw new Error(silence);
    throw error;
  } finally {
    waiting.delete(stop);
    watch(waiting.size);
  }
}

// Cancel the requests for details of the tab that is left; the server notices and ends their work.
export function cancelDetails() {
  for (const [part, stop] of newest) if (part !== "answer" && part !== "labels") stop.abort();
}
export async function progress() {
  const response = await send("progress", { tab });
  return response.ok ? response.json() : [];
}
export async function cancelAll() {
  for (const stop of [...waiting]) stop.abort();
  await send("cancel", { tab });
}
