// What the user made: graph, places, question. Every change is a step that can be undone; nothing is lost on reload.

import { batch, computed, signal } from "@preact/signals";
import type { Graph, Notation, Point } from "../api/types";
import { canBeAsked, EMPTY, nodes, quoted, rename } from "../graph/model";

export interface Document {
  graph: Graph;
  /** In units of their own; `unit` is how many pixels one of them is. */
  positions: Record<string, Point>;
  unit: number;
  /** True until something is placed by hand: places are then chosen anew when the graph changes. */
  auto: boolean;
  cause: string | null;
  outcome: string | null;
  adjusted: string[];
  question: string;
}

export const UNIT = 62;

export const BLANK: Document = {
  graph: EMPTY,
  positions: {},
  unit: UNIT,
  auto: true,
  cause: null,
  outcome: null,
  adjusted: [],
  question: "",
};

const KEY = "halftrek document";
const LAST = "halftrek last document";
const STEPS = 200;

interface Step {
  document: Document;
  tag: string;
  at: number;
}

export const doc = signal<Document>(kept(sessionStorage, KEY) ?? BLANK);
export const notation = signal<Notation>((sessionStorage.getItem("halftrek notation") as Notation | null) ?? "arrows");
const past = signal<Step[]>([]);
const future = signal<Document[]>([]);
export const canUndo = computed(() => past.value.length > 0);
export const canRedo = computed(() => future.value.length > 0);
export const isEmpty = computed(() => nodes(doc.value.graph).length === 0);
/** Rises when the graph changes by anything but its text: a text with an error then gives way. */
export const redrawn = signal(0);
/** Rises when the whole drawing should be shown anew, as after opening another graph. */
export const fitted = signal(0);

/** One step. Steps with the same tag that follow each other quickly are one. */
export function change(next: Partial<Document>, tag = ""): void {
  const before = doc.peek();
  const after = consistent({ ...before, ...next });
  if (same(before, after)) return;
  batch(() => {
    const steps = past.peek();
    const last = steps.at(-1);
    const now = performance.now();
    if (tag !== "" && last?.tag === tag && now - last.at < 1200) {
      past.value = [...steps.slice(0, -1), { ...last, at: now }];
    } else {
      past.value = [...steps, { document: before, tag, at: now }].slice(-STEPS);
    }
    future.value = [];
    doc.value = after;
    if (tag !== "text" && before.graph !== after.graph) redrawn.value += 1;
  });
  keep();
}

/** Like `change`, for what follows by itself (places from the server) and is no step of the user. */
export function settle(next: Partial<Document>): void {
  const after = { ...doc.peek(), ...next };
  if (same(doc.peek(), after)) return;
  doc.value = after;
  keep();
}

export function undo(): void {
  const steps = past.peek();
  const last = steps.at(-1);
  if (last === undefined) return;
  batch(() => {
    future.value = [...future.peek(), doc.peek()];
    past.value = steps.slice(0, -1);
    doc.value = last.document;
    redrawn.value += 1;
  });
  keep();
}

export function redo(): void {
  const next = future.peek().at(-1);
  if (next === undefined) return;
  batch(() => {
    past.value = [...past.peek(), { document: doc.peek(), tag: "", at: 0 }];
    future.value = future.peek().slice(0, -1);
    doc.value = next;
    redrawn.value += 1;
  });
  keep();
}

/** Roles and the question follow the graph: what is gone, or hidden without causes, is no cause. */
function consistent(d: Document): Document {
  const seen = (v: string | null): string | null => (v !== null && canBeAsked(d.graph, v) ? v : null);
  const names = new Set(nodes(d.graph));
  const positions = Object.fromEntries(Object.entries(d.positions).filter(([v]) => names.has(v)));
  return { ...d, positions, cause: seen(d.cause), outcome: seen(d.outcome), adjusted: d.adjusted.filter((v) => d.graph.observed.includes(v)) };
}

const same = (a: Document, b: Document): boolean => JSON.stringify(a) === JSON.stringify(b);

export const effectText = (cause: string, outcome: string): string => `${quoted(cause)} ~> ${quoted(outcome)}`;

/** The question that cause and outcome ask, where the user has not written another one. */
export function ask(cause: string | null, outcome: string | null): void {
  const question = cause !== null && outcome !== null ? effectText(cause, outcome) : "";
  change({ cause, outcome, question, adjusted: doc.peek().adjusted.filter((v) => v !== cause && v !== outcome) });
}

export const renamed = (from: string, to: string): void => change(renamedIn(doc.peek(), from, to));

/** Several new names, as one step. */
export const renamedAll = (names: [string, string][]): void => change(names.reduce((d, [from, to]) => renamedIn(d, from, to), doc.peek()));

function renamedIn(d: Document, from: string, to: string): Document {
  const graph = rename(d.graph, from, to);
  const name = to.trim();
  const now = (v: string | null): string | null => (v === from ? name : v);
  const positions = Object.fromEntries(Object.entries(d.positions).map(([v, p]) => [v === from ? name : v, p]));
  const question = requoted(d.question, from, name);
  return { ...d, graph, positions, question, cause: now(d.cause), outcome: now(d.outcome), adjusted: d.adjusted.map((v) => now(v) ?? v) };
}

/** The question with one name in place of another; names are whole words or stand in quotes. */
function requoted(question: string, from: string, to: string): string {
  return question.replace(/"(?:[^"\\]|\\.)*"|[\p{L}_][\p{L}\p{N}_.]*/gu, (word) => (word === from || word === quoted(from) ? quoted(to) : word));
}

/** The drawing that any tab of this browser had last, for a tab that begins empty. */
export const lastDrawing = (): Document | null => kept(localStorage, LAST);

function kept(storage: Storage, key: string): Document | null {
  try {
    const found = JSON.parse(storage.getItem(key) ?? "null") as Document | null;
    return found === null ? null : { ...BLANK, ...found, graph: { ...EMPTY, ...found.graph } };
  } catch {
    return null;
  }
}

function keep(): void {
  const text = JSON.stringify(doc.peek());
  try {
    sessionStorage.setItem(KEY, text);
    if (nodes(doc.peek().graph).length > 0) localStorage.setItem(LAST, text);
  } catch {
    // A full store loses the copy for reloads; the drawing itself stays.
  }
}

export function chooseNotation(next: Notation): void {
  notation.value = next;
  sessionStorage.setItem("halftrek notation", next);
}
