// A formula, typeset; as text if it cannot be.

import katex from "katex";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

export function Formula({ latex, text, block = false }: { latex: string | null; text: string; block?: boolean }): JSX.Element {
  const host = useRef<HTMLSpanElement>(null);
  useEffect(() => { // after the verdict is on the screen: a long formula takes a while to set
    const element = host.current;
    if (element === null) return;
    if (latex === null) return void (element.textContent = text);
    try {
      katex.render(folded(latex), element, { displayMode: block, throwOnError: true, trust: false, strict: false, maxSize: 20, maxExpand: 500 });
    } catch {
      element.textContent = text;
    }
  }, [latex, text, block]);
  return <span ref={host} class={block ? "formula block" : "formula"} tabIndex={block ? 0 : undefined} role={block ? "group" : undefined} aria-label={block ? `Formula: ${text}` : undefined} />;
}

/** A formula and the lines that explain its letters, one under the other. */
function folded(latex: string): string {
  const [head, ...rest] = latex.split(/\\quad\\text\{where \}\s*/);
  if (head === undefined || rest.length === 0) return latex;
  const lines = rest.join(" ").split(/,\\;\s*|;\\;\s*/);
  return `\\begin{array}{l}${head}\\\\[0.5em]\\small\\text{where }${lines.map((l) => `\\small ${l}`).join("\\\\[0.15em]\\phantom{\\small\\text{where }}")}\\end{array}`;
}
