// The drawing with its hands: handles to draw edges from, names written in place, a menu, and the keyboard.

import { useSignal, useSignalEffect } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Point } from "../api/types";
import { change, doc, fitted, isEmpty } from "../state/document";
import { placing } from "../state/work";
import { theme } from "../ui/theme";
import { Menu } from "../ui/Menu";
import * as act from "./actions";
import { Canvas, type Target } from "./canvas";
import { pressed, type Hands } from "./keys";
import { menuOf } from "./menu";
import { freshName, has } from "./model";
import { focus, scene } from "./scene";
import { NameField, type Naming } from "./NameField";
import { Rubber, Handles, type Link } from "./Handles";

/** For what stands beside the drawing: its tools, and the list in words. */
export const drawing: { canvas: Canvas | null; rename: (name: string) => void } = { canvas: null, rename: () => undefined };

export function Drawing(): JSX.Element {
  const frame = useRef<HTMLDivElement>(null);
  const host = useRef<HTMLDivElement>(null);
  const canvas = useRef<Canvas | null>(null);
  const naming = useSignal<Naming | null>(null);
  const menu = useSignal<{ target: Target; at: { x: number; y: number } } | null>(null);
  const hovered = useSignal<string | null>(null);
  const link = useSignal<Link | null>(null);
  const view = useSignal(0);
  const keyLink = useRef<Hands["linking"]>(null);

  const local = (event: { clientX: number; clientY: number }): { x: number; y: number } => {
    const box = frame.current?.getBoundingClientRect();
    return { x: event.clientX - (box?.left ?? 0), y: event.clientY - (box?.top ?? 0) };
  };
  const write = (where: Point, at: { x: number; y: number }, hidden: boolean, from?: Naming["link"]): void => {
    naming.value = { where, at, hidden, link: from, name: freshName(doc.peek().graph, hidden ? "U" : "x"), renames: null };
  };
  const renameAt = (name: string): void => {
    const box = canvas.current?.boxOf(name);
    if (box) naming.value = { where: [0, 0], at: box, hidden: false, name, renames: name };
  };

  useEffect(() => {
    if (host.current === null) return;
    const made = new Canvas(host.current, {
      tapped: (target) => {
        if (target.kind === "ground") focus.value = null;
        else focus.value = target;
        if (target.kind === "node" && act.tool.peek() === "ask") act.pick(target.name);
        host.current?.focus({ preventScroll: true });
      },
      doubled: (target, event) => {
        if (target.kind === "ground") write(target.at, local(event), event.altKey);
        else if (target.kind === "node") renameAt(target.name);
      },
      asked: (target, event) => {
        if (target.kind !== "ground") focus.value = target;
        menu.value = { target, at: { x: event.clientX, y: event.clientY } };
      },
      moved: (positions) => change({ positions, auto: false }),
      hovered: () => undefined,
      viewed: () => (view.value += 1),
    });
    canvas.current = made;
    drawing.canvas = made;
    drawing.rename = renameAt;
    const filled = !isEmpty.peek();
    const sized = new ResizeObserver(() => made.cy.resize());
    sized.observe(host.current);
    void document.fonts.load('500 14px "Inter Variable"').then(() => {
      if (canvas.current !== made) return;
      made.cy.elements().remove();
      made.show({ ...scene.peek(), focus: null }, false);
      if (filled) made.fit();
    });
    return () => {
      sized.disconnect();
      canvas.current = null;
      drawing.canvas = null;
      made.destroy();
    };
  }, []);

  useSignalEffect(() => {
    if (placing.value) return;
    const shown = scene.value;
    const at = focus.value;
    const alive = at !== null && (at.kind !== "node" || has(shown.graph, at.name)) ? at : null;
    canvas.current?.show({ ...shown, focus: canvas.current.focusId(alive) }, true);
    view.value = view.peek() + 1;
  });
  useSignalEffect(() => {
    fitted.value;
    if (isEmpty.peek()) return; // what is drawn meanwhile stays where it is put
    requestAnimationFrame(() => setTimeout(() => canvas.current?.fit(), 200));
  });
  useSignalEffect(() => {
    theme.value;
    canvas.current?.restyle();
  });

  const startLink = (from: string, kind: "->" | "<->", event: PointerEvent): void => {
    event.preventDefault();
    event.stopPropagation();
    const to = local(event);
    link.value = { from, kind, to };
    const move = (e: PointerEvent): void => {
      const at = local(e);
      link.value = { from, kind: e.shiftKey ? "<->" : kind, to: at };
      const over = canvas.current?.nodeAt(at.x, at.y) ?? null;
      canvas.current?.mark(over === from ? null : over);
    };
    const end = (e: PointerEvent): void => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", end);
      const at = local(e);
      const drawn = link.peek();
      link.value = null;
      canvas.current?.mark(null);
      const over = canvas.current?.nodeAt(at.x, at.y) ?? null;
      if (drawn === null || over === from || canvas.current === null) return;
      if (over !== null) act.connect([from, drawn.kind, over]);
      else if (Math.hypot(at.x - to.x, at.y - to.y) > 30) write(canvas.current.placeAt(at.x, at.y), at, false, { from, kind: drawn.kind });
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end);
  };
  const down = (event: PointerEvent): void => {
    const kind = act.tool.peek() === "arrow" ? "->" : act.tool.peek() === "hidden" ? "<->" : null;
    if (kind === null || event.button !== 0) return;
    const at = local(event);
    const from = canvas.current?.nodeAt(at.x, at.y);
    if (from) startLink(from, kind, event);
  };
  const hush = (event: Event): void => {
    if (link.peek() !== null) event.stopPropagation(); // the drawing below must not move what is being joined
  };
  const hover = (event: PointerEvent): void => {
    if (event.buttons !== 0 || link.peek() !== null) return;
    const at = local(event);
    hovered.value = canvas.current?.nodeAt(at.x, at.y) ?? near(at);
  };
  const near = ({ x, y }: { x: number; y: number }): string | null => {
    const box = hovered.peek() === null ? null : canvas.current?.boxOf(hovered.peek() ?? "");
    return box && Math.abs(x - box.x) < box.width / 2 + 26 && Math.abs(y - box.y) < box.height / 2 + 26 ? hovered.peek() : null;
  };
  const typed = (event: KeyboardEvent): void => {
    const made = canvas.current;
    if (made === null || event.target !== host.current) return;
    const hands: Hands = {
      canvas: made,
      name: (hidden) => {
        const here = focus.peek();
        const where = act.spotBeside(here?.kind === "node" ? here.name : null, made.middle());
        const [pan, zoom, unit] = [made.cy.pan(), made.cy.zoom(), doc.peek().unit];
        const at = { x: where[0] * unit * zoom + pan.x, y: where[1] * unit * zoom + pan.y };
        write(where, { x: Math.max(70, Math.min(at.x, made.cy.width() - 70)), y: Math.max(30, Math.min(at.y, made.cy.height() - 30)) }, hidden);
      },
      rename: renameAt,
      menu: (target) => {
        const box = frame.current?.getBoundingClientRect();
        const place = target.kind === "node" ? made.boxOf(target.name) : null;
        menu.value = { target, at: { x: (box?.left ?? 0) + (place?.x ?? 80), y: (box?.top ?? 0) + (place?.y ?? 80) } };
      },
      linking: keyLink.current,
      setLinking: (to) => (keyLink.current = to),
    };
    if (pressed(event, hands)) event.preventDefault();
  };

  return (
    <div
      ref={frame}
      class={`drawing tool-${act.tool.value}`}
      onPointerDownCapture={down}
      onMouseDownCapture={hush}
      onTouchStartCapture={hush}
      onPointerMove={hover}
      onPointerLeave={() => (hovered.value = null)}
      onContextMenu={(e) => e.preventDefault()}
    >
      <div
        ref={host}
        class="canvas"
        tabIndex={0}
        role="application"
        aria-label="Drawing of the graph. Arrow keys walk over the variables, N makes one, A draws an arrow, H a hidden common cause. The list beside says the same in words."
        aria-describedby="graph-words"
        onKeyDown={typed}
      />
      {isEmpty.value && naming.value === null && (
        <div class="invite" aria-hidden="true">
          <p class="invite-big">Double-click to make a variable</p>
          <p>then drag from its edge to draw an arrow</p>
        </div>
      )}
      <Handles canvas={canvas} hovered={hovered} view={view} busy={link.value !== null || act.tool.value === "ask"} onStart={startLink} />
      <Rubber canvas={canvas} link={link.value} />
      {naming.value !== null && (
        <NameField
          naming={naming.value}
          onDone={(made) => {
            naming.value = null;
            if (made !== null) focus.value = { kind: "node", name: made };
            host.current?.focus({ preventScroll: true });
          }}
        />
      )}
      {menu.value !== null && (
        <Menu label="What to do" at={menu.value.at} items={menuOf(menu.value.target, { rename: renameAt, create: (where, hidden) => {
          const [pan, zoom, unit] = [canvas.current?.cy.pan() ?? { x: 0, y: 0 }, canvas.current?.cy.zoom() ?? 1, doc.peek().unit];
          write(where, { x: where[0] * unit * zoom + pan.x, y: where[1] * unit * zoom + pan.y }, hidden);
        } })} onClose={() => (menu.value = null)} />
      )}
    </div>
  );
}
