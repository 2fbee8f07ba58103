// The connection to Python over HTTP. In a notebook widget_connection.js replaces this module.
export const send = (part, body, signal) => fetch(`api/${part}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body), signal });
export const readSettings = () => location.hash.slice(1);
export const writeSettings = (text) => history.replaceState(null, "", "#" + text);
export const pageAddress = () => location.href;
export const silence = "The explorer does not respond. Is it still running?";
