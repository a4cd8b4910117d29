// Dose and response: the mean of the outcome for every value that the cause is set to.

import { area, line } from "d3-shape";
import type { JSX } from "preact";
import { dose } from "../state/work";
import { across, Plot, upwards } from "../ui/plot";
import { percent } from "../ui/numbers";
import { Waiting } from "../ui/Waiting";
import { Notes } from "./Estimate";

type P = { at: number; est: number; ci_low: number | null; ci_high: number | null };

export function Dose(): JSX.Element {
  const reply = dose.value;
  if (reply === null) return <><Waiting of={dose} />{dose.error !== null && <p class="fault">{dose.error.message}</p>}</>;
  const { points, line: seen, means } = reply;
  const ats = points.map((p) => p.at);
  const all = [...points.flatMap((p) => [p.est, p.ci_low ?? p.est, p.ci_high ?? p.est]), ...(means?.outcome ?? [])];
  const x = across(Math.min(...ats), Math.max(...ats));
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const y = upwards(low - 0.06 * (high - low), high + 0.06 * (high - low), 290);
  const band = area<P>().x((p) => x(p.at)).y0((p) => y(p.ci_low ?? p.est)).y1((p) => y(p.ci_high ?? p.est));
  const curve = line<P>().x((p) => x(p.at)).y((p) => y(p.est));
  const crude = (v: number): number => (seen === null ? 0 : seen.mean + seen.slope * (v - seen.at));
  return (
    <figure class={dose.busy ? "stale" : ""}>
      <figcaption>
        <h3>{reply.outcome} if {reply.cause} were set</h3>
        <ul class="key">
          <li><span class="swatch curve" aria-hidden="true" />done, with {percent(reply.level)} interval</li>
          {means !== null && <li><span class="swatch dots" aria-hidden="true" />means of groups of rows</li>}
          {seen !== null && <li><span class="swatch seen-line" aria-hidden="true" />as seen</li>}
        </ul>
      </figcaption>
      <Waiting of={dose} />
      <Plot label={`Mean of ${reply.outcome} for values of ${reply.cause}`} height={290} x={x} y={y} xName={`${reply.cause} set to`} yName={reply.outcome}>
        {!reply.apart && <path class="band" d={band(points) ?? ""} />}
        {seen !== null && <line class="seen-line" x1={x.range()[0]} x2={x.range()[1]} y1={y(crude(x.domain()[0] ?? 0))} y2={y(crude(x.domain()[1] ?? 0))} />}
        {means?.cause.map((v, k) => <circle key={k} class="dot" cx={x(v)} cy={y(means.outcome[k] ?? 0)} r="3" />)}
        {!reply.apart && <path class="done-line" d={curve(points) ?? ""} />}
        {reply.apart && points.map((p) => (
          <g key={p.at}>
            <line class="done-line" x1={x(p.at)} x2={x(p.at)} y1={y(p.ci_low ?? p.est)} y2={y(p.ci_high ?? p.est)} />
            <circle class="done-dot" cx={x(p.at)} cy={y(p.est)} r="4.5" />
          </g>
        ))}
      </Plot>
      <Notes notes={reply.notes} />
    </figure>
  );
}
