// Keys and gestures, in a window of their own.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

const MOUSE: [string, string][] = [
  ["Double-click", "a new variable; with Alt a hidden one; on a variable: rename it"],
  ["Drag a handle", "→ an arrow, ⌒ a hidden common cause; with Shift the latter too; onto nothing: a new variable"],
  ["Drag a variable", "move it; drag the ground to move all; wheel to zoom"],
  ["Shift and drag", "select several"],
  ["Right click", "cause, outcome, adjusted for, hidden, remove"],
];
const KEYS: [string, string][] = [
  ["Arrow keys", "walk over the variables"],
  ["N, Shift N", "new variable, new hidden variable"],
  ["A, H", "arrow, hidden common cause: arrow keys to the other end, then Enter"],
  ["C, O, J, U", "cause, outcome, adjusted for, hidden"],
  ["Enter, Delete", "rename, remove"],
  ["E, R", "walk over the edges, turn one round"],
  ["Alt and arrow keys", "move a variable"],
  ["M", "menu"],
  ["L, F, +, −", "lay out, show all, larger, smaller"],
  ["Ctrl Z, Ctrl Y", "undo, redo"],
];

export function Help({ onClose }: { onClose: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const rows = (list: [string, string][]): JSX.Element[] => list.map(([key, words]) => <div key={key}><dt>{key}</dt><dd>{words}</dd></div>);
  return (
    <dialog ref={dialog} class="help-window" aria-labelledby="help-title" onClose={onClose} onClick={(e) => e.target === dialog.current && dialog.current?.close()}>
      <h2 id="help-title">Keys and gestures</h2>
      <h3>With the mouse</h3>
      <dl>{rows(MOUSE)}</dl>
      <h3>In the drawing, by keyboard</h3>
      <dl>{rows(KEYS)}</dl>
      <button type="button" class="button primary" onClick={() => dialog.current?.close()}>Close</button>
    </dialog>
  );
}
