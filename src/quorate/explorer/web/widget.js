// The explorer in a notebook: the page (PAGE) in a frame, and messages between it and Python.
function render({ model, el }) {
  const frame = document.createElement("iframe");
  Object.assign(frame, { title: "Quorate explorer", name: model.get("settings"), srcdoc: PAGE });
  Object.assign(frame.style, { width: "100%", height: "44rem", border: "0", resize: "vertical" });
  const fromPage = ({ source, data }) => {
    if (source !== frame.contentWindow) return;
    if (data.settings === undefined) return model.send(data);
    model.set("settings", data.settings);
    model.save_changes();
  };
  // Notebooks have themes of their own; light text shows a dark one. A canvas reads colors in any notation.
  const ink = document.createElement("canvas").getContext("2d");
  const toTheme = () => {
    ink.fillStyle = getComputedStyle(el).color;
    ink.fillRect(0, 0, 1, 1);
    const [red, green, blue] = ink.getImageData(0, 0, 1, 1).data;
    frame.contentWindow?.postMessage({ theme: 0.3 * red + 0.6 * green + 0.1 * blue > 128 ? "dark" : "light" }, "*");
  };
  const changes = new MutationObserver(toTheme);
  for (const part of [document.documentElement, document.body]) changes.observe(part, { attributes: true });
  frame.addEventListener("load", toTheme);
  const toPage = (message, buffers) => frame.contentWindow?.postMessage({ ...message, body: buffers[0] }, "*");
  window.addEventListener("message", fromPage);
  model.on("msg:custom", toPage);
  el.append(frame);
  return () => {
    window.removeEventListener("message", fromPage);
    model.off("msg:custom", toPage);
    changes.disconnect();
  };
}
export default { render };
