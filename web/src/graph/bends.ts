// Which way an edge bends: arcs of hidden causes rise over the arrows, and no arrow runs through a variable.

import type { Edge } from "../api/types";

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** How far the edge's control point lies off the straight line, in pixels; null for a straight edge. */
export function bendOf([a, kind, b]: Edge, boxes: Map<string, Box>, twins: boolean): number | null {
  const [from, to] = [boxes.get(a), boxes.get(b)];
  if (from === undefined || to === undefined) return null;
  const length = Math.hypot(to.x - from.x, to.y - from.y);
  const others = [...boxes].filter(([v]) => v !== a && v !== b).map(([, box]) => box);
  const up = to.x >= from.x ? -1 : 1; // the side that is above the line
  const wishes = kind === "<->" ? arcs(length, up) : twins ? [0, ...around(length, -up)] : [0, ...around(length, up)];
  let best: { bend: number; hits: number } | null = null;
  for (const bend of wishes) {
    const hits = others.filter((box) => crosses(from, to, bend, box)).length;
    if (best === null || hits < best.hits) best = { bend, hits };
    if (hits === 0) break;
  }
  return best === null || best.bend === 0 ? null : best.bend;
}

function arcs(length: number, up: number): number[] {
  const first = up * Math.max(46, 0.36 * length);
  return [first, 1.5 * first, -first, 2.1 * first, -1.5 * first, 0.6 * first];
}

function around(length: number, up: number): number[] {
  const step = up * Math.max(50, 0.22 * length);
  return [step, -step, 1.7 * step, -1.7 * step, 2.4 * step, -2.4 * step];
}

/** True if the curve with this control point comes near the box. */
function crosses(from: Box, to: Box, bend: number, box: Box): boolean {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length = Math.hypot(dx, dy) || 1;
  const control = { x: (from.x + to.x) / 2 - (dy / length) * bend, y: (from.y + to.y) / 2 + (dx / length) * bend };
  for (let k = 1; k < 24; k += 1) {
    const t = k / 24;
    const x = (1 - t) ** 2 * from.x + 2 * t * (1 - t) * control.x + t ** 2 * to.x;
    const y = (1 - t) ** 2 * from.y + 2 * t * (1 - t) * control.y + t ** 2 * to.y;
    if (Math.abs(x - box.x) < box.width / 2 + 5 && Math.abs(y - box.y) < box.height / 2 + 5) return true;
  }
  return false;
}
