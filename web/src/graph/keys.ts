// The drawing by keyboard alone: arrow keys walk, letters act. Everything that happens is said.

import type { Edge, Point } from "../api/types";
import { doc } from "../state/document";
import { layOut } from "../state/reading";
import { say } from "../ui/say";
import * as act from "./actions";
import type { Canvas, Target } from "./canvas";
import * as model from "./model";
import { focus } from "./scene";

export interface Hands {
  canvas: Canvas;
  name(hidden: boolean): void;
  rename(name: string): void;
  menu(target: Target): void;
  linking: { from: string; kind: "->" | "<->" } | null;
  setLinking(link: { from: string; kind: "->" | "<->" } | null): void;
}

/** What a screen reader hears of a variable. */
export function describe(name: string): string {
  const { graph, cause, outcome, adjusted } = doc.peek();
  const list = (names: string[]): string => names.join(", ");
  const parents = model.edges(graph).filter(([, kind, b]) => kind === "->" && b === name).map(([a]) => a);
  const kids = model.edges(graph).filter(([a, kind]) => kind === "->" && a === name).map(([, , b]) => b);
  const kin = graph.bidirected.filter((pair) => pair.includes(name)).map(([a, b]) => (a === name ? b : a));
  return [
    name,
    model.isHidden(graph, name) ? "hidden" : "",
    name === cause ? "the cause" : name === outcome ? "the outcome" : adjusted.includes(name) ? "adjusted for" : "",
    parents.length > 0 ? `caused by ${list(parents)}` : "",
    kids.length > 0 ? `acts on ${list(kids)}` : "",
    kin.length > 0 ? `shares a hidden cause with ${list(kin)}` : "",
    parents.length + kids.length + kin.length === 0 ? "joined to nothing" : "",
  ].filter(Boolean).join("; ");
}

const focused = (): string | null => {
  const here = focus.peek();
  return here?.kind === "node" && model.has(doc.peek().graph, here.name) ? here.name : null;
};

export function look(name: string, canvas: Canvas): void {
  focus.value = { kind: "node", name };
  canvas.reveal(name);
  say(describe(name));
}

const STEPS: Record<string, Point> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const stepOf = (key: string): Point => STEPS[key] ?? [0, 0];

/** The nearest variable in a direction; without one in focus, the first. */
function neighbour(canvas: Canvas, key: string): string | null {
  const all = model.nodes(doc.peek().graph);
  const here = focused();
  const from = here === null ? null : canvas.boxOf(here);
  if (from === null) return all[0] ?? null;
  const [dx, dy] = stepOf(key);
  let best: { name: string; cost: number } | null = null;
  for (const name of all) {
    const to = name === here ? null : canvas.boxOf(name);
    if (to === null) continue;
    const [x, y] = [to.x - from.x, to.y - from.y];
    const along = x * dx + y * dy;
    const across = Math.abs(x * dy) + Math.abs(y * dx);
    const cost = along + 2 * across;
    if (along > 1 && along >= across * 0.4 && (best === null || cost < best.cost)) best = { name, cost };
  }
  return best?.name ?? null;
}

function walkEdges(canvas: Canvas): void {
  const here = focus.peek();
  const all = model.edges(doc.peek().graph);
  const name = here?.kind === "edge" ? null : focused();
  const near = name === null ? all : all.filter(([a, , b]) => a === name || b === name);
  const at = here?.kind === "edge" ? all.findIndex((e) => model.edgeKey(e) === model.edgeKey(here.edge)) : -1;
  const next: Edge | undefined = here?.kind === "edge" ? all[(at + 1) % all.length] : near[0];
  if (next === undefined) return say("There is no edge here.");
  focus.value = { kind: "edge", edge: next };
  canvas.reveal(next[0]);
  say(`Edge ${model.edgeText(next)}`);
}

function nudge(canvas: Canvas, name: string, key: string): void {
  const step = 12;
  const node = canvas.cy.nodes().filter((n) => n.data("name") === name);
  const { x, y } = node.position();
  const [dx, dy] = stepOf(key);
  node.position({ x: x + step * dx, y: y + step * dy });
  node.emit("dragfree");
}

/** True if the key meant something. */
export function pressed(event: KeyboardEvent, hands: Hands): boolean {
  const { canvas } = hands;
  const name = focused();
  const here = focus.peek();
  const isArrow = event.key.startsWith("Arrow");
  if (isArrow && event.altKey && name !== null) nudge(canvas, name, event.key);
  else if (isArrow) {
    const next = neighbour(canvas, event.key);
    if (next === null) say(model.nodes(doc.peek().graph).length === 0 ? "The graph is empty. Press N for a variable." : "Nothing further this way.");
    else look(next, canvas);
    if (next !== null && hands.linking !== null) canvas.mark(next);
  } else if (event.ctrlKey || event.metaKey || event.altKey) {
    if (event.key.toLowerCase() !== "a" || event.altKey) return false;
    canvas.select(model.nodes(doc.peek().graph));
  } else if (hands.linking !== null && (event.key === "Enter" || event.key === " ")) {
    const { from, kind } = hands.linking;
    hands.setLinking(null);
    canvas.mark(null);
    if (name !== null) act.connect([from, kind, name]);
  } else if (event.key === "Escape") {
    hands.setLinking(null);
    canvas.mark(null);
    canvas.select([]);
    act.tool.value = "move";
  } else return letter(event, hands, name, here);
  return true;
}

function letter(event: KeyboardEvent, hands: Hands, name: string | null, here: Target | null): boolean {
  const { canvas } = hands;
  const withName = (f: (v: string) => void): void => (name === null ? say("Choose a variable first, by the arrow keys.") : f(name));
  const link = (kind: "->" | "<->") => (from: string): void => {
    hands.setLinking({ from, kind });
    say(`${kind === "->" ? "Arrow" : "Hidden common cause"} from ${from}: arrow keys choose the other end, Enter draws it.`);
  };
  const press: Record<string, () => void> = {
    n: () => hands.name(event.shiftKey),
    a: () => withName(link("->")),
    h: () => withName(link("<->")),
    e: () => walkEdges(canvas),
    enter: () => withName(hands.rename),
    f2: () => withName(hands.rename),
    delete: () => removeHere(canvas, here),
    backspace: () => removeHere(canvas, here),
    c: () => withName(act.setCause),
    o: () => withName(act.setOutcome),
    j: () => withName(act.toggleAdjusted),
    u: () => withName((v) => void act.toggleHidden(v)),
    r: () => here?.kind === "edge" && void act.reverse(here.edge),
    l: () => void layOut(),
    f: () => canvas.fit(),
    "+": () => canvas.zoomBy(1.2),
    "=": () => canvas.zoomBy(1.2),
    "-": () => canvas.zoomBy(1 / 1.2),
    m: () => here !== null && hands.menu(here),
    contextmenu: () => here !== null && hands.menu(here),
    f10: () => event.shiftKey && here !== null && hands.menu(here),
  };
  const found = press[event.key.toLowerCase()];
  found?.();
  return found !== undefined;
}

function removeHere(canvas: Canvas, here: Target | null): void {
  const chosen = canvas.selected();
  if (chosen.names.length + chosen.edges.length > 0) act.remove(chosen.names, chosen.edges);
  else if (here?.kind === "node") act.remove([here.name], []);
  else if (here?.kind === "edge") act.remove([], [here.edge]);
  focus.value = null;
}
