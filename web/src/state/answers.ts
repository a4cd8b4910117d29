// What is asked of data: the tab that is open decides, and every newer question ends the older.

import { computed, effect, signal, untracked } from "@preact/signals";
import { Remote } from "../api/remote";
import type { AnswerReply, Pair } from "../api/types";
import { quoted } from "../graph/model";
import { doc } from "./document";
import {
  answer, checks, data, distribution, dose, effects, ends, fit, fitting, isKnown, isReady, question, routes, sensitivity, tab, verdict,
} from "./work";

/** The value in do(), from the slider; null until it is moved. */
export const doValue = signal<number | null>(null);
/** The answer at the slider's value: interval and notes, asked for when the slider is let go. */
export const atValue = new Remote<AnswerReply>("answer", "The interval", true, fit);
export const arc = signal<Pair | null>(null);
export const kind = signal<"all" | "total" | "direct" | "indirect">("total");

export const body = (): object => ({ graph: doc.peek().graph, data: data.peek()?.id, ...fitting.peek() });

const key = computed(() => `${JSON.stringify(doc.value.graph)} ${data.value?.id ?? ""} ${JSON.stringify(fitting.value)}`);
const asked = computed(() => (verdict.value !== null && verdict.error === null ? question.value : ""));

effect(() => {
  key.value;
  if (isReady.value) untracked(() => void fit.ask(body()));
});

effect(() => {
  key.value;
  const text = asked.value;
  const ready = isReady.value;
  untracked(() => {
    if (ready && text !== "") void answer.ask({ ...body(), question: text, crude: isKnown.peek() });
    else answer.clear();
  });
});

effect(() => {
  key.value;
  const [pair, ready, open, known] = [ends.value, isReady.value, tab.value, isKnown.value];
  untracked(() => {
    if (!ready || pair === null || !known) {
      distribution.clear();
      dose.clear();
      routes.clear();
      return;
    }
    const { cause, outcome } = pair;
    if (open === "estimate") void distribution.ask({ ...body(), cause, outcome });
    if (open === "dose") void dose.ask({ ...body(), cause, outcome });
    if (open === "paths") void routes.ask({ ...body(), cause, effect: outcome, most: 20 });
  });
});

effect(() => {
  key.value;
  const [ready, open, which] = [isReady.value, tab.value, kind.value];
  untracked(() => {
    if (!ready) return;
    if (open === "checks") void checks.ask(body());
    if (open === "effects") void effects.ask({ ...body(), kind: which });
  });
});

effect(() => {
  key.value;
  const [ready, open, pair, text] = [isReady.value, tab.value, arc.value, asked.value];
  untracked(() => {
    if (ready && open === "if not" && pair !== null && text !== "") void sensitivity.ask({ ...body(), question: text, arc: pair });
    else sensitivity.clear();
  });
});

effect(() => {
  key.value;
  ends.value;
  untracked(() => {
    doValue.value = null;
    atValue.clear();
  });
});

const wanted = signal(false);

/** Asks for the interval at the slider's value; after the answer itself, which a newer request of its kind would end. */
export function release(): void {
  wanted.value = true;
}

effect(() => {
  if (!wanted.value || answer.busy) return;
  untracked(() => {
    wanted.value = false;
    askAtValue();
  });
});

function askAtValue(): void {
  const [pair, value] = [ends.peek(), doValue.peek()];
  if (pair === null || value === null) return;
  void atValue.ask({ ...body(), question: `P(${quoted(pair.outcome)} | do(${quoted(pair.cause)}=${plainNumber(value)}))` });
}

/** A number as a question writes it: all its digits, no exponent that the language would not read. */
export const plainNumber = (x: number): string => String(Number(x.toPrecision(6)));
