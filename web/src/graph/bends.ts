// Which way edges bend: arcs of hidden causes rise over the arrows, or hang below them where they would cross others
// above; and no edge runs through a variable.

import type { Edge } from "../api/types";
import { edgeKey } from "./model";

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

type Line = { x: number; y: number }[];

const STEPS = 24; // pieces of a curve
const MANY = 150; // edges, beyond which crossings are not counted
const LATER = 0.3; // of a crossing: what a wish that stands later costs

/** How far each edge's control point lies off the straight line, in pixels; null for a straight edge. */
export function bendsOf(edges: Edge[], boxes: Map<string, Box>): Map<string, number | null> {
  const found = new Map<string, number | null>();
  const drawn = new Map<string, Line>();
  const known = edges.filter(([a, , b]) => boxes.has(a) && boxes.has(b));
  for (const edge of known) drawn.set(edgeKey(edge), curve(edge, boxes, 0));
  const twins = new Set(known.filter(([, kind]) => kind === "<->").map(([a, , b]) => pair(a, b)));
  for (const edge of [...known].sort(([, k], [, l]) => (k === l ? 0 : k === "->" ? -1 : 1))) {
    const key = edgeKey(edge);
    const rivals = known.length > MANY ? [] : [...drawn].filter(([other]) => other !== key).map(([, line]) => line);
    const bend = best(edge, boxes, wishes(edge, boxes, twins.has(pair(edge[0], edge[2]))), rivals);
    drawn.set(key, curve(edge, boxes, bend));
    found.set(key, bend === 0 ? null : bend);
  }
  return found;
}

const pair = (a: string, b: string): string => [a, b].sort().join("\n");

function best([a, kind, b]: Edge, boxes: Map<string, Box>, bends: number[], rivals: Line[]): number {
  const others = [...boxes].filter(([v]) => v !== a && v !== b).map(([, box]) => box);
  let [chosen, least] = [0, Infinity];
  for (const [k, bend] of bends.entries()) {
    const line = curve([a, kind, b], boxes, bend);
    const hits = others.filter((box) => line.some(({ x, y }) => Math.abs(x - box.x) < box.width / 2 + 5 && Math.abs(y - box.y) < box.height / 2 + 5)).length;
    if (hits === 0 && bend === 0) return 0; // what can be straight is
    const cost = 100 * hits + LATER * k + (100 * hits >= least ? 0 : rivals.filter((rival) => cross(line, rival)).length);
    if (cost < least) [chosen, least] = [bend, cost];
  }
  return chosen;
}

/** Bends in the order in which they please. */
function wishes([a, kind, b]: Edge, boxes: Map<string, Box>, isTwin: boolean): number[] {
  const [from, to] = ends(a, b, boxes);
  const length = Math.hypot(to.x - from.x, to.y - from.y);
  const up = to.x >= from.x ? -1 : 1; // the side that is above the line
  if (kind === "<->") {
    const first = up * Math.max(46, 0.36 * length);
    return [first, 1.5 * first, -first, 2.1 * first, -1.5 * first, 0.6 * first];
  }
  const step = (isTwin ? -up : up) * Math.max(50, 0.22 * length);
  return [0, step, -step, 1.7 * step, -1.7 * step, 2.4 * step, -2.4 * step];
}

const NOWHERE: Box = { x: 0, y: 0, width: 0, height: 0 };
const ends = (a: string, b: string, boxes: Map<string, Box>): [Box, Box] => [boxes.get(a) ?? NOWHERE, boxes.get(b) ?? NOWHERE];

/** Points of the curve with this control point, without its ends, which lie in the variables. */
function curve([a, , b]: Edge, boxes: Map<string, Box>, bend: number): Line {
  const [from, to] = ends(a, b, boxes);
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length = Math.hypot(dx, dy) || 1;
  const control = { x: (from.x + to.x) / 2 - (dy / length) * bend, y: (from.y + to.y) / 2 + (dx / length) * bend };
  return Array.from({ length: STEPS - 1 }, (_, k) => {
    const t = (k + 1) / STEPS;
    return {
      x: (1 - t) ** 2 * from.x + 2 * t * (1 - t) * control.x + t ** 2 * to.x,
      y: (1 - t) ** 2 * from.y + 2 * t * (1 - t) * control.y + t ** 2 * to.y,
    };
  });
}

/** True if two lines cross; every second point of each is enough. */
function cross(one: Line, other: Line): boolean {
  for (let i = 2; i < one.length; i += 2) {
    const [p, q] = [one[i - 2], one[i]];
    for (let j = 2; p && q && j < other.length; j += 2) {
      const [r, s] = [other[j - 2], other[j]];
      if (r && s && side(p, q, r) !== side(p, q, s) && side(r, s, p) !== side(r, s, q)) return true;
    }
  }
  return false;
}

type Spot = { x: number; y: number };
const side = (a: Spot, b: Spot, c: Spot): boolean => (b.x - a.x) * (c.y - a.y) > (b.y - a.y) * (c.x - a.x);
