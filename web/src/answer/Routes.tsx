// The effect path by path.

import type { JSX } from "preact";
import type { Edge, Route } from "../api/types";
import { edgeKey, edges, quoted } from "../graph/model";
import { pointedAt } from "../graph/scene";
import { doc } from "../state/document";
import { routes } from "../state/work";
import { interval, number, percent } from "../ui/numbers";
import { Waiting } from "../ui/Waiting";

export function Routes(): JSX.Element {
  const found = routes.value?.decomposition;
  if (found === undefined) return <><Waiting of={routes} />{routes.error !== null && <p class="fault">{routes.error.message}</p>}</>;
  return (
    <div class={routes.busy ? "stale" : ""}>
      <h3>From {found.cause} to {found.effect}, path by path</h3>
      <Waiting of={routes} />
      <div class="scroll" tabIndex={0} role="group" aria-label="Table of paths">
        <table class="grid-table">
          <thead>
            <tr><th scope="col">Path</th><th scope="col" class="num">Effect</th><th scope="col" class="num">{percent(found.level)} interval</th><th scope="col" class="num">Share</th></tr>
          </thead>
          <tbody>
            {found.rows.map((r) => <Row key={r.path} route={r} />)}
          </tbody>
          <tfoot>
            {found.total.est !== undefined && <Row route={{ ...found.total, path: "all paths together", share: null }} />}
          </tfoot>
        </table>
      </div>
      {found.paths > found.rows.length && <p class="soft">{found.rows.length} of {found.paths} paths are shown.</p>}
    </div>
  );
}

function Row({ route }: { route: Route }): JSX.Element {
  const light = (): void => {
    const names = route.path;
    const on = edges(doc.peek().graph).filter(([a, kind, b]: Edge) => kind === "->" && (names.includes(`${a} -> ${b}`) || names.includes(`${quoted(a)} -> ${quoted(b)}`)));
    pointedAt.value = new Set(on.map(edgeKey));
  };
  return (
    <tr onMouseEnter={light} onMouseLeave={() => (pointedAt.value = new Set())}>
      <th scope="row">{route.path}{route.note !== "" && <span class="soft small"> {route.note}</span>}</th>
      <td class="num">{number(route.est)}</td>
      <td class="num">{interval(route.ci_low, route.ci_high)}</td>
      <td class="num">{route.share === null ? "" : percent(route.share)}</td>
    </tr>
  );
}
