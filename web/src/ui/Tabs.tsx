// Tabs that the arrow keys walk.

import type { JSX } from "preact";
import { useRef } from "preact/hooks";

interface Props<T extends string> {
  label: string;
  tabs: { id: T; label: string; disabled?: boolean; mark?: string }[];
  chosen: T;
  panel: string;
  onChoose: (id: T) => void;
}

export function Tabs<T extends string>({ label, tabs, chosen, panel, onChoose }: Props<T>): JSX.Element {
  const row = useRef<HTMLDivElement>(null);
  const walk = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const at = tabs.findIndex((t) => t.id === chosen);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (next === undefined) return;
    onChoose(next.id);
    row.current?.querySelectorAll<HTMLButtonElement>("[role=tab]")[tabs.indexOf(next)]?.focus();
  };
  return (
    <div ref={row} class="tabs" role="tablist" aria-label={label} onKeyDown={walk}>
      {tabs.map((t) => (
        <button
          key={t.id}
          type="button"
          role="tab"
          aria-selected={t.id === chosen}
          aria-controls={panel}
          tabIndex={t.id === chosen ? 0 : -1}
          disabled={t.disabled}
          onClick={() => onChoose(t.id)}
        >
          {t.label}
          {t.mark !== undefined && <span class="tab-mark">{t.mark}</span>}
        </button>
      ))}
    </div>
  );
}
