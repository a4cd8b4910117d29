// Not identified: two models that no data tell apart, and what would help, as buttons.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { Change, Model, VerdictReply } from "../api/types";
import { tryChange } from "../graph/actions";
import { answer, help, verdict } from "../state/work";
import { number } from "../ui/numbers";
import { Waiting } from "../ui/Waiting";

export function Refusal({ reply }: { reply: VerdictReply }): JSX.Element {
  const found = verdict.busy ? null : help.value;
  const own = answer.value !== null && answer.value.answer.form === "refusal" && !answer.busy ? answer.value.verdict.witness : null;
  const witness = own ?? found?.verdict.witness ?? reply.verdict.witness;
  return (
    <>
      <Waiting of={help} />
      {found !== null && found.changes.length > 0 && (
        <div class="helps">
          <h3>What would help <span class="soft">any one of these; undo takes it back</span></h3>
          <ul>
            {found.changes.map((c) => <li key={c.text}><Help change={c} /></li>)}
          </ul>
        </div>
      )}
      {help.value === null && help.error !== null && help.error.code !== "gone" && <p class="fault">{help.error.message}</p>}
      {witness !== null && witness !== undefined && (
        <div class="witness">
          <h3>{own !== null ? "Two models that fit your data equally well, two answers" : "Two models, the same data, two answers"}</h3>
          <div class="twins">
            {witness.models.slice(0, 2).map((model, k) => (
              <Twin key={k} model={model} quantity={witness.quantity} answer={witness.answers[k] ?? null} />
            ))}
          </div>
        </div>
      )}
    </>
  );
}

const LABELS: Record<Change["kind"], string> = {
  "rule out": "Rule out",
  measure: "Measure",
  instrument: "Instrument",
  mediator: "Mediator",
  know: "Know",
};

function Help({ change }: { change: Change }): JSX.Element {
  const value = useSignal("");
  const words = <span>{change.text[0]?.toUpperCase()}{change.text.slice(1)}</span>;
  if (change.needs === null) {
    return (
      <button type="button" class="help" data-change={change.kind} onClick={() => tryChange(change)}>
        <span class="help-kind">{LABELS[change.kind]}</span>
        {words}
      </button>
    );
  }
  const known = value.value.trim() !== "" && Number.isFinite(Number(value.value));
  return (
    <form
      class="help"
      onSubmit={(e) => {
        e.preventDefault();
        if (known) tryChange(change, Number(value.value));
      }}
    >
      <span class="help-kind">{LABELS[change.kind]}</span>
      {words}
      <span class="help-number">
        <input type="text" inputMode="decimal" size={6} aria-label={`The number: ${change.text}`} placeholder="0.5" value={value.value} onInput={(e) => (value.value = e.currentTarget.value)} />
        <button type="submit" class="button small" disabled={!known}>Try</button>
      </span>
    </form>
  );
}

/** One of the two models: its answer, and the weights that differ from nothing. */
function Twin({ model, quantity, answer }: { model: Model; quantity: string; answer: number | null }): JSX.Element {
  const rows: [string, number][] = [];
  model.names.forEach((a, i) =>
    model.names.forEach((b, j) => {
      const weight = model.T[i]?.[j] ?? 0;
      const shared = model.W[i]?.[j] ?? 0;
      if (weight !== 0) rows.push([`${a} → ${b}`, weight]);
      if (i < j && shared !== 0) rows.push([`${a} ↔ ${b}`, shared]);
    }),
  );
  model.latents.forEach((u, i) =>
    model.names.forEach((b, j) => {
      const weight = model.C[i]?.[j] ?? 0;
      if (weight !== 0) rows.push([`${u} → ${b}`, weight]);
    }),
  );
  return (
    <div class="twin">
      <p class="twin-answer"><span class="soft">{quantity} =</span> <strong>{number(answer)}</strong></p>
      <table>
        <caption class="unseen">Weights of this model</caption>
        <tbody>
          {rows.slice(0, 9).map(([name, weight]) => (
            <tr key={name}><th scope="row">{name}</th><td>{number(weight, 3)}</td></tr>
          ))}
        </tbody>
      </table>
      {rows.length > 9 && <p class="soft small">and {rows.length - 9} more</p>}
    </div>
  );
}
