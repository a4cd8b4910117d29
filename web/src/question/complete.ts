// What may be typed next in a question: the names of the graph, and the words of the language.

import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { asked, quoted } from "../graph/model";
import { doc } from "../state/document";

const WORDS: Completion[] = [
  { label: "do(", detail: "set from outside", type: "keyword" },
  { label: "E[", detail: "mean", type: "function" },
  { label: "P(", detail: "distribution or probability", type: "function" },
  { label: "Var[", detail: "variance", type: "function" },
  { label: "SD[", detail: "standard deviation", type: "function" },
  { label: "Cov[", detail: "covariance", type: "function" },
  { label: "Corr[", detail: "correlation", type: "function" },
  { label: "Q(", detail: "quantile: Q(0.9, y | do(x=1))", type: "function" },
  { label: "std(", detail: "in standard deviations", type: "function" },
];
const SIGNS: Completion[] = [
  { label: "~>", detail: "total effect" },
  { label: "->", detail: "direct effect" },
  { label: "<->", detail: "covariance of the errors" },
];

export function complete(context: CompletionContext): CompletionResult | null {
  const word = context.matchBefore(/"[^"]*|[\p{L}_][\p{L}\p{N}_.]*/u);
  const names = asked(doc.peek().graph).map((name): Completion => ({ label: quoted(name), detail: "variable", boost: 5 }));
  if (word !== null) return { from: word.from, options: [...names, ...WORDS] };
  const sign = context.matchBefore(/[~<-]+>?/);
  if (sign !== null) return { from: sign.from, options: SIGNS };
  return context.explicit ? { from: context.pos, options: [...names, ...WORDS, ...SIGNS] } : null;
}
