// Where variables stand: what the server lays out, what a dagitty text says, and a free spot for newcomers.

import type { Graph, Point } from "../api/types";
import { edges, nodes } from "../graph/model";
import { UNIT } from "./document";

export type Positions = Record<string, Point>;

export const at = (positions: Positions, name: string): Point | undefined =>
  Object.hasOwn(positions, name) ? positions[name] : undefined;

const ORIGIN: Point = [0, 0];
const tidy = (x: number): number => Math.round(x * 1000) / 1000;
export const point = (x: number, y: number): Point => [tidy(x), tidy(y)];

/** Pixels for one unit of a text's own positions, so that neighbours stand as far apart as in our own drawings. */
export function unitOf(positions: Positions): number {
  const points = Object.values(positions);
  const nearest = points.map((p) => Math.min(...points.filter((q) => q !== p).map((q) => distance(p, q)).filter((d) => d > 0)));
  const found = nearest.filter(Number.isFinite).sort((a, b) => a - b);
  const middle = found[Math.floor(found.length / 2)];
  return middle === undefined ? UNIT : (2.2 * UNIT) / middle;
}

const distance = ([a, b]: Point, [c, d]: Point): number => Math.hypot(a - c, b - d);

const SIDE = 84; // pixels between the edges of neighbouring columns
const CLOSE = 36; // ... where there are many
const WIDE = 1.45; // how much wider than high a drawing may be before its rows move apart

/** The server's layout, with columns as far apart as their names need, and rows apart where the drawing is flat. */
export function arranged(layout: Positions, width: (name: string) => number): Positions {
  const columns = new Map<number, number>();
  for (const [name, [x]] of Object.entries(layout)) columns.set(tidy(x), Math.max(columns.get(tidy(x)) ?? 0, width(name) / 2));
  const places = new Map<number, number>();
  const side = columns.size > 8 ? CLOSE : SIDE;
  let [before, right] = [0, 0];
  for (const [x, half] of [...columns].sort(([a], [b]) => a - b)) {
    right += places.size === 0 ? 0 : before + half + side;
    places.set(x, right / UNIT);
    before = half;
  }
  const ys = Object.values(layout).map(([, y]) => y);
  const height = Math.max(...ys) - Math.min(...ys);
  const stretch = height === 0 || columns.size < 7 ? 1 : Math.min(2.2, Math.max(1, right / UNIT / WIDE / height));
  return Object.fromEntries(Object.entries(layout).map(([name, [x, y]]) => [name, point(places.get(tidy(x)) ?? x, y * stretch)]));
}

/** Places for all: those that stand stay; newcomers go where the layout has them beside their neighbours, if it is free. */
export function withNewcomers(graph: Graph, standing: Positions, layout: Positions | null, unit: number): Positions {
  const placed = new Map<string, Point>();
  for (const v of nodes(graph)) {
    const p = at(standing, v);
    if (p !== undefined) placed.set(v, p);
  }
  const scale = UNIT / unit;
  for (const v of nodes(graph)) {
    if (placed.has(v)) continue;
    const wish = beside(graph, v, placed, layout, scale) ?? outside([...placed.values()], scale);
    placed.set(v, free(wish, [...placed.values()], scale));
  }
  return Object.fromEntries(placed);
}

function beside(graph: Graph, v: string, placed: Map<string, Point>, layout: Positions | null, scale: number): Point | null {
  const wish = layout === null ? undefined : at(layout, v);
  if (wish === undefined || layout === null) return null;
  const near = edges(graph).filter(([a, , b]) => a === v || b === v).map(([a, , b]) => (a === v ? b : a));
  const known = near.filter((u) => placed.has(u) && at(layout, u) !== undefined);
  const anchors = known.length > 0 ? known : [...placed.keys()].filter((u) => at(layout, u) !== undefined);
  if (anchors.length === 0) return placed.size === 0 ? point(wish[0] * scale, wish[1] * scale) : null;
  let [x, y] = [0, 0];
  for (const u of anchors) {
    const there = at(layout, u) ?? ORIGIN;
    const here = placed.get(u) ?? ORIGIN;
    x += here[0] + (wish[0] - there[0]) * scale;
    y += here[1] + (wish[1] - there[1]) * scale;
  }
  return point(x / anchors.length, y / anchors.length);
}

function outside(taken: Point[], scale: number): Point {
  if (taken.length === 0) return [0, 0];
  const right = Math.max(...taken.map(([x]) => x));
  const top = Math.min(...taken.map(([, y]) => y));
  return point(right + 2.4 * scale, top);
}

/** The wish, or the nearest spot around it that nobody stands on. */
export function free(wish: Point, taken: Point[], scale: number): Point {
  const clear = ([x, y]: Point): boolean => taken.every(([a, b]) => Math.abs(a - x) > 1.7 * scale || Math.abs(b - y) > 0.9 * scale);
  for (let ring = 0; ring < 12; ring += 1) {
    for (const [dx, dy] of [[0, 0], [0, 1], [0, -1], [1, 0], [-1, 0], [1, 1], [1, -1], [-1, 1], [-1, -1]] as const) {
      const spot = point(wish[0] + dx * ring * 1.2 * scale, wish[1] + dy * ring * 1.2 * scale);
      if (clear(spot)) return spot;
    }
  }
  return wish;
}
