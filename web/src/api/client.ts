// One way to the server: a session of this tab, JSON in and out, errors as sentences, and what to do when it is gone.

import { signal } from "@preact/signals";
import type { DataInfo, Fault, Place, SessionReply, Verdict } from "./types";

const ROOT = "/api/v1";

export type Reach = "here" | "gone" | "foreign";

/** Whether the server answers; "foreign": it is another run of it, which does not know this tab. */
export const reach = signal<Reach>("here");

/** Rises when everything should be asked again: the server was gone and is back. */
export const generation = signal(0);

/** Counts the times that this tab got a new session: what was uploaded before is not in it. */
export const renewed = signal(0);

export class PageError extends Error {
  constructor(
    readonly code: string,
    sentence: string,
    readonly place: Place | null = null,
    readonly verdict: Verdict | null = null,
    readonly asks: string | null = null,
  ) {
    super(sentence);
  }

  static of({ code, sentence, place, verdict, asks }: Fault): PageError {
    return new PageError(code, sentence, place, verdict ?? null, asks ?? null);
  }

  /** Stopped on purpose, or overtaken by a newer request: nothing to show. */
  get silent(): boolean {
    return this.code === "superseded" || this.code === "stopped";
  }
}

interface Options {
  method?: string;
  signal?: AbortSignal;
  raw?: Blob;
}

export async function call<T>(path: string, body?: unknown, options: Options = {}): Promise<T> {
  const response = await send(path, body, options);
  return (await response.json()) as T;
}

export async function send(path: string, body?: unknown, options: Options = {}): Promise<Response> {
  const raw = options.raw;
  const method = options.method ?? (body === undefined && raw === undefined ? "GET" : "POST");
  let response: Response;
  try {
    response = await fetch(ROOT + path, {
      method,
      credentials: "same-origin",
      signal: options.signal ?? null,
      headers: raw ? { "Content-Type": "application/octet-stream" } : body === undefined ? {} : { "Content-Type": "application/json" },
      body: raw ?? (body === undefined ? null : JSON.stringify(body)),
    });
  } catch (error) {
    if (options.signal?.aborted) throw new PageError("stopped", "stopped");
    lost();
    throw new PageError("gone", "The server does not answer.");
  }
  if (response.ok) {
    if (reach.value !== "here") reach.value = "here";
    return response;
  }
  throw await failure(response);
}

async function failure(response: Response): Promise<PageError> {
  if (response.status === 401) reach.value = "foreign";
  try {
    return PageError.of(((await response.json()) as { error: Fault }).error);
  } catch {
    return new PageError("internal", `The server answered with the status ${response.status}.`);
  }
}

let waiting = false;

/** Asks again and again until somebody answers. */
function lost(): void {
  reach.value = "gone";
  if (waiting) return;
  waiting = true;
  const again = (): void => {
    fetch(`${ROOT}/about`, { credentials: "same-origin" }).then(
      (response) => {
        waiting = false;
        reach.value = response.status === 401 ? "foreign" : "here";
        if (response.ok) generation.value += 1;
      },
      () => setTimeout(again, 700),
    );
  };
  setTimeout(again, 700);
}

const KEPT = "halftrek session";
let current: Promise<SessionReply> | null = null;

/** This tab's session: the one it had before a reload if it is still there and no other tab has it, else a new one. */
export function session(): Promise<SessionReply> {
  current ??= open().catch((error: unknown) => {
    current = null;
    throw error;
  });
  return current;
}

async function open(): Promise<SessionReply> {
  const known = sessionStorage.getItem(KEPT);
  if (known !== null && (await held(known))) {
    try {
      return await call<SessionReply>(`/sessions/${known}`);
    } catch (error) {
      if (!(error instanceof PageError) || error.code !== "not found") throw error;
    }
  }
  const made = await call<SessionReply>("/sessions", {});
  sessionStorage.setItem(KEPT, made.session);
  await held(made.session);
  return made;
}

/**
 * Holds the session's name for as long as the tab is open; false if a copy of this tab holds it already.
 * After a reload the page before this one may hold it for a moment more: that is waited for.
 */
function held(name: string): Promise<boolean> {
  if (!("locks" in navigator)) return Promise.resolve(true);
  const [came] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
  const patient = came?.type === "reload" || came?.type === "back_forward";
  const options: LockOptions = patient ? { signal: AbortSignal.timeout(3000) } : { ifAvailable: true };
  return new Promise((resolve) => {
    const forGood = (lock: Lock | null): Promise<void> | undefined => {
      resolve(lock !== null);
      return lock === null ? undefined : new Promise<void>(() => undefined);
    };
    navigator.locks.request(`halftrek ${name}`, options, forGood).catch(() => resolve(false));
  });
}

/** A request within the session; a session that is gone is made anew, once. */
export async function within<T>(path: string, body?: unknown, options: Options = {}): Promise<T> {
  return (await (await sendWithin(path, body, options)).json()) as T;
}

export async function sendWithin(path: string, body?: unknown, options: Options = {}): Promise<Response> {
  const before = await session();
  try {
    return await send(`/sessions/${before.session}${path}`, body, options);
  } catch (error) {
    if (!(error instanceof PageError) || error.code !== "not found" || (await alive(before.session))) throw error;
    current = null;
    sessionStorage.removeItem(KEPT);
    const after = await session();
    renewed.value += 1;
    generation.value += 1;
    return send(`/sessions/${after.session}${path}`, body, options);
  }
}

async function alive(name: string): Promise<boolean> {
  try {
    await call(`/sessions/${name}`);
    return true;
  } catch (error) {
    return !(error instanceof PageError && error.code === "not found");
  }
}

export function upload(file: Blob, name: string, signal: AbortSignal): Promise<{ data: DataInfo }> {
  return within(`/data?name=${encodeURIComponent(name)}`, undefined, { raw: file, signal });
}
