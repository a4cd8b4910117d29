// A covariance from a paper: the matrix as text, and how many rows it was made of.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { data, takeCovariance } from "../state/work";

export function Covariance({ onDone }: { onDone: () => void }): JSX.Element {
  const text = useSignal("");
  const n = useSignal("");
  const rows = Number(n.value);
  const send = async (event: Event): Promise<void> => {
    event.preventDefault();
    await takeCovariance({ text: text.value, n: rows, name: "covariance" });
    if (data.peek() !== null) onDone();
  };
  return (
    <form class="covariance" onSubmit={(e) => void send(e)}>
      <label>
        Matrix, full or its lower triangle, names above
        <textarea rows={6} spellcheck={false} placeholder={"x, m, y\n1\n0.5 1\n0.2 0.6 1"} value={text.value} onInput={(e) => (text.value = e.currentTarget.value)} />
      </label>
      <div class="drop-row">
        <label class="inline">
          Rows <input type="text" inputMode="numeric" size={8} placeholder="412" value={n.value} onInput={(e) => (n.value = e.currentTarget.value)} />
        </label>
        <button type="submit" class="button primary" disabled={text.value.trim() === "" || !(rows > 1)}>Use it</button>
      </div>
    </form>
  );
}
