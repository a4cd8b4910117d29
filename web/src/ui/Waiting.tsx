// Work that takes longer than a tenth of a second shows that it runs, and can be stopped.

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Remote } from "../api/remote";

export function Waiting({ of }: { of: Remote<unknown> | Remote<never> }): JSX.Element | null {
  const { since, stopped } = of.state.value;
  const first = of.after?.state.value;
  if (first && (first.since !== null || first.stopped !== null)) return null; // that is waited for in its place
  if (stopped === null) return <WaitingFor since={since} words={of.words} onStop={() => of.stop()} />;
  return (
    <div class="waiting">
      <span role="status">{of.words}: stopped.</span>
      <button type="button" class="button small" onClick={() => of.again()}>Go on</button>
    </div>
  );
}

interface Props {
  since: number | null;
  words: string;
  onStop: () => void;
}

export function WaitingFor({ since, words, onStop }: Props): JSX.Element | null {
  const [now, tick] = useState(0);
  useEffect(() => {
    if (since === null) return;
    const clock = setInterval(() => tick(performance.now()), 100);
    return () => clearInterval(clock);
  }, [since]);
  if (since === null || now - since < 100) return null;
  const seconds = (now - since) / 1000;
  return (
    <div class="waiting">
      <span class="bar" aria-hidden="true" />
      <span role="status">{words} …</span>
      {seconds >= 1 && <span class="soft">{seconds.toFixed(0)} s</span>}
      <button type="button" class="button small" onClick={onStop}>Stop</button>
    </div>
  );
}
