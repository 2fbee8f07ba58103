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
  const toPage = (message, buffers) => frame.contentWindow?.postMessage({ ...message, body: buffers[0] }, "*");
  window.addEventListener("message", fromPage);
  model.on("msg:custom", toPage);
  el.append(frame);
  return () => {
    window.removeEventListener("message", fromPage);
    model.off("msg:custom", toPage);
  };
}
export default { render };
