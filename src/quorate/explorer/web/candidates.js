// The numbers of clusters with most evidence, each filled as far as it has evidence beside the best.
import { el } from "./dom.js";
import { decimals } from "./words.js";

export function offerCandidates(box, found, now, take) {
  box.hidden = !found.length;
  const ks = found.map((one) => one.k).join();
  if (box.dataset.ks !== ks) {  // else they stay, and with them the keyboard's place
    box.dataset.ks = ks;
    box.replaceChildren("evidence for", ...found.map((one) => candidate(one, found[0].score, take)));
  }
  for (const button of box.children) button.setAttribute("aria-pressed", String(Number(button.dataset.candidate) === now));
}
function candidate(one, best, take) {
  const known = ["score", "eigengap", "stability"].filter((name) => one[name] !== null);
  const says = known.map((name) => `${name === "score" ? "evidence" : name} ${decimals(one[name])}`).join(", ");
  const button = el("button", { type: "button", title: says, "aria-label": `Take ${one.k} clusters: ${says}`, "data-candidate": one.k }, one.k);
  button.style.setProperty("--share", best > 0 ? one.score / best : 0);
  button.addEventListener("click", () => take(one.k));
  return button;
}
