// The connection to Python in a notebook: requests are messages to the widget around this frame, which passes them on.
const answers = new Map();
const PATIENCE = 3000; // milliseconds, for a reply that takes no work
let sent = 0;
const post = (message) => window.parent.postMessage(message, "*");

window.addEventListener("message", ({ source, data }) => {
  if (source !== window.parent) return;
  if (data.theme) return window.dispatchEvent(new CustomEvent("theme", { detail: data.theme }));
  answers.get(data.id)?.(new Response(data.body, { status: data.status, headers: { "content-type": data.type } }));
  answers.delete(data.id);
});
export function send(part, body, signal) {
  const id = `${body.tab}-${++sent}`;
  return new Promise((resolve, reject) => {
    answers.set(id, resolve);
    signal?.addEventListener("abort", () => {
      if (answers.delete(id)) post({ id, abort: true });
      reject(signal.reason);
    });
    if (part === "progress") setTimeout(() => answers.delete(id) && reject(new Error(silence)), PATIENCE);
    post({ id, part, body });
  });
}
// The name of a frame is stored outside of its document, so the widget can give the settings to a new frame.
export const readSettings = () => window.name;
export function writeSettings(text) {
  window.name = text;
  post({ settings: text });
}
export const pageAddress = () => "";
export const silence = "Python does not respond. Another cell runs, or the kernel was restarted; then run this cell again.";
