// Where to begin: the last drawing, an example with data, or a known graph.

import type { JSX } from "preact";
import { change, fitted, lastDrawing } from "../state/document";
import { openGraph } from "../state/reading";
import { about, takeBundled } from "../state/work";
import { MenuButton, type Entry } from "../ui/Menu";
import { nodes } from "./model";

export function openExample(name: string): void {
  const found = about.peek()?.datasets.find((d) => d.name === name);
  if (found === undefined) return;
  void openGraph(found.text, found.question).then(() => takeBundled(name));
}

export function exampleMenu(): Entry[] {
  const found = about.peek();
  if (found === null) return [{ heading: "The server does not answer yet" }];
  return [
    { heading: "With data" },
    ...found.datasets.map((d) => ({ label: d.title || d.name, title: d.description, act: () => openExample(d.name) })),
    { heading: "Known graphs" },
    ...found.catalog.map((c) => ({ label: c.title || c.name, title: c.description, act: () => void openGraph(c.text, c.questions[0] ?? null) })),
  ];
}

export function Examples(): JSX.Element {
  const last = lastDrawing();
  return (
    <div class="examples">
      {last !== null && (
        <button
          type="button"
          class="button"
          onClick={() => {
            change(last);
            fitted.value += 1;
          }}
        >
          Continue with the last drawing ({nodes(last.graph).length} variables)
        </button>
      )}
      {about.value?.datasets.some((d) => d.name === "front_door") && (
        <button type="button" class="button" onClick={() => openExample("front_door")}>Try an example with data</button>
      )}
      <MenuButton label="Examples" items={exampleMenu}>More examples</MenuButton>
    </div>
  );
}
