// The page: one screen, three parts.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { AnswerPart } from "./answer/AnswerPart";
import { exampleMenu } from "./graph/Examples";
import { GraphPart } from "./graph/GraphPart";
import { QuestionPart } from "./question/QuestionPart";
import { BLANK, change, isEmpty, redo, undo } from "./state/document";
import { reach, takeFile } from "./state/work";
import { exportMenu } from "./ui/exports";
import { Help } from "./ui/Help";
import { Icon, IconButton } from "./ui/icons";
import { MenuButton } from "./ui/Menu";
import { said } from "./ui/say";
import { theme, turn } from "./ui/theme";

/** True where letters belong to a field, and undo to what is written in it. */
const isWriting = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || target.dataset["editor"] !== undefined || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));

function keys(event: KeyboardEvent): void {
  if (!(event.ctrlKey || event.metaKey) || event.altKey || isWriting(event.composedPath()[0] ?? null) || isWriting(event.target)) return;
  const key = event.key.toLowerCase();
  if (key === "z") (event.shiftKey ? redo : undo)();
  else if (key === "y") redo();
  else return;
  event.preventDefault();
}

export function App(): JSX.Element {
  const [helping, setHelping] = useState(false);
  const [over, setOver] = useState(false);
  useEffect(() => {
    addEventListener("keydown", keys);
    return () => removeEventListener("keydown", keys);
  }, []);
  const dropped = (event: DragEvent): void => {
    event.preventDefault();
    setOver(false);
    const file = event.dataTransfer?.files[0];
    if (file) void takeFile(file, file.name);
  };
  return (
    <div
      class={`app ${over ? "dropping" : ""}`}
      onDragOver={(e) => {
        e.preventDefault();
        setOver(e.dataTransfer?.types.includes("Files") ?? false);
      }}
      onDragLeave={(e) => e.relatedTarget === null && setOver(false)}
      onDrop={dropped}
    >
      <header class="top">
        <h1><img src="./icon.svg" alt="" width="26" height="26" /> halftrek</h1>
        <nav aria-label="Page">
          <button type="button" class="button quiet" disabled={isEmpty.value} onClick={() => change(BLANK)}>New</button>
          <MenuButton kind="button quiet" label="Examples" items={exampleMenu}>Examples <Icon name="down" /></MenuButton>
          <MenuButton kind="button quiet" label="Take away" align="right" items={exportMenu} disabled={isEmpty.value}>Take away <Icon name="down" /></MenuButton>
          <IconButton icon="keyboard" label="Keys and gestures" onClick={() => setHelping(true)} />
          <IconButton icon={theme.value === "dark" ? "sun" : "moon"} label={theme.value === "dark" ? "Light colours" : "Dark colours"} onClick={turn} />
        </nav>
      </header>
      <Reach />
      <main>
        <GraphPart />
        <div class="side">
          <QuestionPart />
          <AnswerPart />
        </div>
      </main>
      {helping && <Help onClose={() => setHelping(false)} />}
      <div class="unseen" role="status" aria-live="polite">{said.value?.text}</div>
      {said.value !== null && <div key={said.value.turn} class={`toast ${said.value.tone}`} aria-hidden="true">{said.value.text}</div>}
    </div>
  );
}

function Reach(): JSX.Element | null {
  if (reach.value === "here") return null;
  return (
    <div class="reach" role="alert">
      {reach.value === "gone"
        ? "The server does not answer. Your drawing is safe here, and the page goes on when the server is back."
        : "This page belongs to an earlier run of the server. Open the address that halftrek serve printed; your drawing can be continued there."}
    </div>
  );
}
