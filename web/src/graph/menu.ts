// The menu of a variable, an edge, or the ground.

import type { Point } from "../api/types";
import { doc } from "../state/document";
import { layOut } from "../state/reading";
import type { Entry } from "../ui/Menu";
import * as act from "./actions";
import type { Target } from "./canvas";
import { canBeAsked, isHidden } from "./model";

interface Makes {
  rename(name: string): void;
  create(where: Point, hidden: boolean): void;
}

export function menuOf(target: Target, make: Makes): Entry[] {
  if (target.kind === "edge") return edgeMenu(target.edge);
  if (target.kind === "ground") {
    return [
      { label: "New variable", hint: "N", act: () => make.create(target.at, false) },
      { label: "New hidden variable", hint: "⇧N", act: () => make.create(target.at, true) },
      "line",
      { label: "Lay out", hint: "L", act: () => void layOut() },
    ];
  }
  const { name } = target;
  const d = doc.peek();
  const hidden = isHidden(d.graph, name);
  const mute = !canBeAsked(d.graph, name);
  return [
    { label: "Cause", hint: "C", checked: d.cause === name, disabled: mute, act: () => act.setCause(name) },
    { label: "Outcome", hint: "O", checked: d.outcome === name, disabled: mute, act: () => act.setOutcome(name) },
    { label: "Adjusted for", hint: "J", checked: d.adjusted.includes(name), disabled: hidden, act: () => act.toggleAdjusted(name) },
    { label: "Hidden", hint: "U", checked: hidden, act: () => void act.toggleHidden(name) },
    "line",
    { label: "Rename", hint: "Enter", act: () => make.rename(name) },
    { label: "Remove", hint: "Del", danger: true, act: () => act.remove([name], []) },
  ];
}

function edgeMenu(edge: [string, "->" | "<->", string]): Entry[] {
  const [, kind] = edge;
  return [
    ...(kind === "->" ? [{ label: "Turn round", hint: "R", act: () => void act.reverse(edge) }] : []),
    { label: kind === "->" ? "Make it a hidden common cause" : "Make it an arrow", act: () => void act.exchange(edge) },
    "line",
    { label: "Remove", hint: "Del", danger: true, act: () => act.remove([], [edge]) },
  ];
}
