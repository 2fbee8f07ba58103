// The connection to Python in a notebook: requests are messages to the widget around this frame, which passes them on.
const answers = new Map();
let sent = 0;
const post = (message) => window.parent.postMessage(message, "*");

window.addEventListener("message", ({ source, data }) => {
  if (source !== window.parent) return;
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
