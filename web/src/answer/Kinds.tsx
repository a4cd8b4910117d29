// What columns are: continuous, in categories, or known by their ranks alone; and what acts, where a category is a cause.

import type { JSX } from "preact";
import type { ColumnKind } from "../api/types";
import { kinds, match, setKind } from "../state/work";

const WORDS: Record<ColumnKind, string> = {
  plain: "continuous",
  ordered: "ordered categories",
  ranked: "continuous, by its ranks",
  acts: "categories that act",
  behind: "a cut of something continuous, which acts",
};

export function Kinds(): JSX.Element | null {
  const found = match.value;
  if (found === null) return null;
  const said = Object.keys(kinds.value).filter((v) => found.matched.includes(v));
  return (
    <details class="kinds">
      <summary>What the columns are{said.length === 0 ? "" : `: ${said.map((v) => `${v} ${WORDS[kinds.value[v] ?? "plain"]}`).join("; ")}`}</summary>
      <ul>
        {found.matched.map((name) => (
          <li key={name}>
            <span class="name">{name}</span>
            <select
              aria-label={`What ${name} is`}
              value={kinds.value[name] ?? ""}
              onChange={(e) => setKind(name, (e.currentTarget.value || null) as ColumnKind | null)}
            >
              <option value="">{found.recognised[name] === "ordered" ? "ordered categories, as the data say" : "continuous, as it is read"}</option>
              {(Object.keys(WORDS) as ColumnKind[]).filter((kind) => kind !== "plain" || found.recognised[name] !== undefined).map((kind) => (
                <option key={kind} value={kind}>{WORDS[kind]}</option>
              ))}
            </select>
          </li>
        ))}
      </ul>
    </details>
  );
}

/** The question that the data cannot answer: is it the category that acts, or what it is a cut of? */
export function WhatActs({ variable }: { variable: string }): JSX.Element {
  return (
    <div class="matching" role="group" aria-label={`What acts: ${variable}`}>
      <button type="button" class="button" onClick={() => setKind(variable, "acts")}>Being in the category acts</button>
      <button type="button" class="button" onClick={() => setKind(variable, "behind")}>It is a cut of something continuous, which acts</button>
      <button type="button" class="button" onClick={() => setKind(variable, "plain")}>Take it as a number</button>
    </div>
  );
}
