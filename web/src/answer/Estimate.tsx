// The number, its interval, what speaks against it; and the outcome as seen and as done.

import type { JSX } from "preact";
import type { AnswerReply, Note } from "../api/types";
import { answer, distribution, isKnown, question, tab, verdict } from "../state/work";
import { Waiting } from "../ui/Waiting";
import { Found } from "./Bounds";
import { SeenAndDone } from "./SeenAndDone";

export function Estimate(): JSX.Element {
  const reply = answer.value;
  if (question.value === "" || verdict.value === null) return <p class="soft">Ask a question above, and the answer stands here.</p>;
  return (
    <>
      <Waiting of={answer} />
      {answer.error !== null && answer.error.code !== "gone" && <p class={isKnown.value ? "fault mild" : "fault"} role="status">{answer.error.message}</p>}
      {reply !== null && <Result reply={reply} stale={answer.busy} />}
      {isKnown.value && <Waiting of={distribution} />}
      {isKnown.value && distribution.value !== null && <SeenAndDone reply={distribution.value} />}
    </>
  );
}

/** The library's own line, in two sizes: the number large, the interval beside it. */
export function split(line: string): { head: string; big: string; rest: string } | null {
  const found = /^(.*?)(?: = |: mean )(-?[^\s(,]+)\s*(\(.*)?$/s.exec(line);
  return found === null ? null : { head: found[1] ?? "", big: found[2] ?? "", rest: (found[3] ?? "").replace(/^\(|\)$/g, "").replace(/\), /, ", ") };
}

/** A refused question: no number, and all values that the graph and the data leave. */
function Left({ reply, stale }: { reply: AnswerReply; stale: boolean }): JSX.Element {
  return (
    <div class={`result ${stale ? "stale" : ""}`} data-form={reply.answer.form}>
      <p>No number: the graph does not determine it. These values remain with your data, without further assumptions:</p>
      {reply.answer.leaves !== null && reply.answer.leaves !== undefined && <Found found={reply.answer.leaves} size="left" />}
      <button type="button" class="button" onClick={() => (tab.value = "if not")}>Fewer, under what you assume</button>
      <Notes notes={reply.answer.notes} />
    </div>
  );
}

function Result({ reply, stale }: { reply: AnswerReply; stale: boolean }): JSX.Element {
  if (reply.answer.leaves !== null && reply.answer.leaves !== undefined) return <Left reply={reply} stale={stale} />;
  return (
    <div class={`result ${stale ? "stale" : ""}`} data-form={reply.answer.form}>
      {reply.shown.slice(0, 1).map((line) => {
        const parts = split(line);
        return parts === null || reply.answer.form !== "point" ? (
          <p key={line} class="shown" data-shown={line}>{line}</p>
        ) : (
          <p key={line} class="number" data-shown={line}>
            <span class="big">{parts.big}</span> <span class="range">{parts.rest}</span>
          </p>
        );
      })}
      {reply.shown.slice(1).map((line) => <p key={line} class="shown soft">{line.trim()}</p>)}
      <Notes notes={reply.answer.notes} />
      {reply.answer.explanation !== "" && (
        <details>
          <summary>In sentences</summary>
          {reply.answer.explanation.split("\n").map((line, k) => <p key={k}>{line}</p>)}
        </details>
      )}
    </div>
  );
}

export function Notes({ notes }: { notes: Note[] }): JSX.Element | null {
  const shown = notes.filter((n) => n.level !== "aside");
  if (shown.length === 0) return null;
  return (
    <ul class="notes" aria-label="Notes">
      {shown.map((n) => <li key={n.code + n.text} class={n.level}>{n.text}</li>)}
    </ul>
  );
}
