// Words that appear for a moment, and are read out by screen readers.

import { signal } from "@preact/signals";
import { Refused } from "../graph/model";

export const said = signal<{ text: string; tone: "plain" | "bad"; turn: number } | null>(null);
let turn = 0;
let timer = 0;

export function say(text: string, tone: "plain" | "bad" = "plain"): void {
  turn += 1;
  said.value = { text, tone, turn };
  clearTimeout(timer);
  timer = window.setTimeout(() => (said.value = null), tone === "bad" ? 6000 : 2600);
}

/** Does it, or says why not. */
export function attempt(change: () => void): boolean {
  try {
    change();
    return true;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    say(error.message, "bad");
    return false;
  }
}
