// Axes for small pictures: ticks, a frame, nothing more. Pictures are SVG and take their colours from the style sheet.

import { scaleLinear, type ScaleLinear } from "d3-scale";
import type { ComponentChildren, JSX } from "preact";

export type Scale = ScaleLinear<number, number>;

export const WIDTH = 460;
export const MARGIN = { left: 46, right: 14, top: 12, bottom: 38 };

export const across = (from: number, to: number, width = WIDTH): Scale => scaleLinear([from, to], [MARGIN.left, width - MARGIN.right]);
export const upwards = (from: number, to: number, height: number): Scale => scaleLinear([from, to], [height - MARGIN.bottom, MARGIN.top]);

interface Props {
  label: string;
  height: number;
  x: Scale;
  y?: Scale;
  xName: string;
  yName?: string;
  children: ComponentChildren;
}

export function Plot({ label, height, x, y, xName, yName, children }: Props): JSX.Element {
  const format = x.tickFormat(6);
  const base = height - MARGIN.bottom;
  return (
    <svg class="plot" viewBox={`0 0 ${WIDTH} ${height}`} role="img" aria-label={label}>
      {y !== undefined && y.ticks(5).map((t) => (
        <g key={t} transform={`translate(0 ${y(t)})`}>
          <line class="grid" x1={MARGIN.left} x2={WIDTH - MARGIN.right} />
          <text class="tick" x={MARGIN.left - 7} dy="0.34em" text-anchor="end">{y.tickFormat(5)(t)}</text>
        </g>
      ))}
      <line class="axis" x1={MARGIN.left} x2={WIDTH - MARGIN.right} y1={base} y2={base} />
      {x.ticks(6).map((t) => (
        <g key={t} transform={`translate(${x(t)} ${base})`}>
          <line class="axis" y2="4" />
          <text class="tick" y="17" text-anchor="middle">{format(t)}</text>
        </g>
      ))}
      <text class="axis-name" x={(MARGIN.left + WIDTH - MARGIN.right) / 2} y={height - 4} text-anchor="middle">{short(xName)}</text>
      {yName !== undefined && <text class="axis-name" transform={`translate(11 ${(MARGIN.top + base) / 2}) rotate(-90)`} text-anchor="middle">{short(yName, 26)}</text>}
      {children}
    </svg>
  );
}

export const short = (text: string, most = 48): string => (text.length <= most ? text : `${text.slice(0, most - 1)}…`);
