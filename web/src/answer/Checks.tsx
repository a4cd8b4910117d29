// Does the graph hold? What it implies, and what the data contradict.

import type { JSX } from "preact";
import type { ChecksReply } from "../api/types";
import { checks } from "../state/work";
import { number, pValue } from "../ui/numbers";
import { Waiting } from "../ui/Waiting";

export function Checks(): JSX.Element {
  const reply = checks.value;
  if (reply === null) return <><Waiting of={checks} />{checks.error !== null && <p class="fault">{checks.error.message}</p>}</>;
  return (
    <div class={checks.busy ? "stale" : ""}>
      <Waiting of={checks} />
      <Verdict reply={reply} />
      {reply.checks.measures["df"] !== 0 && <Measures measures={reply.checks.measures} />}
      {reply.contradicted.length > 0 && (
        <div class="scroll" tabIndex={0} role="group" aria-label="What the data contradict">
          <table class="grid-table">
            <thead><tr><th scope="col">The graph says</th><th scope="col" class="num">Estimate</th><th scope="col" class="num">p, corrected</th></tr></thead>
            <tbody>
              {reply.contradicted.map((c) => (
                <tr key={c.constraint}><th scope="row">{c.constraint}</th><td class="num">{number(c.estimate)}</td><td class="num">{pValue(c.p_adjusted)}</td></tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {reply.implied.length > 0 && (
        <details>
          <summary>{reply.implied.length} {reply.implied.length === 1 ? "independence that the graph implies" : "independences that the graph implies"}</summary>
          <ul class="plain">
            {reply.implied.slice(0, 200).map((i) => (
              <li key={JSON.stringify(i)}>{i.between.join(" and ")}{i.given.length > 0 ? `, given ${i.given.join(", ")}` : ""}</li>
            ))}
          </ul>
        </details>
      )}
      {reply.checks.note !== "" && <p class="soft">{reply.checks.note}</p>}
    </div>
  );
}

function Verdict({ reply }: { reply: ChecksReply }): JSX.Element {
  const n = reply.contradicted.length;
  if (n > 0) return <p><span class="badge bad">{n === 1 ? "One thing is contradicted" : `${n} things are contradicted`}</span> The data speak against what the graph implies; the dotted lines in the drawing show where.</p>;
  const df = reply.checks.measures["df"];
  return df === 0 ? (
    <p><span class="badge dull">Nothing to test</span> This graph implies nothing that data could contradict.</p>
  ) : (
    <p><span class="badge good">Nothing is contradicted</span> The data are in line with what the graph implies.</p>
  );
}

const NAMES: Record<string, string> = { chi2: "χ²", df: "degrees of freedom", pvalue: "p", cfi: "CFI", tli: "TLI", rmsea: "RMSEA", srmr: "SRMR", aic: "AIC", bic: "BIC" };

function Measures({ measures }: { measures: Record<string, number | null> }): JSX.Element {
  const shown = Object.entries(NAMES).filter(([key]) => measures[key] !== undefined && measures[key] !== null);
  return (
    <dl class="measures">
      {shown.map(([key, name]) => (
        <div key={key}><dt>{name}</dt><dd>{key === "df" ? measures[key] : key === "pvalue" ? pValue(measures[key] ?? null) : number(measures[key])}</dd></div>
      ))}
    </dl>
  );
}
