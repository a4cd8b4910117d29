// A graph as the page holds it: plain values, and functions that give a changed one or say why not.

import type { Edge, Graph, Pair } from "../api/types";

export const EMPTY: Graph = { observed: [], directed: [], bidirected: [], latents: {}, coefficients: {}, hidden: [], variances: {}, intercepts: {}, definitions: {} };

/** A change that makes no sense, in a sentence for people. */
export class Refused extends Error {}

export const hidden = (g: Graph): string[] => [...Object.keys(g.latents), ...g.hidden];
export const nodes = (g: Graph): string[] => [...g.observed, ...hidden(g)];
export const has = (g: Graph, name: string): boolean => g.observed.includes(name) || isHidden(g, name);
export const isHidden = (g: Graph, name: string): boolean => Object.hasOwn(g.latents, name) || g.hidden.includes(name);
/** What a question can be about: all but hidden roots, which have no equation of their own. */
export const asked = (g: Graph): string[] => [...g.observed, ...g.hidden];
export const canBeAsked = (g: Graph, name: string): boolean => g.observed.includes(name) || g.hidden.includes(name);
export const edgeText = ([a, kind, b]: Edge): string => `${a} ${kind} ${b}`;
export const edgeKey = ([a, kind, b]: Edge): string => JSON.stringify(kind === "<->" && b < a ? [b, kind, a] : [a, kind, b]);

export function edges(g: Graph): Edge[] {
  return [
    ...g.directed.map(([a, b]): Edge => [a, "->", b]),
    ...Object.entries(g.latents).flatMap(([u, kids]) => kids.map((v): Edge => [u, "->", v])),
    ...g.bidirected.map(([a, b]): Edge => [a, "<->", b]),
  ];
}

/**
 * Hidden variables where the server has them: roots with their effects in `latents`; those that have causes, covary, or
 * cause other hidden ones in `hidden`, with their arrows among all arrows.
 */
function sorted(g: Graph): Graph {
  const unseen = hidden(g);
  if (unseen.length === 0) return g;
  const arrows = edges(g).filter(([, kind]) => kind === "->").map(([a, , b]): Pair => [a, b]);
  const stirred = new Set([
    ...arrows.filter(([, b]) => unseen.includes(b)).flat(),
    ...g.bidirected.flat(),
    ...Object.keys(g.variances),
    ...Object.keys(g.intercepts),
  ]);
  const roots = unseen.filter((u) => !stirred.has(u));
  return {
    ...g,
    directed: arrows.filter(([a]) => !roots.includes(a)),
    latents: Object.fromEntries(roots.map((u) => [u, arrows.filter(([a]) => a === u).map(([, b]) => b)])),
    hidden: unseen.filter((u) => stirred.has(u)),
  };
}

/** The name as a question or a graph writes it: bare if it can be, else in quotes. */
export function quoted(name: string): string {
  if (/^[\p{L}_][\p{L}\p{N}_.]*$/u.test(name)) return name;
  const escaped = name.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n").replaceAll("\r", "\\r");
  return `"${escaped}"`;
}

export function checkName(g: Graph, name: string, own?: string): string {
  const found = name.trim();
  if (found === "") throw new Refused("A variable needs a name.");
  if (found.includes("->") || found.includes("<-")) throw new Refused("A name must not hold an arrow.");
  if (found !== own && has(g, found)) throw new Refused(`There is a variable ${found} already.`);
  return found;
}

export function freshName(g: Graph, stem = "x"): string {
  for (let k = 1; ; k += 1) if (!has(g, `${stem}${k}`)) return `${stem}${k}`;
}

export function addVariable(g: Graph, name: string): Graph {
  return { ...g, observed: [...g.observed, checkName(g, name)] };
}

export function addHidden(g: Graph, name: string): Graph {
  return { ...g, latents: { ...g.latents, [checkName(g, name)]: [] } };
}

export function addEdge(g: Graph, [a, kind, b]: Edge): Graph {
  if (a === b) throw new Refused("An edge joins two different variables.");
  if (joined(g, [a, kind, b])) throw new Refused(`${edgeText([a, kind, b])} is there already.`);
  if (kind === "<->") return sorted({ ...g, bidirected: [...g.bidirected, [a, b]] });
  if (reaches(g, b, a)) throw new Refused(`${a} -> ${b} would close a circle: ${b} acts on ${a} already.`);
  return sorted({ ...g, directed: [...g.directed, [a, b]] });
}

export function joined(g: Graph, edge: Edge): boolean {
  const key = edgeKey(edge);
  return edges(g).some((other) => edgeKey(other) === key);
}

function reaches(g: Graph, from: string, to: string): boolean {
  const seen = new Set([from]);
  const queue = [from];
  for (let v = queue.pop(); v !== undefined; v = queue.pop()) {
    if (v === to) return true;
    for (const [a, kind, b] of edges(g)) {
      if (kind === "->" && a === v && !seen.has(b)) {
        seen.add(b);
        queue.push(b);
      }
    }
  }
  return false;
}

export function removeEdge(g: Graph, edge: Edge): Graph {
  const key = edgeKey(edge);
  const keep = (kind: "->" | "<->") => ([a, b]: Pair): boolean => edgeKey([a, kind, b]) !== key;
  return sorted({
    ...g,
    directed: g.directed.filter(keep("->")),
    bidirected: g.bidirected.filter(keep("<->")),
    latents: Object.fromEntries(Object.entries(g.latents).map(([u, kids]) => [u, kids.filter((v) => keep("->")([u, v]))])),
    coefficients: Object.fromEntries(Object.entries(g.coefficients).filter(([text]) => text !== edgeText(edge))),
  });
}

export function removeNode(g: Graph, name: string): Graph {
  const gone = edges(g).filter(([a, , b]) => a === name || b === name);
  const bare = gone.reduce(removeEdge, g);
  const latents = { ...bare.latents };
  delete latents[name];
  const { [name]: _spread, ...variances } = bare.variances;
  const { [name]: _level, ...intercepts } = bare.intercepts;
  const other = (v: string): boolean => v !== name;
  return { ...bare, observed: bare.observed.filter(other), hidden: bare.hidden.filter(other), latents, variances, intercepts };
}

export function rename(g: Graph, from: string, to: string): Graph {
  const name = checkName(g, to, from);
  const now = (v: string): string => (v === from ? name : v);
  const pair = ([a, b]: Pair): Pair => [now(a), now(b)];
  const coefficients = { ...g.coefficients };
  for (const [a, kind, b] of edges(g)) {
    const text = edgeText([a, kind, b]);
    const known = g.coefficients[text];
    if (known === undefined) continue;
    delete coefficients[text];
    coefficients[edgeText([now(a), kind, now(b)])] = known;
  }
  return {
    observed: g.observed.map(now),
    directed: g.directed.map(pair),
    bidirected: g.bidirected.map(pair),
    latents: Object.fromEntries(Object.entries(g.latents).map(([u, kids]) => [now(u), kids.map(now)])),
    coefficients,
    hidden: g.hidden.map(now),
    variances: Object.fromEntries(Object.entries(g.variances).map(([v, x]) => [now(v), x])),
    intercepts: Object.fromEntries(Object.entries(g.intercepts).map(([v, x]) => [now(v), x])),
    definitions: g.definitions,
  };
}

/** Hidden becomes observed, or the other way round. */
export function toggleHidden(g: Graph, name: string): Graph {
  if (isHidden(g, name)) {
    const { [name]: kids = [], ...latents } = g.latents;
    const directed = [...g.directed, ...kids.map((v): Pair => [name, v])];
    return sorted({ ...g, observed: [...g.observed, name], latents, hidden: g.hidden.filter((v) => v !== name), directed });
  }
  return sorted({ ...g, observed: g.observed.filter((v) => v !== name), hidden: [...g.hidden, name] });
}

export function reverse(g: Graph, [a, kind, b]: Edge): Graph {
  return addEdge(removeEdge(g, [a, kind, b]), [b, kind, a]);
}

/** An arrow becomes a hidden common cause of its ends, and the other way round. */
export function exchange(g: Graph, [a, kind, b]: Edge): Graph {
  return addEdge(removeEdge(g, [a, kind, b]), [a, kind === "->" ? "<->" : "->", b]);
}
