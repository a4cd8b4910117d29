// If not: how the answer depends on what two variables have in common and nobody saw.

import { area, line } from "d3-shape";
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { arc } from "../state/answers";
import { doc } from "../state/document";
import { about, question, sensitivity } from "../state/work";
import { interval, number } from "../ui/numbers";
import { across, Plot, upwards } from "../ui/plot";
import { Waiting } from "../ui/Waiting";
import { Bounds } from "./Bounds";

interface P {
  at: number;
  est: number;
  low: number | null;
  high: number | null;
}

export function IfNot(): JSX.Element {
  const { graph, cause, outcome } = doc.value;
  const near = graph.bidirected.map(([a, b]): [string, string] => [a, b]);
  const ends: [string, string][] = cause !== null && outcome !== null && !near.some((p) => p.includes(cause) && p.includes(outcome)) ? [[cause, outcome]] : [];
  const choices = [...near, ...ends];
  if (question.value === "") return <p class="soft">Ask a question first.</p>;
  return (
    <div class={sensitivity.busy ? "stale" : ""}>
      <p>What if two variables had more, or less, in common than you think?</p>
      <label class="inline">
        Two variables
        <select
          value={arc.value === null ? "" : JSON.stringify(arc.value)}
          onChange={(e) => (arc.value = e.currentTarget.value === "" ? null : (JSON.parse(e.currentTarget.value) as [string, string]))}
        >
          <option value="">choose</option>
          {choices.map((p) => <option key={JSON.stringify(p)} value={JSON.stringify(p)}>{p[0]} and {p[1]}</option>)}
        </select>
      </label>
      <Waiting of={sensitivity} />
      {sensitivity.error !== null && <p class="fault" role="status">{sensitivity.error.message}</p>}
      {sensitivity.value !== null && <Curve />}
      {about.value?.abilities["bounds"] === true && <Bounds />}
    </div>
  );
}

function Curve(): JSX.Element | null {
  const found = sensitivity.value?.sensitivity;
  const chosen = useSignal<number | null>(null);
  if (found === undefined) return null;
  const points = found.correlation
    .map((at, k): P => ({ at, est: found.estimates[k] ?? NaN, low: found.intervals[k]?.[0] ?? null, high: found.intervals[k]?.[1] ?? null }))
    .filter((p) => Number.isFinite(p.est) && Number.isFinite(p.at));
  if (points.length === 0) return <p class="soft">No strength of what is hidden fits the data.</p>;
  const values = points.flatMap((p) => [p.est, p.low ?? p.est, p.high ?? p.est, 0]);
  const x = across(points[0]?.at ?? -1, points.at(-1)?.at ?? 1);
  const y = upwards(Math.min(...values), Math.max(...values), 260);
  const k = chosen.value ?? Math.floor(points.length / 2);
  const here = points[Math.min(k, points.length - 1)];
  return (
    <figure>
      <Plot label={`${found.question} along the correlation of the errors of ${found.arc.join(" and ")}`} height={260} x={x} y={y} xName={`correlation of the errors of ${found.arc.join(" and ")}`} yName={found.question}>
        <path class="band" d={area<P>().x((p) => x(p.at)).y0((p) => y(p.low ?? p.est)).y1((p) => y(p.high ?? p.est))(points) ?? ""} />
        <line class="axis" x1={x.range()[0]} x2={x.range()[1]} y1={y(0)} y2={y(0)} />
        <path class="done-line" d={line<P>().x((p) => x(p.at)).y((p) => y(p.est))(points) ?? ""} />
        {here !== undefined && <circle class="done-dot" cx={x(here.at)} cy={y(here.est)} r="5" />}
      </Plot>
      <div class="slider">
        <label for="arc-slider">Correlation {here === undefined ? "" : number(here.at, 2)}</label>
        <input id="arc-slider" type="range" min={0} max={points.length - 1} step={1} value={k} onInput={(e) => (chosen.value = Number(e.currentTarget.value))} />
        <output for="arc-slider">{here === undefined ? "" : `${number(here.est)} (${interval(here.low, here.high)})`}</output>
      </div>
      {found.zero_correlation !== null && <p class="soft">The effect would be zero at a correlation of {number(found.zero_correlation, 2)}.</p>}
    </figure>
  );
}
