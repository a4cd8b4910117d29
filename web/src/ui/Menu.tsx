// A menu at a place: arrow keys walk, Enter chooses, Escape closes, and the focus goes back to where it was.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

export interface Item {
  label: string;
  hint?: string;
  checked?: boolean;
  disabled?: boolean;
  danger?: boolean;
  title?: string;
  act: () => void;
}

export type Entry = Item | "line" | { heading: string };

interface Props {
  label: string;
  items: Entry[];
  at: { x: number; y: number };
  align?: "left" | "right";
  onClose: () => void;
}

export function Menu({ label, items, at, align = "left", onClose }: Props): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const before = useRef(document.activeElement as HTMLElement | null);
  const buttons = (): HTMLButtonElement[] => [...(box.current?.querySelectorAll<HTMLButtonElement>("button:not(:disabled)") ?? [])];

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const { width, height } = element.getBoundingClientRect();
    const left = align === "right" ? at.x - width : at.x;
    element.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
    element.style.top = `${Math.max(8, Math.min(at.y, innerHeight - height - 8))}px`;
    buttons()[0]?.focus();
  }, []);

  useEffect(() => {
    const away = (event: Event): void => {
      if (!box.current?.contains(event.target as Node)) onClose();
    };
    addEventListener("pointerdown", away, true);
    return () => removeEventListener("pointerdown", away, true);
  }, [onClose]);

  const close = (): void => {
    onClose();
    before.current?.focus();
  };
  const walk = (event: KeyboardEvent): void => {
    const all = buttons();
    const here = all.indexOf(document.activeElement as HTMLButtonElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step !== undefined) all[(here + step + all.length) % all.length]?.focus();
    else if (event.key === "Home") all[0]?.focus();
    else if (event.key === "End") all.at(-1)?.focus();
    else if (event.key === "Escape" || event.key === "Tab") close();
    else if (event.key.length === 1) all.find((b, k) => k > here && b.textContent?.toLowerCase().startsWith(event.key.toLowerCase()))?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div ref={box} class="menu" role="menu" aria-label={label} onKeyDown={walk} onContextMenu={(e) => e.preventDefault()}>
      {items.map((item, k) =>
        item === "line" ? (
          <div key={k} class="menu-line" role="separator" />
        ) : "heading" in item ? (
          <div key={k} class="menu-heading" role="presentation">{item.heading}</div>
        ) : (
          <button
            key={k}
            type="button"
            role={item.checked === undefined ? "menuitem" : "menuitemcheckbox"}
            aria-checked={item.checked}
            class={item.danger ? "danger" : undefined}
            disabled={item.disabled}
            title={item.title}
            tabIndex={-1}
            onClick={() => {
              close();
              item.act();
            }}
          >
            <span class="menu-check" aria-hidden="true">{item.checked ? "✓" : ""}</span>
            <span class="menu-words">{item.label}</span>
            {item.hint !== undefined && <kbd aria-hidden="true">{item.hint}</kbd>}
          </button>
        ),
      )}
    </div>
  );
}

interface ButtonProps {
  label: string;
  children: ComponentChildren;
  items: () => Entry[];
  align?: "left" | "right";
  kind?: string;
  disabled?: boolean;
}

/** A button that opens a menu under itself. */
export function MenuButton({ label, children, items, align = "left", kind = "button", disabled }: ButtonProps): JSX.Element {
  const [at, open] = useState<{ x: number; y: number } | null>(null);
  const show = (event: { currentTarget: HTMLElement }): void => {
    const box = event.currentTarget.getBoundingClientRect();
    open(at === null ? { x: align === "right" ? box.right : box.left, y: box.bottom + 4 } : null);
  };
  return (
    <>
      <button type="button" class={kind} aria-haspopup="menu" aria-expanded={at !== null} disabled={disabled} onClick={show}>
        {children}
      </button>
      {at !== null && <Menu label={label} items={items()} at={at} align={align} onClose={() => open(null)} />}
    </>
  );
}
