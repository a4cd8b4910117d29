// What the drawing shows: the document, with what the server said of it.

import { computed, signal } from "@preact/signals";
import { number } from "../ui/numbers";
import { doc } from "../state/document";
import { checks, fit, match, question, tab, verdict } from "../state/work";
import { edgeKey } from "./model";
import type { Scene, Target } from "./canvas";

/** What the keyboard is at. */
export const focus = signal<Target | null>(null);
/** The path that is pointed at in a list: its edges. */
export const pointedAt = signal<Set<string>>(new Set());
export const showWeights = signal(true);

const ORDER = { blocked: 0, confounding: 1, causal: 2 } as const;

/** The kind of path that each edge belongs to; an edge of several has the one that matters most. */
const lit = computed(() => {
  const found = new Map<string, "causal" | "confounding" | "blocked">();
  if (question.value === "" || verdict.error !== null) return found;
  for (const path of verdict.value?.paths?.paths ?? []) {
    for (const edge of path.edges) {
      const key = edgeKey(edge);
      const before = found.get(key);
      if (before === undefined || ORDER[path.kind] > ORDER[before]) found.set(key, path.kind);
    }
  }
  return found;
});

const weights = computed(() => {
  const found = new Map<string, { text: string; known: boolean }>();
  for (const [text, known] of Object.entries(doc.value.graph.coefficients)) {
    const [a, kind, b] = text.split(/ (<->|->) /);
    if (a && b && (kind === "->" || kind === "<->")) found.set(edgeKey([a, kind, b]), { text: `= ${known}`, known: true });
  }
  if (!showWeights.value) return found;
  for (const { edge, est } of fit.value?.edges ?? []) {
    found.set(edgeKey(edge), est === null ? { text: "?", known: false } : { text: number(est, 3), known: true });
  }
  return found;
});

const contradicted = computed(() => {
  if (tab.value !== "checks" || checks.value === null) return [];
  const names = new Set(doc.value.graph.observed);
  return checks.value.contradicted.flatMap(({ between }) =>
    between !== null && names.has(between[0]) && names.has(between[1]) ? [{ between, text: "contradicted" }] : [],
  );
});

export const scene = computed((): Omit<Scene, "focus"> => {
  const d = doc.value;
  return {
    graph: d.graph,
    positions: d.positions,
    unit: d.unit,
    cause: d.cause,
    outcome: d.outcome,
    adjusted: d.adjusted,
    missing: match.value?.missing.map((m) => m.variable) ?? [],
    weights: weights.value,
    lit: lit.value,
    bright: pointedAt.value,
    contradicted: contradicted.value,
  };
});
