// A name written where the variable is.

import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Point } from "../api/types";
import * as act from "./actions";

export interface Naming {
  where: Point;
  at: { x: number; y: number };
  hidden: boolean;
  name: string;
  renames: string | null;
  link?: { from: string; kind: "->" | "<->" } | undefined;
}

export function NameField({ naming, onDone }: { naming: Naming; onDone: (made: string | null) => void }): JSX.Element {
  const field = useRef<HTMLInputElement>(null);
  const over = useRef(false);
  useLayoutEffect(() => {
    const input = field.current;
    if (input === null) return;
    input.style.left = `${naming.at.x}px`;
    input.style.top = `${naming.at.y}px`;
    input.focus();
    input.select();
  }, []);
  const finish = (keep: boolean, again: boolean): void => {
    if (over.current) return;
    const name = field.current?.value.trim() ?? "";
    if (!keep || name === naming.renames) {
      over.current = true;
      return onDone(naming.renames);
    }
    const done = naming.renames === null ? act.create(name, naming.where, naming.hidden, naming.link) : act.rename(naming.renames, name);
    if (!done && again) return field.current?.select();
    over.current = true;
    onDone(done ? name : naming.renames);
  };
  const typed = (event: KeyboardEvent): void => {
    event.stopPropagation();
    if (event.key === "Enter") finish(true, true);
    else if (event.key === "Escape") finish(false, false);
    else return;
    event.preventDefault();
  };
  return (
    <input
      ref={field}
      class="name-field"
      aria-label={naming.renames === null ? "Name of the new variable" : `New name of ${naming.renames}`}
      defaultValue={naming.name}
      spellcheck={false}
      autocomplete="off"
      onKeyDown={typed}
      onBlur={() => finish(true, false)}
    />
  );
}
