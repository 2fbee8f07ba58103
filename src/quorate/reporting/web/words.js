// Numbers as people read them.
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
export const count = (n) => whole.format(Number(n));
export const percent = (x, digits = 0) => (100 * x).toFixed(digits) + "%";
export const share = (x) => (x > 0 && x < 0.001 ? "< 0.1%" : percent(x, 1));
export const decimals = (x, digits = 3) => (x === null || x === undefined ? "" : Number(x).toFixed(digits));
export const figure = (x) => Number(Number(x).toPrecision(4)).toLocaleString("en", { maximumSignificantDigits: 4 });
export const shorten = (text, most) => (text.length > most ? text.slice(0, most - 1) + "\u2026" : text);
export const many = (n, one, more) => `${count(n)} ${n === 1 ? one : more || one + "s"}`;
// A cell of a CSV file; what a spreadsheet would take for a formula is quoted as text.
export function csvCell(value) {
  const text = String(value);
  return /[",\n\r]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}
