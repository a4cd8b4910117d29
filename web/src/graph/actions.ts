// What can be done to the drawing, each one step that undo takes back.

import { signal } from "@preact/signals";
import type { Change, Edge, Point } from "../api/types";
import { ask, change, doc, renamed, renamedAll } from "../state/document";
import { at, free } from "../state/places";
import { UNIT } from "../state/document";
import { attempt, say } from "../ui/say";
import * as model from "./model";

export type Tool = "move" | "arrow" | "hidden" | "ask";
export const tool = signal<Tool>("move");

export function create(name: string, where: Point, hidden: boolean, link?: { from: string; kind: "->" | "<->" }): boolean {
  return attempt(() => {
    const d = doc.peek();
    let graph = hidden ? model.addHidden(d.graph, name) : model.addVariable(d.graph, name);
    if (link !== undefined) graph = model.addEdge(graph, [link.from, link.kind, name.trim()]);
    change({ graph, positions: { ...d.positions, [name.trim()]: where }, auto: false });
    say(`${hidden ? "Hidden variable" : "Variable"} ${name.trim()} added`);
  });
}

/** A free spot for a variable made by keyboard: to the right of the one in focus, else in the middle of the view. */
export function spotBeside(name: string | null, middle: Point): Point {
  const d = doc.peek();
  const scale = UNIT / d.unit;
  const from = name === null ? undefined : at(d.positions, name);
  const wish: Point = from === undefined ? middle : [from[0] + 2.6 * scale, from[1]];
  return free(wish, Object.values(d.positions), scale);
}

export const rename = (from: string, to: string): boolean => attempt(() => renamed(from, to));

export const renameAll = (names: [string, string][]): boolean => attempt(() => renamedAll(names));

export function connect(edge: Edge): boolean {
  return attempt(() => {
    change({ graph: model.addEdge(doc.peek().graph, edge) });
    say(edge[1] === "->" ? `Arrow from ${edge[0]} to ${edge[2]}` : `Hidden common cause of ${edge[0]} and ${edge[2]}`);
  });
}

export function remove(names: string[], edges: Edge[]): void {
  if (names.length + edges.length === 0) return;
  let { graph } = doc.peek();
  for (const edge of edges) graph = model.removeEdge(graph, edge);
  for (const name of names) graph = model.removeNode(graph, name);
  const d = doc.peek();
  const lost = [d.cause, d.outcome].some((v) => v !== null && names.includes(v));
  change({ graph, ...(lost ? { question: "" } : {}) });
  say(`Removed ${[...names, ...edges.map(model.edgeText)].join(", ")}`);
}

export function setCause(name: string): void {
  const d = doc.peek();
  if (!model.canBeAsked(d.graph, name)) return say(`${name} is hidden and has no causes: a question cannot be about it.`, "bad");
  ask(name, d.outcome === name ? null : d.outcome);
  say(`${name} is the cause`);
}

export function setOutcome(name: string): void {
  const d = doc.peek();
  if (!model.canBeAsked(d.graph, name)) return say(`${name} is hidden and has no causes: a question cannot be about it.`, "bad");
  ask(d.cause === name ? null : d.cause, name);
  say(`${name} is the outcome`);
}

export function toggleAdjusted(name: string): void {
  const d = doc.peek();
  if (model.isHidden(d.graph, name)) return say(`${name} is hidden: it cannot be adjusted for.`, "bad");
  const on = !d.adjusted.includes(name);
  change({ adjusted: on ? [...d.adjusted, name] : d.adjusted.filter((v) => v !== name) });
  say(on ? `Adjusted for ${name}` : `No longer adjusted for ${name}`);
}

export const toggleHidden = (name: string): boolean => attempt(() => change({ graph: model.toggleHidden(doc.peek().graph, name) }));
export const reverse = (edge: Edge): boolean => attempt(() => change({ graph: model.reverse(doc.peek().graph, edge) }));
export const exchange = (edge: Edge): boolean => attempt(() => change({ graph: model.exchange(doc.peek().graph, edge) }));

/** Tries what would help. */
export function tryChange(suggested: Change, value?: number): void {
  const fixed = suggested.edits.find((e) => e.op === "fix edge")?.edge;
  const graph = { ...suggested.graph };
  if (fixed && value !== undefined) graph.coefficients = { ...graph.coefficients, [model.edgeText(fixed)]: value };
  change({ graph, question: suggested.question });
  say(`Tried: ${suggested.text}. Undo takes it back.`);
}

/** The click that picks cause, then outcome. */
export function pick(name: string): void {
  const d = doc.peek();
  if (d.cause === null || (d.outcome !== null && d.cause !== null)) {
    if (!model.canBeAsked(d.graph, name)) return setCause(name);
    ask(name, null);
    say(`${name} is the cause. Now click the outcome.`);
  } else if (name !== d.cause) {
    setOutcome(name);
    tool.value = "move";
  }
}
