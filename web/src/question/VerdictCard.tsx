// The verdict: identified, by what, with the formula and the paths that matter; or not, why not, and what would help.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { CausalPath, VerdictReply } from "../api/types";
import { edgeKey } from "../graph/model";
import { pointedAt } from "../graph/scene";
import { change, doc, isEmpty } from "../state/document";
import { question, verdict } from "../state/work";
import { Waiting } from "../ui/Waiting";
import { Formula } from "./Formula";
import { Refusal } from "./Refusal";

const WORDS = {
  identified: "It can be known",
  "locally identified": "Locally identified",
  finite: "Only up to a few values",
  "not identified": "It cannot be known from this graph",
  undecided: "Not decided in time",
} as const;

export function VerdictCard(): JSX.Element {
  const reply = question.value === "" ? null : verdict.value;
  if (reply === null) {
    const hint = isEmpty.value ? "Draw a graph, then ask what one variable does to another." : "Choose a cause and an outcome, or type a question.";
    return (
      <div aria-live="polite">
        {verdict.error === null && <p class="soft">{verdict.busy ? "Deciding …" : hint}</p>}
        <Waiting of={verdict} />
      </div>
    );
  }
  const { status } = reply.verdict;
  return (
    <div class={`verdict ${verdict.busy ? "stale" : ""}`}>
      <div class="verdict-head" role="status" data-status={status} data-question={reply.question.text} data-turn={verdict.state.value.turn}>
        <span class={`badge ${status === "identified" ? "good" : status === "undecided" || status === "locally identified" ? "dull" : "bad"}`}>{WORDS[status]}</span>
        {reply.verdict.method !== "" && status === "identified" && <span class="by">by {words(reply)}</span>}
      </div>
      {reply.verdict.reasons.map((text) => <p key={text}>{text}</p>)}
      <Waiting of={verdict} />
      {status === "identified" && reply.verdict.estimand !== null && (
        <Formula block latex={reply.verdict.latex} text={reply.verdict.estimand} />
      )}
      {reply.more ? <Refusal reply={reply} /> : <Sets reply={reply} />}
      <Paths reply={reply} />
    </div>
  );
}

const words = ({ verdict: v }: VerdictReply): string => `${v.method}, ${v.scope === "linear" ? "given linear effects" : "from the arrows alone"}`;

function Sets({ reply }: { reply: VerdictReply }): JSX.Element | null {
  const found = reply.adjustment_sets;
  if (found === null || found.sets.every((set) => set.length === 0)) return null;
  const now = JSON.stringify([...doc.value.adjusted].sort());
  return (
    <div class="sets">
      <h3>Enough to adjust for</h3>
      <div class="chips">
        {found.sets.slice(0, 8).map((set) => (
          <button
            key={set.join("\n")}
            type="button"
            class="chip"
            aria-pressed={JSON.stringify([...set].sort()) === now}
            onClick={() => change({ adjusted: JSON.stringify([...set].sort()) === now ? [] : set })}
          >
            {set.length === 0 ? "nothing" : set.join(", ")}
          </button>
        ))}
        {found.sets.length > 8 && <span class="soft">and {found.sets.length - 8} more</span>}
      </div>
    </div>
  );
}

const KINDS: { kind: CausalPath["kind"]; words: string }[] = [
  { kind: "causal", words: "causal" },
  { kind: "confounding", words: "open, not causal" },
  { kind: "blocked", words: "blocked" },
];

function Paths({ reply }: { reply: VerdictReply }): JSX.Element | null {
  const open = useSignal(false);
  const found = reply.paths;
  if (found === null || found.paths.length === 0) return null;
  const counts = KINDS.map(({ kind, words: name }) => ({ kind, name, paths: found.paths.filter((p) => p.kind === kind) })).filter((k) => k.paths.length > 0);
  return (
    <details class="paths" open={open.value} onToggle={(e) => (open.value = e.currentTarget.open)}>
      <summary>
        Paths from {found.cause} to {found.outcome}: {counts.map((k) => `${k.paths.length} ${k.name}`).join(", ")}
        {found.complete ? "" : " (the shortest)"}
      </summary>
      {open.value && <ul>
        {counts.flatMap((k) => k.paths.slice(0, 40)).map((path) => (
          <li key={path.text} onMouseEnter={() => point(path)} onMouseLeave={() => point(null)}>
            <button type="button" class="row" onFocus={() => point(path)} onBlur={() => point(null)}>
              <span class={`swatch ${path.kind}`} aria-hidden="true" />
              <span class="path-text">{path.text}</span>
              <span class="unseen">{path.kind}</span>
            </button>
          </li>
        ))}
      </ul>}
    </details>
  );
}

const point = (path: CausalPath | null): void => {
  pointedAt.value = new Set(path === null ? [] : path.edges.map(edgeKey));
};
