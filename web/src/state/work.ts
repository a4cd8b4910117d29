// What the server says of the document: one Remote for each kind of request, and when it is asked.

import { computed, effect, signal, untracked } from "@preact/signals";
import { call, generation, PageError, reach, renewed, session, upload, within } from "../api/client";
import { Remote } from "../api/remote";
import type {
  About, AnswerReply, BoundsReply, ChecksReply, DataInfo, DecompositionReply, DistributionReply, DoseReply, EffectsReply, FitReply,
  GraphReply, HelpReply, MatchReply, Notation, SensitivityReply, VerdictReply,
} from "../api/types";
import { sizeOf } from "../graph/look";
import { nodes } from "../graph/model";
import { BLANK, change, doc, effectText, fitted, isEmpty, settle, UNIT, type Document } from "./document";
import { arranged, unitOf, withNewcomers } from "./places";

export const about = signal<About | null>(null);
export const written = new Remote<GraphReply>("graph", "Writing the graph");
export const verdict = new Remote<VerdictReply>("verdict", "Deciding");
export const help = new Remote<HelpReply>("help", "Looking for what would help");
export const match = new Remote<MatchReply>("match", "Matching columns");
export const fit = new Remote<FitReply>("fit", "Fitting the model");
export const answer = new Remote<AnswerReply>("answer", "Estimating");
export const distribution = new Remote<DistributionReply>("distribution", "Seen and done");
export const dose = new Remote<DoseReply>("dose", "Dose and response");
export const routes = new Remote<DecompositionReply>("decomposition", "Path by path");
export const effects = new Remote<EffectsReply>("effects", "Every effect");
export const checks = new Remote<ChecksReply>("checks", "Checking the graph");
export const sensitivity = new Remote<SensitivityReply>("sensitivity", "Varying what is hidden");
export const bounds = new Remote<BoundsReply>("bounds", "Looking for bounds");
export const withData = [fit, answer, distribution, dose, routes, effects, checks, sensitivity, bounds];

export const data = signal<DataInfo | null>(null);
export const uploading = signal<{ name: string; since: number; stop: () => void } | null>(null);
export const dataError = signal<string | null>(null);
/** The error of the text that is being written; the last good graph stays. */
export const textError = signal<PageError | null>(null);

export type Tab = "estimate" | "dose" | "paths" | "checks" | "effects" | "if not";
export const tab = signal<Tab>("estimate");

/** The graph as requests carry it; the same object as long as the graph is the same. */
const pieces = computed(() => JSON.stringify(doc.value.graph));
const roles = (d: Document): Record<string, string[]> =>
  Object.fromEntries([
    ...d.adjusted.map((v): [string, string[]] => [v, ["adjusted"]]),
    ...(d.cause === null ? [] : [[d.cause, ["exposure"]] as [string, string[]]]),
    ...(d.outcome === null ? [] : [[d.outcome, ["outcome"]] as [string, string[]]]),
  ]);

export const graphBody = (d: Document): object => ({ graph: d.graph, positions: d.positions, roles: roles(d) });

/** The question as it is asked: what was typed, if the graph has anything in it. */
export const question = computed(() => (isEmpty.value ? "" : doc.value.question.trim()));
export const isReady = computed(() => data.value !== null && match.value !== null && match.value.missing.length === 0 && !isEmpty.value);
/** Cause and outcome of the question, if it has one of each. */
export const ends = computed((): { cause: string; outcome: string } | null => {
  const asked = verdict.value?.question;
  return asked?.cause && asked.outcome && question.value !== "" ? { cause: asked.cause, outcome: asked.outcome } : null;
});
export const isKnown = computed(() => verdict.value?.verdict.identified === true && verdict.error === null && question.value !== "");

/** Reads a text that somebody wrote; gives the graph of it, or null and an error under its place. */
export async function readText(text: string, syntax: Notation | "auto", fresh = false): Promise<GraphReply | null> {
  if (text.trim() === "") {
    textError.value = null;
    change(fresh ? BLANK : { ...BLANK, question: "" }, "text");
    return null;
  }
  const reply = await reading.ask({ text, notation: syntax });
  if (reply === null) {
    textError.value = reading.error;
    return null;
  }
  textError.value = null;
  adopt(reply, fresh);
  return reply;
}

const reading = new Remote<GraphReply>("graph", "Reading the graph");

function adopt(reply: GraphReply, fresh: boolean): void {
  const before = doc.peek();
  const given = Object.keys(reply.positions).length > 0;
  const auto = !given && (fresh || before.auto);
  const unit = given ? (sameKeys(reply.positions, before.positions) ? before.unit : unitOf(reply.positions)) : auto ? UNIT : before.unit;
  const standing = given ? reply.positions : auto ? arranged(reply.layout ?? {}, widthOf) : before.positions;
  const positions = withNewcomers(reply.graph, standing, reply.layout, unit);
  const role = (name: string): string[] => Object.entries(reply.roles).filter(([, r]) => r.includes(name)).map(([v]) => v);
  const [cause, outcome] = [role("exposure")[0] ?? null, role("outcome")[0] ?? null];
  const asks = reply.notation === "dagitty" && cause !== null && outcome !== null && (fresh || cause !== before.cause || outcome !== before.outcome);
  const asked = asks ? { cause, outcome, question: effectText(cause, outcome), adjusted: role("adjusted") } : fresh ? { cause: null, outcome: null, question: "", adjusted: [] } : {};
  change({ graph: reply.graph, positions, unit, auto, ...asked }, fresh ? "" : "text");
  if (fresh || (auto && nodes(before.graph).length === 0)) fitted.value += 1;
}

const widthOf = (name: string): number => sizeOf(name).width;
const sameKeys = (a: object, b: object): boolean => Object.keys(a).sort().join("\n") === Object.keys(b).sort().join("\n");

/** Places chosen by the server for everything. */
export async function layOut(): Promise<void> {
  const reply = await within<GraphReply>("/graph", { graph: doc.peek().graph, layout: true });
  if (reply.layout === null) return;
  change({ positions: arranged(reply.layout, widthOf), unit: UNIT, auto: true });
  fitted.value += 1;
}

/** Opens a graph with its question, in place of what is there; undo brings it back. */
export async function openGraph(text: string, asked: string | null, syntax: Notation | "auto" = "auto"): Promise<void> {
  const reply = await readText(text, syntax, true);
  if (reply !== null && asked) change({ question: asked }, "question");
}

async function take(request: Promise<{ data: DataInfo }>): Promise<void> {
  dataError.value = null;
  try {
    data.value = (await request).data;
    sessionStorage.setItem("halftrek data", data.value.id);
  } catch (error) {
    if (!(error instanceof PageError && error.silent)) dataError.value = error instanceof Error ? error.message : String(error);
  } finally {
    uploading.value = null;
  }
}

let lastFile: { blob: Blob; name: string } | { path: string; body: object } | null = null;

export function takeFile(file: Blob, name: string): Promise<void> {
  const stop = new AbortController();
  lastFile = { blob: file, name };
  uploading.value = { name, since: performance.now(), stop: () => stop.abort() };
  return take(upload(file, name, stop.signal));
}

export const takeBundled = (name: string): Promise<void> => takeJson("/data/bundled", { name });
export const takeCovariance = (body: object): Promise<void> => takeJson("/data/covariance", body);

function takeJson(path: string, body: object): Promise<void> {
  lastFile = { path, body };
  return take(within(path, body));
}

export function forget(): void {
  const id = data.peek()?.id;
  data.value = null;
  lastFile = null;
  sessionStorage.removeItem("halftrek data");
  if (id !== undefined) void within(`/data/${id}`, undefined, { method: "DELETE" }).catch(() => undefined);
}

/** Begins: what the command line named, or what this tab had before a reload. */
export async function begin(): Promise<void> {
  call<About>("/about").then((found) => (about.value = found), () => undefined);
  const found = await session();
  const before = sessionStorage.getItem("halftrek data");
  data.value = found.data.find((d) => d.id === before) ?? null;
  if (found.start !== null && isEmpty.peek() && before === null) {
    await openGraph(found.start.text, found.start.question, found.start.notation);
    data.value = found.data.find((d) => d.id === found.start?.data) ?? null;
  }
}

function follow(): void {
  effect(() => {
    const d = doc.value;
    generation.value;
    untracked(() => {
      if (nodes(d.graph).length === 0) return written.clear();
      void written.ask(graphBody(d)).then((reply) => {
        if (reply?.layout && doc.peek() === d && nodes(d.graph).some((v) => !Object.hasOwn(d.positions, v))) {
          settle({ positions: withNewcomers(d.graph, d.positions, reply.layout, d.unit) });
        }
      });
    });
  });
  const adjusted = computed(() => JSON.stringify(doc.value.adjusted));
  effect(() => {
    const asked = question.value;
    const [graph, set] = [pieces.value, adjusted.value];
    generation.value;
    untracked(() => void decide(asked, graph, set));
  });
  effect(() => {
    const [graph, chosen] = [pieces.value, data.value];
    generation.value;
    untracked(() => {
      for (const one of withData) one.clear();
      if (chosen === null || isEmpty.peek()) return match.clear();
      void match.ask({ graph: JSON.parse(graph), data: chosen.id });
    });
  });
  effect(() => {
    if (renewed.value === 0) return;
    const file = lastFile;
    data.value = null;
    if (file !== null) void ("blob" in file ? takeFile(file.blob, file.name) : takeJson(file.path, file.body));
  });
}

const PAUSE = 150; // milliseconds; what would help takes long to find, and is not looked for while somebody draws

async function decide(asked: string, graph: string, adjusted: string): Promise<void> {
  if (asked === "") {
    verdict.clear();
    help.clear();
    return;
  }
  const body = { graph: JSON.parse(graph) as object, question: asked, adjusted: JSON.parse(adjusted) as string[] };
  const reply = await verdict.ask(body);
  if (reply === null) return help.clear();
  const { cause, outcome } = reply.question;
  const d = doc.peek();
  if (cause !== d.cause || outcome !== d.outcome) settle({ cause, outcome });
  help.clear();
  const { turn } = verdict.state.peek();
  if (!reply.more) return;
  await new Promise((done) => setTimeout(done, PAUSE));
  if (verdict.state.peek().turn === turn && !verdict.busy) await help.ask(body);
}

follow();
export { reach };
