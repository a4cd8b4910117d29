// The first part: the drawing with its tools, and the text under it.

import type { JSX } from "preact";
import { canRedo, canUndo, isEmpty, redo, undo } from "../state/document";
import { layOut } from "../state/reading";
import { fit } from "../state/work";
import { IconButton, type IconName } from "../ui/icons";
import { tool, type Tool } from "./actions";
import { Drawing, drawing } from "./Drawing";
import { Examples } from "./Examples";
import { showWeights } from "./scene";
import { TextPanel } from "./TextPanel";
import { Summary } from "./WordList";

const TOOLS: { id: Tool; icon: IconName; label: string }[] = [
  { id: "move", icon: "move", label: "Select and move" },
  { id: "arrow", icon: "arrow", label: "Draw arrows: drag from cause to effect" },
  { id: "hidden", icon: "hidden", label: "Draw hidden common causes: drag between two variables" },
  { id: "ask", icon: "ask", label: "Ask: click the cause, then the outcome" },
];

function Toolbar(): JSX.Element {
  return (
    <div class="toolbar" role="toolbar" aria-label="Tools for drawing">
      <div class="tool-group" role="group" aria-label="Tool">
        {TOOLS.map((t) => (
          <IconButton key={t.id} icon={t.icon} label={t.label} pressed={tool.value === t.id} onClick={() => (tool.value = t.id)} />
        ))}
      </div>
      <div class="tool-group" role="group" aria-label="Steps">
        <IconButton icon="undo" label="Undo" keys="Ctrl Z" disabled={!canUndo.value} onClick={undo} />
        <IconButton icon="redo" label="Redo" keys="Ctrl Y" disabled={!canRedo.value} onClick={redo} />
      </div>
      <div class="tool-group" role="group" aria-label="View">
        <IconButton icon="layout" label="Lay out" keys="L" disabled={isEmpty.value} onClick={() => void layOut()} />
        <IconButton icon="fit" label="Show all" keys="F" disabled={isEmpty.value} onClick={() => drawing.canvas?.fit()} />
        <IconButton icon="zoomIn" label="Larger" keys="+" disabled={isEmpty.value} onClick={() => drawing.canvas?.zoomBy(1.2)} />
        <IconButton icon="zoomOut" label="Smaller" keys="−" disabled={isEmpty.value} onClick={() => drawing.canvas?.zoomBy(1 / 1.2)} />
      </div>
      {fit.value !== null && (
        <label class="switch">
          <input type="checkbox" checked={showWeights.value} onChange={(e) => (showWeights.value = e.currentTarget.checked)} />
          Weights
        </label>
      )}
    </div>
  );
}

export function GraphPart(): JSX.Element {
  return (
    <section class="part graph-part" aria-label="Graph">
      <div class="stage">
        <Toolbar />
        <Drawing />
        {isEmpty.value && <Examples />}
        <Legend />
        <Summary />
      </div>
      <TextPanel />
    </section>
  );
}

function Legend(): JSX.Element | null {
  if (isEmpty.value) return null;
  return (
    <ul class="legend" aria-label="What the lines mean">
      <li><span class="swatch causal" />causal path</li>
      <li><span class="swatch confounding" />open, not causal</li>
      <li><span class="swatch hidden" />hidden common cause</li>
    </ul>
  );
}

