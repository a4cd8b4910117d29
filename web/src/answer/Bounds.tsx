// What is left open under what one is willing to assume: all values of the answer, with a slider for the strength.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { BoundsRecord } from "../api/types";
import { arc, body } from "../state/answers";
import { quoted } from "../graph/model";
import { bounds, question } from "../state/work";
import { number } from "../ui/numbers";
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
      {bounds.value !== null && <Found found={bounds.value.bounds} />}
    </div>
  );
}

const KNOWN: Record<string, string> = {
  "closed form": "Known by a formula, exactly.",
  "proved to 1e-7": "Proved to seven digits: nothing lies outside, and models attain the ends.",
  searched: "Searched for from many points, not proved.",
};

/** What holds an end that is not open. */
function held(name: string, end: number | null | undefined, binds: string[], attained: boolean): JSX.Element | null {
  if (end === null || end === undefined) return null;
  if (!attained) return <p class="soft">The {name} end is a limit: models come near it, none has it.</p>;
  return binds.length > 0 ? <p class="soft">The {name} end is held by {binds.join(" and ")}.</p> : null;
}

/** A set of values: all of it, what holds its ends, the interval for the true value, how it is known. */
export function Found({ found, size = "number" }: { found: BoundsRecord; size?: "number" | "left" }): JSX.Element {
  const { pieces, interval: sure, level, certificate, binding, attained, refuted, notes } = found;
  const warnings = notes.map((n) => <p key={n.text} class="soft">{n.text}</p>);
  if (pieces.length === 0) {
    const test = refuted === null ? "" : ` Likelihood ratio ${number(refuted.statistic)}, p ${refuted.p < 1e-3 ? "< 0.001" : `= ${number(refuted.p, 3)}`}.`;
    return <><p>No model with these covariances obeys these assumptions.{test}</p>{warnings}</>;
  }
  return (
    <>
      <p class={size}><span class={size === "number" ? "big" : "set"}>{pieces.map(([low, high]) => between(low, high)).join(", or ")}</span></p>
      {held("lower", pieces[0]?.[0], binding.low, attained.low)}
      {held("upper", pieces.at(-1)?.[1], binding.high, attained.high)}
      {sure !== null && <p class="soft">{(100 * level).toFixed(0)}% interval for the true value: {between(sure[0], sure[1])}</p>}
      <p class="soft">{KNOWN[certificate] ?? certificate}</p>
      {warnings}
    </>
  );
}

function between(low: number | null, high: number | null): string {
  if (low === null) return high === null ? "any value" : `at most ${number(high)}`;
  return high === null ? `at least ${number(low)}` : `${number(low)} to ${number(high)}`;
}
