// The third part: data, and what they answer.

import type { JSX } from "preact";
import { data, ends, fit, isKnown, isReady, match, tab, type Tab } from "../state/work";
import { Tabs } from "../ui/Tabs";
import { Waiting } from "../ui/Waiting";
import { Checks } from "./Checks";
import { DataPanel } from "./DataPanel";
import { Dose } from "./Dose";
import { Effects } from "./Effects";
import { Estimate } from "./Estimate";
import { IfNot } from "./IfNot";
import { Kinds, WhatActs } from "./Kinds";
import { Matching } from "./Matching";
import { Routes } from "./Routes";

const PANELS: Record<Tab, () => JSX.Element | null> = { estimate: Estimate, dose: Dose, paths: Routes, checks: Checks, effects: Effects, "if not": IfNot };

export function AnswerPart(): JSX.Element {
  const Panel = PANELS[tab.value];
  const pair = ends.value !== null && isKnown.value;
  return (
    <section class="part answer-part" aria-label="Answer">
      <h2>Answer</h2>
      <DataPanel />
      {data.value !== null && <Waiting of={match} />}
      {data.value !== null && match.error !== null && match.error.code !== "gone" && <p class="fault" role="alert">{match.error.message}</p>}
      {data.value !== null && <Matching />}
      {isReady.value && data.value?.kind === "rows" && <Kinds />}
      {isReady.value && (
        <>
          <Tabs
            label="What the data say"
            chosen={tab.value}
            panel="answer-body"
            tabs={[
              { id: "estimate", label: "Estimate" },
              { id: "dose", label: "Dose", disabled: !pair },
              { id: "paths", label: "Paths", disabled: !pair },
              { id: "checks", label: "Checks" },
              { id: "effects", label: "Effects" },
              { id: "if not", label: "If not" },
            ]}
            onChoose={(next) => (tab.value = next)}
          />
          <div id="answer-body" class="answer-body" role="tabpanel" aria-label={tab.value}>
            <Waiting of={fit} />
            {fit.error !== null && fit.error.code !== "gone" && <p class="fault" role="alert">{fit.error.message}</p>}
            {fit.error !== null && fit.error.asks !== null && <WhatActs variable={fit.error.asks} />}
            {(fit.error === null || fit.error.asks === null) && <Panel />}
          </div>
        </>
      )}
    </section>
  );
}
