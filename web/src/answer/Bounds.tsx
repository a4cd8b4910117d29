// What is left open under what one is willing to assume: all values of the answer, with a slider for the strength.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { BoundsReply } from "../api/types";
import { arc, body } from "../state/answers";
import { quoted } from "../graph/model";
import { bounds, question } from "../state/work";
import { interval, number } from "../ui/numbers";
import { Waiting } from "../ui/Waiting";

export function Bounds(): JSX.Element {
  const limit = useSignal(0.3);
  const more = useSignal("");
  const ask = (): void => {
    const pair = arc.peek();
    const within = pair === null ? [] : [`corr(${quoted(pair[0])} <-> ${quoted(pair[1])}) in [-${limit.value}, ${limit.value}]`];
    const others = more.value.split("\n").map((line) => line.trim()).filter(Boolean);
    void bounds.ask({ ...body(), question: question.peek(), assume: [...within, ...others] });
  };
  return (
    <div class={bounds.busy ? "stale" : ""}>
      <h3>Bounds</h3>
      {arc.value !== null && (
        <div class="slider">
          <label for="bound-slider">At most {limit.value}</label>
          <input id="bound-slider" type="range" min={0} max={1} step={0.05} value={limit.value} onInput={(e) => (limit.value = Number(e.currentTarget.value))} onChange={ask} />
          <output for="bound-slider">the correlation of the errors of {arc.value.join(" and ")}</output>
        </div>
      )}
      <label class="assume">
        Other things that you assume, one in a line
        <textarea rows={2} spellcheck={false} placeholder="abs(z -> y) <= 0.1" value={more.value} onInput={(e) => (more.value = e.currentTarget.value)} />
      </label>
      <button type="button" class="button" onClick={ask}>Bounds under these</button>
      <Waiting of={bounds} />
      {bounds.error !== null && <p class="fault" role="status">{bounds.error.message}</p>}
      {bounds.value !== null && <Found reply={bounds.value} />}
    </div>
  );
}

function Found({ reply }: { reply: BoundsReply }): JSX.Element {
  const { pieces, interval: sure, level, notes } = reply.bounds;
  const end = (x: number | null, none: string): string => (x === null ? none : number(x));
  if (pieces.length === 0) return <p>No model with this graph obeys these assumptions.</p>;
  return (
    <>
      <p class="number">
        <span class="big">{pieces.map(([low, high]) => `${end(low, "no lower limit")} to ${end(high, "no upper limit")}`).join(", or ")}</span>
      </p>
      {sure && <p class="soft">{level ? `${(100 * level).toFixed(0)}% interval for the true value: ` : ""}{interval(sure[0], sure[1])}</p>}
      {notes?.map((n) => <p key={String(n)} class="soft">{typeof n === "string" ? n : n.text}</p>)}
    </>
  );
}
