// Columns and variables: what does not match is named, with the nearest column to take instead.

import type { JSX } from "preact";
import { rename, renameAll, toggleHidden } from "../graph/actions";
import { isHidden } from "../graph/model";
import { doc } from "../state/document";
import { match } from "../state/work";

export function Matching(): JSX.Element | null {
  const found = match.value;
  if (found === null || found.missing.length === 0) return null;
  const { graph } = doc.value;
  const likely = new Map<string, string>(); // the variable that each column is likely to be
  for (const { variable, nearest } of found.missing) {
    const [column] = nearest.filter((c) => !likely.has(c));
    if (column !== undefined) likely.set(column, variable);
  }
  return (
    <div class="matching" role="group" aria-label="Variables without a column">
      <p><strong>{found.missing.length === 1 ? "One variable has" : `${found.missing.length} variables have`} no column in the data.</strong></p>
      {likely.size > 1 && (
        <p><button type="button" class="button small" onClick={() => renameAll([...likely].map(([column, variable]) => [variable, column]))}>Use these for all: {[...likely.keys()].join(", ")}</button></p>
      )}
      <ul>
        {found.missing.map(({ variable, nearest }) => (
          <li key={variable}>
            <span class="name">{variable}</span>
            <span class="soft">is</span>
            <select
              aria-label={`The column that is ${variable}`}
              value=""
              onChange={(e) => {
                if (e.currentTarget.value !== "") rename(variable, e.currentTarget.value);
              }}
            >
              <option value="">choose a column</option>
              {[...new Set([...nearest, ...found.unused])].map((c) => <option key={c} value={c}>{c}</option>)}
            </select>
            {nearest[0] !== undefined && (
              <button type="button" class="button small" onClick={() => rename(variable, nearest[0] ?? variable)}>Use {nearest[0]}</button>
            )}
            {!isHidden(graph, variable) && (
              <button type="button" class="button small" onClick={() => toggleHidden(variable)}>It is hidden</button>
            )}
          </li>
        ))}
      </ul>
    </div>
  );
}
