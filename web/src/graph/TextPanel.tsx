// The same graph as text, in four notations, live in both directions; and as words, for those who do not see the drawing.

import { useSignal, useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { generation } from "../api/client";
import type { Notation } from "../api/types";
import { chooseNotation, doc, notation, redrawn } from "../state/document";
import { readText } from "../state/reading";
import { textError, written } from "../state/work";
import { Editor } from "../ui/editor";
import { Tabs } from "../ui/Tabs";
import { WordList } from "./WordList";

const NAMES: Record<Notation, string> = { arrows: "Arrows", lavaan: "lavaan", dagitty: "dagitty", dot: "DOT" };
const HINTS: Record<Notation, string> = {
  arrows: "smoking -> tar -> cancer\nsmoking <-> cancer",
  lavaan: "tar ~ smoking\ncancer ~ tar\nsmoking ~~ cancer",
  dagitty: "dag { smoking -> tar -> cancer; smoking <-> cancer }",
  dot: "digraph { smoking -> tar -> cancer }",
};

const DRAFT = "halftrek draft";

/** Text that was written and has not become a graph: an error is in it, or the server was gone. */
function draft(): { notation: Notation; text: string } | null {
  const kept = JSON.parse(sessionStorage.getItem(DRAFT) ?? "null") as { notation: Notation; text: string } | null;
  return kept?.notation === notation.peek() ? kept : null;
}

const keepDraft = (text: string): void => sessionStorage.setItem(DRAFT, JSON.stringify({ notation: notation.peek(), text }));

async function read(text: string): Promise<void> {
  await readText(text, notation.peek());
  if (textError.peek() === null && draft()?.text === text) sessionStorage.removeItem(DRAFT);
}

export function TextPanel(): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | null>(null);
  const asWords = useSignal(false);
  const own = useRef<string | null>(null); // what was written here last, and is not to be written over

  useEffect(() => {
    if (host.current === null || asWords.value) return;
    const made = new Editor({
      host: host.current,
      label: `The graph as text, in the notation ${NAMES[notation.value]}`,
      text: draft()?.text ?? written.value?.texts[notation.value] ?? "",
      hint: HINTS[notation.value],
      onText: (text) => {
        own.current = text;
        keepDraft(text);
        void read(text);
      },
    });
    editor.current = made;
    const before = draft();
    if (before !== null) void read(before.text);
    return () => {
      editor.current = null;
      own.current = null;
      made.destroy();
    };
  }, [notation.value, asWords.value]);

  useSignalEffect(() => {
    if (redrawn.value === 0) return;
    sessionStorage.removeItem(DRAFT);
    own.current = null;
    textError.value = null;
  });
  useSignalEffect(() => {
    const reply = written.value;
    const empty = doc.value.graph.observed.length + Object.keys(doc.value.graph.latents).length === 0;
    const made = editor.current;
    if (made === null || textError.peek() !== null || draft() !== null) return; // the text is ahead of the graph
    if (made.isFocused && own.current !== null) return; // somebody is writing: the text is theirs
    if (empty) return made.replace("");
    if (reply !== null) made.replace(reply.texts[notation.value] ?? "");
  });
  useSignalEffect(() => {
    const before = draft();
    if (generation.value > 0 && before !== null) void read(before.text);
  });
  useSignalEffect(() => {
    const error = textError.value;
    editor.current?.fault(error?.place ?? null, error?.message ?? "");
  });

  const leave = (): void => {
    own.current = null;
    if (textError.peek() === null && written.value !== null) editor.current?.replace(written.value.texts[notation.peek()] ?? "");
  };
  const choose = (next: Notation | "words"): void => {
    textError.value = null;
    sessionStorage.removeItem(DRAFT);
    asWords.value = next === "words";
    if (next === "words") return;
    chooseNotation(next);
  };
  const unwritten = written.value?.unwritten[notation.value];
  const error = textError.value;
  const notes = (written.value?.notes ?? []).filter((n) => n.level !== "aside");
  return (
    <section class="text-panel" aria-label="The graph as text">
      <Tabs
        label="Notation"
        chosen={asWords.value ? "words" : notation.value}
        tabs={[...(Object.keys(NAMES) as Notation[]).map((n) => ({ id: n, label: NAMES[n] })), { id: "words" as const, label: "In words" }]}
        panel="text-body"
        onChoose={choose}
      />
      <div id="text-body" class="text-body" role="tabpanel" aria-label={asWords.value ? "In words" : NAMES[notation.value]}>
        {asWords.value ? <WordList /> : <div key={notation.value} ref={host} class="code" data-editor="graph" onFocusOut={leave} />}
        {!asWords.value && error !== null && (
          <p class="fault" role="alert">
            {error.place !== null && <span class="fault-place">Line {error.place.line}, column {error.place.column}: </span>}
            {error.message} <span class="soft">The last good graph stays.</span>
          </p>
        )}
        {!asWords.value && error === null && unwritten !== undefined && <p class="fault mild">{unwritten}</p>}
        {!asWords.value && error === null && notes.map((n) => <p key={n.code + n.text} class="fault mild">{n.text}</p>)}
      </div>
    </section>
  );
}
