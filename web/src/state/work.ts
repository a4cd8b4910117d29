// What the server says of the document: one Remote for each kind of request, and when it is asked.

import { batch, computed, effect, signal, untracked } from "@preact/signals";
import { generation, PageError, reach, renewed, upload, within } from "../api/client";
import { Remote } from "../api/remote";
import type {
  About, AnswerReply, BoundsReply, ChecksReply, ColumnKind, DataInfo, DecompositionReply, DistributionReply, DoseReply, EffectsReply, FitReply,
  GraphReply, HelpReply, MatchReply, SensitivityReply, VerdictReply,
} from "../api/types";
import { sizeOf } from "../graph/look";
import { nodes } from "../graph/model";
import { doc, isEmpty, settle, UNIT, type Document } from "./document";
import { arranged, withNewcomers, type Positions } from "./places";

export const about = signal<About | null>(null);
export const written = new Remote<GraphReply>("graph", "Writing the graph", false); // must not end the reading of a newer text
export const verdict = new Remote<VerdictReply>("verdict", "Deciding");
export const help = new Remote<HelpReply>("help", "Looking for what would help");
export const match = new Remote<MatchReply>("match", "Matching columns");
export const fit = new Remote<FitReply>("fit", "Fitting the model");
export const answer = new Remote<AnswerReply>("answer", "Estimating", true, fit);
export const distribution = new Remote<DistributionReply>("distribution", "Seen and done", true, fit);
export const dose = new Remote<DoseReply>("dose", "Dose and response", true, fit);
export const routes = new Remote<DecompositionReply>("decomposition", "Path by path", true, fit);
export const effects = new Remote<EffectsReply>("effects", "Every effect", true, fit);
export const checks = new Remote<ChecksReply>("checks", "Checking the graph", true, fit);
export const sensitivity = new Remote<SensitivityReply>("sensitivity", "Varying what is hidden", true, fit);
export const bounds = new Remote<BoundsReply>("bounds", "Looking for bounds", true, fit);
export const withData = [fit, answer, distribution, dose, routes, effects, checks, sensitivity, bounds];

export const data = signal<DataInfo | null>(null);
const KINDS = "halftrek kinds";
/** What columns are taken for, where somebody has said so. */
export const kinds = signal<Record<string, ColumnKind>>(JSON.parse(sessionStorage.getItem(KINDS) ?? "{}") as Record<string, ColumnKind>);
/** ... of variables that the graph has: as requests carry it. */
export const fitting = computed((): { fitting?: { kinds: Record<string, ColumnKind> } } => {
  const known = Object.entries(kinds.value).filter(([v]) => doc.value.graph.observed.includes(v));
  return known.length === 0 || data.value?.kind === "covariance" ? {} : { fitting: { kinds: Object.fromEntries(known) } };
});

export function setKind(name: string, kind: ColumnKind | null): void {
  const { [name]: _before, ...others } = kinds.peek();
  kinds.value = kind === null ? others : { ...others, [name]: kind };
  sessionStorage.setItem(KINDS, JSON.stringify(kinds.value));
}

function forgetKinds(): void {
  kinds.value = {};
  sessionStorage.removeItem(KINDS);
}

export const uploading = signal<{ name: string; since: number; stop: () => void } | null>(null);
export const dataError = signal<string | null>(null);
/** True while the places of a graph that was written are being chosen: the drawing waits for them. */
export const placing = signal(false);
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
/** True if a fit has an answer: it is identified, or at least so near the estimates and no second solution is known. */
export const isKnown = computed(() => verdict.value?.more === false && verdict.error === null && question.value !== "");

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
  forgetKinds();
  lastFile = null;
  sessionStorage.removeItem("halftrek data");
  if (id !== undefined) void within(`/data/${id}`, undefined, { method: "DELETE" }).catch(() => undefined);
}

function follow(): void {
  const adjusted = computed(() => JSON.stringify(doc.value.adjusted));
  effect(() => {
    const asked = question.value;
    const [graph, set] = [pieces.value, adjusted.value];
    generation.value;
    untracked(() => void decide(asked, graph, set));
  });
  effect(() => {
    const d = doc.value;
    generation.value;
    untracked(() => void write(d));
  });
  effect(() => {
    const [graph, chosen] = [pieces.value, data.value];
    generation.value;
    fitting.value;
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

/** The document in all notations, and places for what has none; for everything if places are chosen for it. */
async function write(d: Document): Promise<void> {
  if (nodes(d.graph).length === 0) {
    placing.value = false;
    return written.clear();
  }
  const anew = placing.peek() && d.auto;
  const reply = await written.ask({ ...graphBody(d), ...(anew ? { layout: true } : {}) });
  if (doc.peek() !== d) return; // a newer one is being written
  const layout = reply?.layout ?? null;
  const lacks = anew || nodes(d.graph).some((v) => !Object.hasOwn(d.positions, v));
  batch(() => {
    placing.value = false;
    if (layout !== null && lacks) settle(placed(d, layout, anew));
  });
}

/** Where the server would put things: everything, or newcomers alone. */
export function placed(d: Document, layout: Positions, anew: boolean): Pick<Document, "positions" | "unit"> {
  const [standing, unit] = anew ? [arranged(layout, widthOf), UNIT] : [d.positions, d.unit];
  return { positions: withNewcomers(d.graph, standing, layout, unit), unit };
}

const widthOf = (name: string): number => sizeOf(name).width;

/** A verdict that came with its graph, for the moment when the graph becomes the document. */
let early: { question: string; graph: string; adjusted: string; found: VerdictReply | PageError } | null = null;

export function comesWith(reply: GraphReply, question: string, adjusted: string[]): void {
  const { asked, graph } = reply;
  const found = asked === null ? null : asked.error === null ? asked : PageError.of(asked.error);
  early = found === null ? null : { question, graph: JSON.stringify(graph), adjusted: JSON.stringify(adjusted), found };
}

/** The verdict that came early, if it is on this; else the server is asked. */
async function decided(asked: string, graph: string, adjusted: string, body: object): Promise<VerdictReply | null> {
  const came = early;
  early = null;
  if (came?.question !== asked || came.graph !== graph || came.adjusted !== adjusted) return verdict.ask(body);
  verdict.accept(body, came.found);
  return verdict.value;
}

const PAUSE = 150; // milliseconds; what would help takes long to find, and is not looked for while somebody draws

async function decide(asked: string, graph: string, adjusted: string): Promise<void> {
  if (asked === "") {
    verdict.clear();
    help.clear();
    return;
  }
  const body = { graph: JSON.parse(graph) as object, question: asked, adjusted: JSON.parse(adjusted) as string[] };
  const reply = await decided(asked, graph, adjusted, body);
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
