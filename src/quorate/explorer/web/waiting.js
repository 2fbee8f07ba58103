// Requests that take longer than 0.4 seconds show their stage and can be cancelled.
import { byId } from "./dom.js";
import { silence } from "./connection.js";
import { onWaiting, progress } from "./server.js";

let since = 0, timer = 0;
onWaiting((n) => {
  document.body.classList.toggle("waiting", n > 0);
  if (n && !timer) {
    since = performance.now();
    timer = setInterval(async () => {
      const seconds = (performance.now() - since) / 1000;
      if (seconds < 0.4) return;
      document.body.classList.add("busy");
      byId("cancel").hidden = false;
      const jobs = await progress().catch(() => null);
      if (timer) byId("status").textContent = jobs ? `${jobs[0]?.stage || "working"} \u2026 ${seconds.toFixed(1)} s` : silence;
    }, 200);
  }
  if (!n) {
    clearInterval(timer);
    timer = 0;
    document.body.classList.remove("busy");
    byId("cancel").hidden = true;
    const took = performance.now() - since;
    byId("status").textContent = took < 995 ? "" : `updated in ${(took / 1000).toFixed(1)} s`;
  }
});
