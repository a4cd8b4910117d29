// A graph as the page holds it: plain values, and functions that give a changed one or say why not.

import type { Edge, Graph, Pair } from "../api/types";

export const EMPTY: Graph = { observed: [], directed: [], bidirected: [], latents: {}, coefficients: {} };

/** A change that makes no sense, in a sentence for people. */
export class Refused extends Error {}

export const hidden = (g: Graph): string[] => Object.keys(g.latents);
export const nodes = (g: Graph): string[] => [...g.observed, ...hidden(g)];
export const has = (g: Graph, name: string): boolean => g.observed.includes(name) || Object.hasOwn(g.latents, name);
export const isHidden = (g: Graph, name: string): boolean => Object.hasOwn(g.latents, name);
export const edgeText = ([a, kind, b]: Edge): string => `${a} ${kind} ${b}`;
export const edgeKey = ([a, kind, b]: Edge): string => JSON.stringify(kind === "<->" && b < a ? [b, kind, a] : [a, kind, b]);

export function edges(g: Graph): Edge[] {
  return [
    ...g.directed.map(([a, b]): Edge => [a, "->", b]),
    ...Object.entries(g.latents).flatMap(([u, kids]) => kids.map((v): Edge => [u, "->", v])),
    ...g.bidirected.map(([a, b]): Edge => [a, "<->", b]),
  ];
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
  if (kind === "<->") {
    const inner = [a, b].find((v) => isHidden(g, v));
    if (inner !== undefined) throw new Refused(`${inner} is hidden itself; draw an arrow out of it instead.`);
    return { ...g, bidirected: [...g.bidirected, [a, b]] };
  }
  if (isHidden(g, b)) throw new Refused(`${b} is hidden: it has effects and no causes here.`);
  if (isHidden(g, a)) return { ...g, latents: { ...g.latents, [a]: [...(g.latents[a] ?? []), b] } };
  if (reaches(g, b, a)) throw new Refused(`${a} -> ${b} would close a circle: ${b} acts on ${a} already.`);
  return { ...g, directed: [...g.directed, [a, b]] };
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
    for (const [a, b] of g.directed) {
      if (a === v && !seen.has(b)) {
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
  return {
    ...g,
    directed: g.directed.filter(keep("->")),
    bidirected: g.bidirected.filter(keep("<->")),
    latents: Object.fromEntries(Object.entries(g.latents).map(([u, kids]) => [u, kids.filter((v) => keep("->")([u, v]))])),
    coefficients: Object.fromEntries(Object.entries(g.coefficients).filter(([text]) => text !== edgeText(edge))),
  };
}

export function removeNode(g: Graph, name: string): Graph {
  const gone = edges(g).filter(([a, , b]) => a === name || b === name);
  const bare = gone.reduce(removeEdge, g);
  const latents = { ...bare.latents };
  delete latents[name];
  return { ...bare, observed: bare.observed.filter((v) => v !== name), latents };
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
  };
}

/** Hidden becomes observed, or the other way round. */
export function toggleHidden(g: Graph, name: string): Graph {
  if (isHidden(g, name)) {
    const { [name]: kids = [], ...others } = g.latents;
    return { ...g, observed: [...g.observed, name], latents: others, directed: [...g.directed, ...kids.map((v): Pair => [name, v])] };
  }
  if (g.directed.some(([, b]) => b === name)) throw new Refused(`${name} has causes; only a variable without causes can be hidden.`);
  if (g.bidirected.some((pair) => pair.includes(name))) {
    throw new Refused(`${name} shares a hidden cause with another variable; remove that edge first.`);
  }
  const kids = g.directed.filter(([a]) => a === name).map(([, b]) => b);
  return {
    ...g,
    observed: g.observed.filter((v) => v !== name),
    directed: g.directed.filter(([a]) => a !== name),
    latents: { ...g.latents, [name]: kids },
  };
}

export function reverse(g: Graph, [a, kind, b]: Edge): Graph {
  return addEdge(removeEdge(g, [a, kind, b]), [b, kind, a]);
}

/** An arrow becomes a hidden common cause of its ends, and the other way round. */
export function exchange(g: Graph, [a, kind, b]: Edge): Graph {
  return addEdge(removeEdge(g, [a, kind, b]), [a, kind === "->" ? "<->" : "->", b]);
}
