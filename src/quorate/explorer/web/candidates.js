// The best-supported numbers of clusters; each button is filled by its score relative to the best.
import { el } from "./dom.js";
import { decimals } from "./words.js";

export function offerCandidates(box, view, now, take) {
  box.hidden = !view.length;
  const ks = view.map((one) => one.k).join();
  if (box.dataset.ks !== ks) {  // keep unchanged buttons, so that the keyboard focus stays
    box.dataset.ks = ks;
    box.replaceChildren("best supported", ...view.map((one) => candidate(one, view[0].score, take)));
  }
  for (const button of box.children) button.setAttribute("aria-pressed", String(Number(button.dataset.candidate) === now));
}
function candidate(one, best, take) {
  const available = ["score", "eigengap", "stability"].filter((name) => one[name] !== null);
  const scores = available.map((name) => `${name} ${decimals(one[name])}`).join(", ");
  const button = el("button", { type: "button", title: scores, "aria-label": `Use ${one.k} clusters: ${scores}`, "data-candidate": one.k }, one.k);
  button.style.setProperty("--share", best > 0 ? one.score / best : 0);
  button.addEventListener("click", () => take(one.k));
  return button;
}
