// The graph in words: every variable with its part in the question, every edge, and buttons for all that the menu does.

import type { JSX } from "preact";
import { doc } from "../state/document";
import { MenuButton } from "../ui/Menu";
import { say } from "../ui/say";
import { drawing } from "./Drawing";
import { describe } from "./keys";
import { menuOf } from "./menu";
import { edgeKey, edges, edgeText, nodes } from "./model";
import { focus } from "./scene";

export function WordList(): JSX.Element {
  const { graph } = doc.value;
  const make = { rename: (name: string) => drawing.rename(name), create: () => say("Double-click in the drawing, or press N in it.") };
  if (nodes(graph).length === 0) return <p class="soft pad">Nothing is drawn yet.</p>;
  return (
    <div class="word-list">
      <ul aria-label="Variables">
        {nodes(graph).map((name) => (
          <li key={name}>
            <MenuButton kind="row" label={`What to do with ${name}`} items={() => menuOf({ kind: "node", name }, make)}>
              <span onMouseEnter={() => (focus.value = { kind: "node", name })}>{describe(name)}</span>
            </MenuButton>
          </li>
        ))}
      </ul>
      <ul aria-label="Edges">
        {edges(graph).map((edge) => (
          <li key={edgeKey(edge)}>
            <MenuButton kind="row" label={`What to do with ${edgeText(edge)}`} items={() => menuOf({ kind: "edge", edge }, make)}>
              <span onMouseEnter={() => (focus.value = { kind: "edge", edge })}>{edgeText(edge)}</span>
            </MenuButton>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** What a screen reader is told of the whole drawing. */
export function Summary(): JSX.Element {
  const { graph } = doc.value;
  const arrows = graph.directed.length;
  const arcs = graph.bidirected.length + Object.keys(graph.latents).length;
  return (
    <p id="graph-words" class="unseen">
      {nodes(graph).length} variables, {arrows} arrows, {arcs} hidden common causes{graph.hidden.length > 0 ? `, ${graph.hidden.length} hidden with causes` : ""}. {edges(graph).slice(0, 40).map(edgeText).join("; ")}
    </p>
  );
}
