// The outcome as it was seen and as it would be if the cause were set. The curve follows the slider here, without the
// server; when the slider is let go, the server gives the interval.

import { area, curveBasis, line } from "d3-shape";
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { DistributionReply } from "../api/types";
import { atValue, doValue, plainNumber, release } from "../state/answers";
import { number } from "../ui/numbers";
import { across, Plot, upwards, MARGIN } from "../ui/plot";
import { Waiting } from "../ui/Waiting";
import { Notes } from "./Estimate";

const HEIGHT = 210;
const POINTS = 120;

/** The density of a normal distribution. */
export function density(x: number, mean: number, sd: number): number {
  return Math.exp(-0.5 * ((x - mean) / sd) ** 2) / (sd * Math.sqrt(2 * Math.PI));
}

export const doneMean = ({ done }: DistributionReply, value: number): number => done.mean + done.slope * (value - done.at);

export function SeenAndDone({ reply }: { reply: DistributionReply }): JSX.Element {
  const curve = useRef<SVGPathElement>(null);
  const middle = useRef<SVGLineElement>(null);
  const output = useRef<HTMLOutputElement>(null);
  const slider = useRef<HTMLInputElement>(null);
  const { low, high, start, step } = steps(reply.slider);
  const shape = useMemo(() => shapes(reply), [reply]);
  const first = Math.min(Math.max(doValue.peek() ?? start, low), high);

  const draw = (value: number): void => {
    const mean = doneMean(reply, value);
    curve.current?.setAttribute("d", shape.curve(mean));
    middle.current?.setAttribute("x1", String(shape.x(mean)));
    middle.current?.setAttribute("x2", String(shape.x(mean)));
    if (output.current) output.current.value = `mean ${number(mean)}, standard deviation ${number(reply.done.sd)}`;
  };
  useLayoutEffect(() => draw(first), [reply]);
  useEffect(() => {
    doValue.value = first;
    release();
  }, [reply]);

  let frame = 0;
  const moved = (event: { currentTarget: HTMLInputElement }): void => {
    const value = Number(event.currentTarget.value);
    event.currentTarget.setAttribute("aria-valuetext", plainNumber(value));
    doValue.value = value;
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => draw(value));
  };
  const value = doValue.value ?? first;
  const told = atValue.value;
  return (
    <figure class="seen-done">
      <figcaption>
        <h3>Seen and done</h3>
        <ul class="key">
          <li><span class="swatch bars" aria-hidden="true" />as seen, {reply.seen.words}</li>
          <li><span class="swatch curve" aria-hidden="true" />if {reply.cause} were {plainNumber(value)} for all</li>
        </ul>
      </figcaption>
      <Plot label={`Density of ${reply.outcome}: as seen, and if ${reply.cause} were set`} height={HEIGHT} x={shape.x} xName={reply.outcome}>
        {reply.seen.histogram?.left.map((left, k) => {
          const tall = reply.seen.histogram?.height[k] ?? 0;
          const x0 = Math.max(MARGIN.left, shape.x(left));
          const x1 = Math.max(x0, shape.x(left + (reply.seen.histogram?.width ?? 0)) - 0.6);
          return <rect key={k} class="bars" x={x0} width={x1 - x0} y={shape.y(tall)} height={shape.y(0) - shape.y(tall)} />;
        })}
        {reply.seen.normal !== null && <path class="seen-curve" d={shape.seen} />}
        <path ref={curve} class="done-curve" />
        <line ref={middle} class="done-mean" y1={MARGIN.top} y2={HEIGHT - MARGIN.bottom} />
      </Plot>
      <div class="slider">
        <label for="do-slider">do({reply.cause} = {plainNumber(value)})</label>
        <input
          ref={slider}
          id="do-slider"
          type="range"
          min={low}
          max={high}
          step={step}
          defaultValue={String(first)}
          onInput={moved}
          onChange={release}
        />
        <output ref={output} for="do-slider" />
      </div>
      <Waiting of={atValue} />
      {told !== null && !atValue.busy && told.shown[0] !== undefined && <p class="shown soft" data-at={plainNumber(value)}>{told.shown[0]}</p>}
      <Notes notes={[...reply.notes, ...(told?.answer.notes ?? []).filter((n) => !reply.notes.some((m) => m.code === n.code))]} />
    </figure>
  );
}

/** The slider in steps that read well: about a hundred or more, each a power of ten. */
function steps({ low, high, start, values }: DistributionReply["slider"]): { low: number; high: number; start: number; step: number } {
  if (values !== null) return { low: values[0], high: values[1], start: values[0], step: values[1] - values[0] };
  const step = 10 ** Math.floor(Math.log10((high - low) / 100 || 1));
  const whole = (x: number, round: (x: number) => number): number => Number((round(x / step) * step).toPrecision(12));
  return { low: whole(low, Math.ceil), high: whole(high, Math.floor), start: whole(start, Math.round), step };
}

function shapes(reply: DistributionReply) {
  const { done, seen } = reply;
  const [from, to] = reply.span;
  const x = across(from, to);
  const tallest = Math.max(done.sd > 0 ? density(0, 0, done.sd) : 0, ...(seen.histogram?.height ?? []), seen.normal ? density(0, 0, seen.normal.sd) : 0);
  const y = upwards(0, tallest * 1.06 || 1, HEIGHT);
  const grid = Array.from({ length: POINTS + 1 }, (_, k) => from + ((to - from) * k) / POINTS);
  const filled = area<number>().x((v) => x(v)).y0(y(0)).curve(curveBasis);
  const open = line<number>().x((v) => x(v)).curve(curveBasis);
  return {
    x,
    y,
    curve: (mean: number): string => filled.y1((v) => y(density(v, mean, done.sd)))(grid) ?? "",
    seen: seen.normal === null ? "" : (open.y((v) => y(density(v, seen.normal?.mean ?? 0, seen.normal?.sd ?? 1)))(grid) ?? ""),
  };
}
