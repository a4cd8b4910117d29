// How the drawing looks: the colours of halftrek's pictures, read from the style sheet so that light and dark both work.

import type { StylesheetJson } from "cytoscape";

const NAMES = ["ink", "soft", "line", "card", "blue", "vermilion", "green", "purple", "grey", "on-colour", "focus"] as const;
type Colours = Record<(typeof NAMES)[number], string>;

export const FONT = '"Inter Variable", system-ui, sans-serif';

function colours(): Colours {
  const probe = document.createElement("span");
  probe.hidden = true;
  document.body.append(probe);
  const found = NAMES.map((name) => {
    probe.style.color = `var(--${name})`;
    return [name, getComputedStyle(probe).color];
  });
  probe.remove();
  return Object.fromEntries(found) as Colours;
}

export function look(): StylesheetJson {
  const c = colours();
  return [
    {
      selector: "node",
      style: {
        shape: "round-rectangle",
        "corner-radius": "17px",
        width: "data(width)",
        height: "data(height)",
        label: "data(label)",
        "text-wrap": "wrap",
        "text-max-width": "172px",
        "text-overflow-wrap": "data(wrap)",
        "text-valign": "center",
        "text-halign": "center",
        "font-family": FONT,
        "font-size": 14,
        "font-weight": 500,
        color: c.ink,
        "background-color": c.card,
        "border-width": 1.5,
        "border-color": c.ink,
        "overlay-opacity": 0,
        "transition-property": "background-color, border-color",
        "transition-duration": 120,
      },
    },
    { selector: "node.hidden", style: { shape: "ellipse", "border-style": "dashed", "border-color": c.green, color: c.green } },
    { selector: "node.adjusted", style: { "border-color": c.purple, "border-width": 3, "border-style": "double" } },
    { selector: "node.cause", style: { "background-color": c.blue, "border-color": c.blue, color: c["on-colour"], "font-weight": 600 } },
    { selector: "node.outcome", style: { "background-color": c.vermilion, "border-color": c.vermilion, color: c["on-colour"], "font-weight": 600 } },
    { selector: "node.missing", style: { "border-style": "dotted", "border-width": 2.5 } },
    {
      selector: "node:selected, node.focus, node.target",
      style: { "underlay-color": c.focus, "underlay-opacity": 0.28, "underlay-padding": 6, "underlay-shape": "round-rectangle", "underlay-corner-radius": 22 },
    },
    { selector: "node.target", style: { "underlay-color": c.green, "underlay-opacity": 0.4 } },
    {
      selector: "edge",
      style: {
        width: 1.5,
        "line-color": c.ink,
        "target-arrow-color": c.ink,
        "source-arrow-color": c.ink,
        "target-arrow-shape": "triangle",
        "arrow-scale": 1.05,
        "curve-style": "straight",
        "target-distance-from-node": 3,
        "source-distance-from-node": 2,
        "overlay-opacity": 0,
        label: "data(label)",
        "font-family": FONT,
        "font-size": 12.5,
        "font-weight": 500,
        color: c.ink,
        "text-background-color": c.card,
        "text-background-opacity": 0.94,
        "text-background-padding": "3px",
        "text-background-shape": "round-rectangle",
      },
    },
    {
      selector: "edge[bend]",
      style: { "curve-style": "unbundled-bezier", "control-point-distances": "data(bend)", "control-point-weights": "data(weight)", "edge-distances": "node-position" },
    },
    { selector: "edge.hidden", style: { "line-style": "dashed", "line-dash-pattern": [6, 4], "line-color": c.green, "target-arrow-color": c.green, "source-arrow-color": c.green, color: c.green } },
    { selector: "edge.both", style: { "source-arrow-shape": "triangle", "source-distance-from-node": 3 } },
    { selector: "edge.unknown", style: { "line-style": "dotted", "line-color": c.grey, "target-arrow-color": c.grey, "source-arrow-color": c.grey, color: c.grey } },
    { selector: "edge.contradicted", style: { "line-style": "dotted", width: 3, "line-color": c.vermilion, "target-arrow-shape": "none", color: c.vermilion } },
    { selector: "edge.causal", style: { width: 3, "line-color": c.blue, "target-arrow-color": c.blue, "underlay-color": c.blue, "underlay-opacity": 0.16, "underlay-padding": 5 } },
    { selector: "edge.confounding", style: { width: 3, "line-color": c.vermilion, "target-arrow-color": c.vermilion, "source-arrow-color": c.vermilion, "underlay-color": c.vermilion, "underlay-opacity": 0.16, "underlay-padding": 5 } },
    { selector: "edge.blocked", style: { "line-color": c.grey, "target-arrow-color": c.grey, "source-arrow-color": c.grey } },
    { selector: "edge.dim", style: { opacity: 0.35 } },
    { selector: "edge.bright", style: { width: 4.5, "underlay-opacity": 0.35 } },
    { selector: "edge:selected, edge.focus", style: { "underlay-color": c.focus, "underlay-opacity": 0.35, "underlay-padding": 6 } },
  ] as unknown as StylesheetJson;
}

let ruler: CanvasRenderingContext2D | null = null;

export interface Size {
  width: number;
  height: number;
  /** Where a long name is folded: between words, or anywhere if a word is too long for a line. */
  wrap: "whitespace" | "anywhere";
}

const LINE = 172;

/** What a name needs, folded where it is too long for a line. */
export function sizeOf(name: string): Size {
  ruler ??= document.createElement("canvas").getContext("2d");
  if (ruler === null) return { width: 80, height: 34, wrap: "anywhere" };
  ruler.font = `600 14px ${FONT}`;
  const wide = ruler.measureText(name).width;
  if (wide <= LINE) return { width: Math.max(44, wide + 28), height: 34, wrap: "whitespace" };
  let [lines, here, wrap]: [number, number, Size["wrap"]] = [1, 0, "whitespace"];
  for (const word of name.split(/(?<=\s)/)) {
    let long = ruler.measureText(word).width;
    if (long > LINE) wrap = "anywhere";
    if (here + long > LINE && here > 0) [lines, here] = [lines + 1, 0];
    for (; long > LINE; long -= LINE) lines += 1;
    here += long;
  }
  return { width: LINE + 28, height: 16 + 18 * lines, wrap };
}
