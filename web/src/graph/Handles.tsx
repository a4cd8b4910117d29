// The two handles of the variable under the pointer, and the line that is being drawn from one.

import type { Signal } from "@preact/signals";
import type { JSX, RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "../ui/icons";
import type { Canvas } from "./canvas";

export interface Link {
  from: string;
  kind: "->" | "<->";
  to: { x: number; y: number };
}

interface Props {
  canvas: RefObject<Canvas | null>;
  hovered: Signal<string | null>;
  view: Signal<number>;
  busy: boolean;
  onStart: (from: string, kind: "->" | "<->", event: PointerEvent) => void;
}

export function Handles({ canvas, hovered, view, busy, onStart }: Props): JSX.Element | null {
  const arrow = useRef<HTMLDivElement>(null);
  const arc = useRef<HTMLDivElement>(null);
  const name = hovered.value;
  view.value;
  const box = name === null || busy ? null : (canvas.current?.boxOf(name) ?? null);
  useLayoutEffect(() => {
    if (box === null) return;
    if (arrow.current) Object.assign(arrow.current.style, { left: `${box.x + box.width / 2 + 11}px`, top: `${box.y}px` });
    if (arc.current) Object.assign(arc.current.style, { left: `${box.x}px`, top: `${box.y - box.height / 2 - 11}px` });
  });
  if (name === null || box === null) return null;
  return (
    <div aria-hidden="true">
      <div ref={arrow} class="handle handle-arrow" title="Drag to draw an arrow" onPointerDown={(e) => onStart(name, "->", e)}>
        <Icon name="arrow" />
      </div>
      <div ref={arc} class="handle handle-hidden" title="Drag to draw a hidden common cause" onPointerDown={(e) => onStart(name, "<->", e)}>
        <Icon name="hidden" />
      </div>
    </div>
  );
}

export function Rubber({ canvas, link }: { canvas: RefObject<Canvas | null>; link: Link | null }): JSX.Element | null {
  const from = link === null ? null : canvas.current?.boxOf(link.from);
  if (link === null || !from) return null;
  return (
    <svg class="rubber" aria-hidden="true">
      <path class={link.kind === "->" ? "rubber-arrow" : "rubber-hidden"} d={`M${from.x} ${from.y}L${link.to.x} ${link.to.y}`} />
      <circle class={link.kind === "->" ? "rubber-arrow" : "rubber-hidden"} cx={link.to.x} cy={link.to.y} r="4" />
    </svg>
  );
}
