// Numbers as halftrek prints them: four significant digits, no exponent where it reads well without.

/** Rounds as Python does: a number that lies exactly between two takes the even one. */
function fixed(x: number, decimals: number): string {
  const text = x.toFixed(decimals);
  if (decimals > 60 || Math.abs(x) >= 1e15) return text;
  const exact = x.toFixed(Math.min(100, decimals + 40));
  const rest = exact.slice(exact.length - (Math.min(100, decimals + 40) - decimals));
  if (!/^50*$/.test(rest)) return text;
  const below = exact.slice(0, exact.length - rest.length).replace(/\.$/, "");
  const odd = Number(below.at(-1)) % 2 === 1;
  return odd ? text : below;
}

function exponential(x: number, digits: number): string {
  const [mantissa = "", power = "0"] = x.toExponential(digits - 1).split("e");
  const size = Math.abs(Number(power));
  return `${mantissa}e${power.startsWith("-") ? "-" : "+"}${size < 10 ? "0" : ""}${size}`;
}

export function number(x: number | null | undefined, digits = 4): string {
  if (x === null || x === undefined || Number.isNaN(x)) return "–";
  if (!Number.isFinite(x)) return x > 0 ? "infinite" : "-infinite";
  if (x === 0) return "0";
  const rounded = Number(x.toExponential(digits - 1));
  const power = Math.floor(Math.log10(Math.abs(rounded)));
  if (power < -4 || power > 8) return exponential(x, digits);
  return fixed(rounded, Math.max(0, digits - 1 - power));
}

export const count = (n: number): string => n.toLocaleString("en-US", { maximumFractionDigits: 2 });
export const percent = (x: number | null): string => (x === null ? "–" : `${(100 * x).toFixed(0)}%`);
export const pValue = (p: number | null): string => (p === null ? "–" : p < 0.001 ? "< 0.001" : p.toFixed(3));

/** A whole interval; "–" if there is none. */
export const interval = (low: number | null, high: number | null): string => (low === null || high === null ? "–" : `${number(low)} to ${number(high)}`);

export function bytes(n: number): string {
  const power = n < 1e3 ? 0 : n < 1e6 ? 1 : n < 1e9 ? 2 : 3;
  return `${(n / 1000 ** power).toFixed(power === 0 ? 0 : 1)} ${["B", "kB", "MB", "GB"][power]}`;
}
