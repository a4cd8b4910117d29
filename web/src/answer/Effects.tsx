// Every effect that the graph has, as a table; a row asks its question.

import type { JSX } from "preact";
import type { EffectRow } from "../api/types";
import { quoted } from "../graph/model";
import { change, effectText } from "../state/document";
import { kind } from "../state/answers";
import { effects, tab } from "../state/work";
import { interval, number, pValue } from "../ui/numbers";
import { Waiting } from "../ui/Waiting";

const KINDS = ["total", "direct", "indirect", "all"] as const;

export function Effects(): JSX.Element {
  const reply = effects.value;
  return (
    <div class={effects.busy ? "stale" : ""}>
      <fieldset class="segments">
        <legend class="unseen">Kind of effect</legend>
        {KINDS.map((k) => (
          <label key={k} class={kind.value === k ? "on" : ""}>
            <input type="radio" name="kind" checked={kind.value === k} onChange={() => (kind.value = k)} />
            {k}
          </label>
        ))}
      </fieldset>
      <Waiting of={effects} />
      {effects.error !== null && <p class="fault">{effects.error.message}</p>}
      {reply !== null && (
        <div class="scroll" tabIndex={0} role="group" aria-label="Table of effects">
          <table class="grid-table">
            <thead>
              <tr><th scope="col">Effect</th><th scope="col" class="num">Estimate</th><th scope="col" class="num">Interval</th><th scope="col" class="num">p</th></tr>
            </thead>
            <tbody>
              {reply.effects.map((row) => <Row key={`${row.cause}\n${row.effect}\n${row.kind}`} row={row} />)}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}

function Row({ row }: { row: EffectRow }): JSX.Element {
  const ask = (): void => {
    change({ question: row.kind === "direct" ? `${quoted(row.cause)} -> ${quoted(row.effect)}` : effectText(row.cause, row.effect) });
    tab.value = "estimate";
  };
  return (
    <tr>
      <th scope="row">
        <button type="button" class="link" onClick={ask}>{row.cause} → {row.effect}</button>
        <span class="soft small"> {row.kind}{row.note === "" ? "" : `; ${row.note}`}</span>
      </th>
      <td class="num">{number(row.est)}</td>
      <td class="num">{interval(row.ci_low, row.ci_high)}</td>
      <td class="num">{pValue(row.p)}</td>
    </tr>
  );
}
