// From a text to the document: what somebody writes or opens, read by the server.

import { batch } from "@preact/signals";
import { call, session, within } from "../api/client";
import { Remote } from "../api/remote";
import type { About, GraphReply, Notation } from "../api/types";
import { nodes } from "../graph/model";
import { BLANK, change, doc, effectText, fitted, isEmpty, type Document } from "./document";
import { unitOf, withNewcomers, type Positions } from "./places";
import { about, comesWith, data, placed, placing, question, textError, written } from "./work";

const reading = new Remote<GraphReply>("graph", "Reading the graph");
const PATIENCE = 400; // milliseconds; a verdict that takes longer is asked for alone, and the drawing does not wait for it

/** Reads a text that somebody wrote; gives the graph of it, or null and an error under its place. */
export async function readText(text: string, syntax: Notation | "auto", fresh = false): Promise<GraphReply | null> {
  if (text.trim() === "") {
    textError.value = null;
    change(fresh ? BLANK : { ...BLANK, question: "" }, "text");
    return null;
  }
  const [asked, { adjusted }] = [fresh ? "" : question.peek(), doc.peek()];
  const later = !fresh && !isEmpty.peek(); // an edit: the verdict first, then places
  const body = { text, notation: syntax, ...(later ? { layout: false } : {}) };
  const reply = await (asked === "" ? reading.ask(body) : readAndDecide(body, { question: asked, adjusted }));
  if (reply === null) {
    textError.value = reading.error;
    return null;
  }
  batch(() => {
    textError.value = null;
    comesWith(reply, asked, adjusted);
    adopt(reply, fresh);
  });
  return reply;
}

/** Graph and verdict with one request. */
async function readAndDecide(body: object, asks: object): Promise<GraphReply | null> {
  const both = reading.ask({ ...body, ...asks });
  const { since } = reading.state.peek();
  await Promise.race([both, new Promise((done) => setTimeout(done, PATIENCE))]);
  const isLate = since !== null && reading.state.peek().since === since;
  return isLate ? reading.ask(body) : both;
}

function adopt(reply: GraphReply, fresh: boolean): void {
  const before = doc.peek();
  const role = (name: string): string[] => Object.entries(reply.roles).filter(([, r]) => r.includes(name)).map(([v]) => v);
  const [cause, outcome] = [role("exposure")[0] ?? null, role("outcome")[0] ?? null];
  const asks = reply.notation === "dagitty" && cause !== null && outcome !== null && (fresh || cause !== before.cause || outcome !== before.outcome);
  const asked = asks ? { cause, outcome, question: effectText(cause, outcome), adjusted: role("adjusted") } : fresh ? { cause: null, outcome: null, question: "", adjusted: [] } : {};
  change({ graph: reply.graph, ...places(reply, before, fresh), ...asked }, fresh ? "" : "text");
  if (fresh || (doc.peek().auto && nodes(before.graph).length === 0)) fitted.value += 1;
}

/** Places from the text, from the server, or, for a moment, from before: the server is then asked for better ones. */
function places({ graph, positions, layout }: GraphReply, before: Document, fresh: boolean): Partial<Document> {
  if (Object.keys(positions).length > 0) {
    const unit = sameKeys(positions, before.positions) ? before.unit : unitOf(positions);
    return { positions: withNewcomers(graph, positions, layout, unit), unit, auto: false };
  }
  const auto = fresh || before.auto;
  if (layout !== null) return { ...placed({ ...before, graph }, layout, auto), auto };
  placing.value = auto ? JSON.stringify(graph) !== JSON.stringify(before.graph) : nodes(graph).some((v) => !Object.hasOwn(before.positions, v));
  return { auto };
}

const sameKeys = (a: Positions, b: Positions): boolean => Object.keys(a).sort().join("\n") === Object.keys(b).sort().join("\n");

/** Places chosen by the server for everything. */
export async function layOut(): Promise<void> {
  const { graph } = doc.peek();
  const { layout } = await within<GraphReply>("/graph", { graph, layout: true });
  if (layout === null || doc.peek().graph !== graph) return;
  change({ ...placed(doc.peek(), layout, true), auto: true });
  fitted.value += 1;
}

/** Opens a graph with its question, in place of what is there; undo brings it back. */
export async function openGraph(text: string, asked: string | null, syntax: Notation | "auto" = "auto"): Promise<void> {
  const reply = await readText(text, syntax, true);
  if (reply !== null && asked) change({ question: asked }, "question");
}

/** Begins: what the command line named, or what this tab had before a reload. */
export async function begin(): Promise<void> {
  call<About>("/about").then((found) => (about.value = found), () => undefined);
  const found = await session();
  const before = sessionStorage.getItem("halftrek data");
  data.value = found.data.find((d) => d.id === before) ?? null;
  if (found.start !== null && isEmpty.peek() && before === null) {
    const { graph, text, question: asked, notation } = found.start;
    if (graph === null) await openGraph(text, asked, notation);
    else {
      written.accept({}, graph); // the first picture and the text wait for no process
      adopt(graph, true);
      if (asked !== null) change({ question: asked }, "question");
    }
    data.value = found.data.find((d) => d.id === found.start?.data) ?? null;
  }
}
