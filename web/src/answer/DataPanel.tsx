// Data: a file that is dropped or chosen, a bundled set, or a covariance that is pasted.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { about, data, dataError, fit, forget, takeBundled, takeFile, uploading } from "../state/work";
import { Icon } from "../ui/icons";
import { MenuButton } from "../ui/Menu";
import { bytes, count } from "../ui/numbers";
import { WaitingFor } from "../ui/Waiting";
import { Covariance } from "./Covariance";

export function DataPanel(): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  const pasting = useSignal(false);
  const chosen = data.value;
  const busy = uploading.value;
  return (
    <div class="data-panel">
      {chosen === null ? (
        <div class="drop" data-drop>
          <Icon name="file" />
          <p>
            <strong>Drop a file</strong> of rows here: CSV, Parquet or Arrow
          </p>
          <div class="drop-row">
            <button type="button" class="button" onClick={() => input.current?.click()}>Choose a file</button>
            <MenuButton
              label="Bundled data"
              items={() => (about.peek()?.datasets ?? []).map((d) => ({ label: d.title || d.name, hint: count(d.n), title: d.description, act: () => void takeBundled(d.name) }))}
            >
              Bundled data
            </MenuButton>
            <button type="button" class="button" aria-expanded={pasting.value} onClick={() => (pasting.value = !pasting.value)}>Paste a covariance</button>
          </div>
          <p class="soft small">Data stay on this machine.</p>
        </div>
      ) : (
        <div class="data-row">
          <Icon name="file" />
          <span class="data-name" title={chosen.name}>{chosen.name}</span>
          <span class="soft">
            {chosen.columns.length} columns{rows(chosen.n ?? fit.value?.fit.n ?? null)}
            {chosen.kind === "covariance" ? ", a covariance" : chosen.bytes > 0 ? `, ${bytes(chosen.bytes)}` : ""}
          </span>
          <button type="button" class="tool" aria-label={`Remove the data ${chosen.name}`} title="Remove these data" onClick={forget}><Icon name="close" /></button>
        </div>
      )}
      <input
        ref={input}
        type="file"
        class="unseen"
        tabIndex={-1}
        aria-label="A file of rows"
        accept=".csv,.tsv,.txt,.parquet,.arrow,.feather"
        onChange={(e) => {
          const file = e.currentTarget.files?.[0];
          if (file) void takeFile(file, file.name);
          e.currentTarget.value = "";
        }}
      />
      {busy !== null && <WaitingFor since={busy.since} words={`Reading ${busy.name}`} onStop={busy.stop} />}
      {dataError.value !== null && <p class="fault" role="alert">{dataError.value}</p>}
      {pasting.value && chosen === null && <Covariance onDone={() => (pasting.value = false)} />}
    </div>
  );
}

const rows = (n: number | null): string => (n === null ? "" : `, ${count(n)} rows`);
