// One kind of request: the newest alone counts, the last value stays until there is another, and it can be stopped.

import { signal, type Signal } from "@preact/signals";
import { PageError, within } from "./client";

export interface State<T> {
  value: T | null;
  error: PageError | null;
  /** When the request under way was sent; null if there is none. */
  since: number | null;
  /** What the value belongs to: the body that was sent. */
  asked: object | null;
  /** How many requests have been answered, well or badly. */
  turn: number;
  /** What somebody stopped, to be asked again; null if nothing. */
  stopped: object | null;
}

let last = 0;

/** Numbers grow over the whole life of a tab, reloads included. */
function next(): number {
  last = Math.max(last + 1, Date.now());
  return last;
}

export class Remote<T> {
  readonly state: Signal<State<T>> = signal({ value: null, error: null, since: null, asked: null, turn: 0, stopped: null });
  private running: AbortController | null = null;
  private body: object = {};
  private readonly followers: { stop(): void; again(): void }[] = [];

  constructor(
    readonly kind: string,
    /** What is being done, for people: "Fitting the model". */
    readonly words: string,
    /** Whether the server, too, drops what is older of this kind; this side does so in any case. */
    readonly numbered = true,
    /** What has to be there first, and is waited for in its place. */
    readonly after: Remote<unknown> | null = null,
  ) {
    after?.followers.push(this);
  }

  get value(): T | null {
    return this.state.value.value;
  }

  get error(): PageError | null {
    return this.state.value.error;
  }

  get busy(): boolean {
    return this.state.value.since !== null;
  }

  async ask(body: object): Promise<T | null> {
    this.running?.abort();
    const mine = new AbortController();
    this.running = mine;
    this.body = body;
    this.state.value = { ...this.state.peek(), since: performance.now(), stopped: null };
    try {
      const value = await within<T>(`/${this.kind}`, this.numbered ? { ...body, number: next() } : body, { signal: mine.signal });
      if (this.running !== mine) return null;
      this.running = null;
      this.state.value = { value, error: null, since: null, asked: body, turn: this.state.peek().turn + 1, stopped: null };
      return value;
    } catch (error) {
      if (this.running !== mine) return null;
      this.running = null;
      const shown = error instanceof PageError ? error : new PageError("internal", String(error));
      const before = this.state.peek();
      this.state.value = shown.silent
        ? { ...before, since: null }
        : { value: shown.code === "gone" ? before.value : null, error: shown, since: null, asked: body, turn: before.turn + 1, stopped: null };
      return null;
    }
  }

  /** A reply that came with that to another request. */
  accept(body: object, found: T | PageError): void {
    this.running?.abort();
    this.running = null;
    const turn = this.state.peek().turn + 1;
    this.state.value = found instanceof PageError
      ? { value: null, error: found, since: null, asked: body, turn, stopped: null }
      : { value: found, error: null, since: null, asked: body, turn, stopped: null };
  }

  /** Stops what is under way, and what waits for it; the last value stays. */
  stop(): void {
    const isUnderWay = this.running !== null;
    this.running?.abort();
    this.running = null;
    if (isUnderWay) this.state.value = { ...this.state.peek(), since: null, stopped: this.body };
    for (const one of this.followers) one.stop();
  }

  /** Goes on with what was stopped. */
  again(): void {
    const { stopped } = this.state.peek();
    if (stopped !== null) void this.ask(stopped);
    for (const one of this.followers) one.again();
  }

  clear(): void {
    this.running?.abort();
    this.running = null;
    const { value, error, since, turn, stopped } = this.state.peek();
    if (value !== null || error !== null || since !== null || stopped !== null) {
      this.state.value = { value: null, error: null, since: null, asked: null, turn, stopped: null };
    }
  }
}
