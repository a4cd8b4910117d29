// The second part: what is asked, and whether it can be known.

import { useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { tool } from "../graph/actions";
import { asked, quoted } from "../graph/model";
import { ask, change, doc, isEmpty } from "../state/document";
import { ends, question, verdict } from "../state/work";
import { Editor } from "../ui/editor";
import { MenuButton, type Entry } from "../ui/Menu";
import { Icon } from "../ui/icons";
import { complete } from "./complete";
import { VerdictCard } from "./VerdictCard";

function Pick({ label, value, other, onPick }: { label: string; value: string | null; other: string | null; onPick: (v: string | null) => void }): JSX.Element {
  const names = asked(doc.value.graph);
  return (
    <label class={`pick pick-${label.toLowerCase()}`}>
      <span>{label}</span>
      <select value={value ?? ""} disabled={names.length === 0} onChange={(e) => onPick(e.currentTarget.value || null)}>
        <option value="">choose</option>
        {names.map((v) => (
          <option key={v} value={v} disabled={v === other}>{v}</option>
        ))}
      </select>
    </label>
  );
}

/** Other questions about the same two variables. */
function forms(): Entry[] {
  const d = doc.peek();
  const [x, y] = [d.cause ?? ends.peek()?.cause, d.outcome ?? ends.peek()?.outcome];
  if (!x || !y) return [{ heading: "Choose cause and outcome first" }];
  const [a, b] = [quoted(x), quoted(y)];
  const to = (text: string) => (): void => change({ question: text });
  return [
    { label: "Total effect", hint: `${a} ~> ${b}`, act: to(`${a} ~> ${b}`) },
    { label: "Direct effect", hint: `${a} -> ${b}`, act: to(`${a} -> ${b}`) },
    { label: "In standard deviations", hint: `std(${a} ~> ${b})`, act: to(`std(${a} ~> ${b})`) },
    { label: "Distribution when set", hint: `P(${b} | do(${a}=1))`, act: to(`P(${b} | do(${a}=1))`) },
    { label: "Contrast", hint: "E[…] - E[…]", act: to(`E[${b} | do(${a}=1)] - E[${b} | do(${a}=0)]`) },
    { label: "Chance above a value", hint: `P(${b} > 0 | …)`, act: to(`P(${b} > 0 | do(${a}=1))`) },
    { label: "Effect on the treated", hint: "counterfactual", act: to(`E[${b}_{${a}=1} - ${b}_{${a}=0} | ${a}=1]`) },
  ];
}

export function QuestionPart(): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | null>(null);
  useEffect(() => {
    if (host.current === null) return;
    const made = new Editor({
      host: host.current,
      label: "The question, as text",
      text: doc.peek().question,
      hint: "or type any question: P(y | do(x=1))",
      oneLine: true,
      complete,
      onText: (text) => change({ question: text }, "question"),
    });
    editor.current = made;
    return () => made.destroy();
  }, []);
  useSignalEffect(() => editor.current?.replace(doc.value.question));
  useSignalEffect(() => {
    const error = verdict.error;
    const own = error !== null && error.code.startsWith("question");
    editor.current?.fault(own ? error.place : null, own ? error.message : "");
  });
  const d = doc.value;
  const error = question.value === "" ? null : verdict.error;
  return (
    <section class="part question-part" aria-label="Question">
      <h2>Question</h2>
      <div class="picks">
        <Pick label="Cause" value={d.cause} other={d.outcome} onPick={(v) => ask(v, d.outcome)} />
        <Icon name="arrow" />
        <Pick label="Outcome" value={d.outcome} other={d.cause} onPick={(v) => ask(d.cause, v)} />
        <button type="button" class="button quiet" disabled={isEmpty.value} title="Click the cause, then the outcome, in the drawing" aria-pressed={tool.value === "ask"} onClick={() => (tool.value = tool.value === "ask" ? "move" : "ask")}>
          Pick<span class="unseen"> in the drawing</span>
        </button>
      </div>
      <div class="ask-row">
        <div ref={host} class="code one-line" data-editor="question" />
        <MenuButton label="Other questions" align="right" items={forms} disabled={isEmpty.value}>
          Other <Icon name="down" />
        </MenuButton>
      </div>
      {error !== null && error.code !== "gone" && (
        <p class="fault" role="alert">{error.message}</p>
      )}
      <VerdictCard />
    </section>
  );
}
