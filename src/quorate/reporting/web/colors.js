// Colors of clusters, of values from 0 to 1, and of the page.
import { clusterId } from "./words.js";

let palette = { clusters: ["#0a4f79"], light: ["#ffffff", "#000000"], dark: ["#000000", "#ffffff"] };

export function setColors(given) {
  palette = given;
}
export const dark = () => document.documentElement.dataset.theme === "dark";
export const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
export const clusterColor = (c) => (c === null || c === undefined || c < 0 ? "#9aa0a6" : onPage(palette.clusters[clusterId(c) % palette.clusters.length]));
const part = (hex, j) => parseInt(hex.slice(j, j + 2), 16);
const brightness = (hex) => 0.299 * part(hex, 1) + 0.587 * part(hex, 3) + 0.114 * part(hex, 5);

// On a dark page, mix dark colors with white until they contrast with the background.
function onPage(hex) {
  const least = 100, now = brightness(hex);
  if (!dark() || now >= least) return hex;
  const white = (least - now) / (255 - now);
  return `#${[1, 3, 5].map((j) => Math.round(part(hex, j) + white * (255 - part(hex, j))).toString(16).padStart(2, "0")).join("")}`;
}
export const inkOn = (hex) => (brightness(hex) > 150 ? "#10151c" : "#ffffff");
export function ramp(value) {
  const stops = dark() ? palette.dark : palette.light;
  const place = Math.max(0, Math.min(1, value)) * (stops.length - 1);
  const i = Math.min(Math.floor(place), stops.length - 2);
  const mixed = [1, 3, 5].map((j) => Math.round(part(stops[i], j) + (place - i) * (part(stops[i + 1], j) - part(stops[i], j))));
  return `#${mixed.map((x) => x.toString(16).padStart(2, "0")).join("")}`;
}
// The inks of lines, brighter on dark pages.
export const INKS = {
  blue: () => (dark() ? "#6cb6e8" : "#0b62a4"),
  orange: () => (dark() ? "#f2915a" : "#c44e0e"),
  green: () => (dark() ? "#58c99a" : "#16956e"),
};

// Light or dark: follow the system until the user chooses.
export function followTheme(button, redraw) {
  const set = (theme) => {
    document.documentElement.dataset.theme = theme;
    redraw();
  };
  const prefers = window.matchMedia("(prefers-color-scheme: dark)");
  prefers.addEventListener("change", (event) => set(event.matches ? "dark" : "light"));
  window.addEventListener("theme", (event) => set(event.detail)); // of the notebook around the page
  button.addEventListener("click", () => set(dark() ? "light" : "dark"));
  let before = null;
  window.addEventListener("beforeprint", () => { before = document.documentElement.dataset.theme; set("light"); });
  window.addEventListener("afterprint", () => { if (before) set(before); });
  let width = window.innerWidth, waiting = 0;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(redraw, 120);
  });
  document.documentElement.dataset.theme = prefers.matches ? "dark" : "light";
}
