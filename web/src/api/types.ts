// The server's JSON, as docs/page.md describes it.

export type Pair = [string, string];
export type EdgeKind = "->" | "<->";
export type Edge = [string, EdgeKind, string];
export type Notation = "arrows" | "lavaan" | "dagitty" | "dot";
export type Point = [number, number];
export type Role = "exposure" | "outcome" | "adjusted";

export interface Graph {
  observed: string[];
  directed: Pair[];
  bidirected: Pair[];
  latents: Record<string, string[]>;
  coefficients: Record<string, number | string>;
  /** Hidden variables that have causes, covary, or cause other hidden ones; their edges stand among all edges. */
  hidden: string[];
  variances: Record<string, number | string>;
  intercepts: Record<string, number | string>;
  definitions: Record<string, string>;
}

export interface Place {
  start: number;
  end: number;
  line: number;
  column: number;
}

export interface Note {
  code: string;
  level: "doubt" | "warning" | "note" | "aside";
  text: string;
}

export interface GraphReply {
  graph: Graph;
  notation: Notation;
  texts: Record<Notation, string | null>;
  unwritten: Partial<Record<Notation, string>>;
  positions: Record<string, Point>;
  layout: Record<string, Point> | null;
  roles: Record<string, string[]>;
  notes: Note[];
  /** The verdict, where a question came with the graph; what is wrong with the question does not stop the graph. */
  asked: (VerdictReply & { error: null }) | { error: Fault } | null;
}

export interface Fault {
  code: string;
  sentence: string;
  place: Place | null;
  verdict?: Verdict | null;
  /** The variable of which has to be said what acts. */
  asks?: string;
}

export interface Model {
  names: string[];
  latents: string[];
  T: number[][];
  C: number[][];
  W: number[][];
}

export interface Verdict {
  query: string;
  status: "identified" | "locally identified" | "finite" | "not identified" | "undecided";
  identified: boolean;
  method: string;
  scope: "nonparametric" | "linear";
  estimand: string | null;
  latex: string | null;
  degree: number | null;
  reasons: string[];
  helps: string[];
  witness: { quantity: string; answers: number[]; models: Model[] } | null;
}

export interface CausalPath {
  kind: "causal" | "confounding" | "blocked";
  open: boolean;
  variables: string[];
  edges: Edge[];
  colliders: string[];
  text: string;
}

export interface Asked {
  text: string;
  latex: string | null;
  cause: string | null;
  outcome: string | null;
  causes: string[];
  outcomes: string[];
}

export interface VerdictReply {
  verdict: Verdict;
  question: Asked;
  headline: string;
  paths: { cause: string; outcome: string; complete: boolean; paths: CausalPath[] } | null;
  adjustment_sets: { sets: string[][]; complete: boolean } | null;
  more: boolean;
}

export interface Change {
  code: string;
  kind: "rule out" | "measure" | "instrument" | "mediator" | "know";
  text: string;
  edits: { op: string; edge: Edge | null; variable: string | null }[];
  graph: Graph;
  question: string;
  needs: string | null;
}

export interface HelpReply {
  verdict: Verdict;
  changes: Change[];
}

export interface DataInfo {
  id: string;
  name: string;
  kind: "rows" | "covariance";
  columns: string[];
  bytes: number;
  n: number | null;
}

export interface MatchReply {
  matched: string[];
  missing: { variable: string; nearest: string[] }[];
  unused: string[];
  /** Variables whose columns call themselves ordered. */
  recognised: Record<string, string>;
}

export type ColumnKind = "plain" | "ordered" | "ranked" | "acts" | "behind";

export interface Weighed {
  edge: Edge;
  est: number | null;
  se: number | null;
  ci_low: number | null;
  ci_high: number | null;
  std: number | null;
  note: string;
}

export interface FitReply {
  fit: {
    n: number;
    converged: boolean;
    status: { code: string; message: string };
    notes: string[];
  };
  edges: Weighed[];
}

export interface AnswerReply {
  verdict: Verdict;
  answer: {
    query: string;
    identified: boolean;
    form: string;
    warnings: string[];
    notes: Note[];
    explanation: string;
    interval_kind?: string;
    level?: number;
    /** Of a question that is refused: what the graph and the data leave, where that is quickly known. */
    leaves?: BoundsRecord | null;
    crude?: { value?: number; interval?: [number, number]; distribution?: { mean: number[] } };
  };
  shown: string[];
  rows: { outcome: string; est: number | null; se: number | null; ci_low: number | null; ci_high: number | null; note: string }[];
}

export interface Line {
  at: number;
  mean: number;
  slope: number;
  sd: number;
}

export interface DistributionReply {
  cause: string;
  outcome: string;
  seen: {
    words: string;
    histogram: { left: number[]; width: number; height: number[] } | null;
    normal: { mean: number; sd: number } | null;
  };
  done: Line;
  line: Line | null;
  slider: { low: number; high: number; start: number; values: [number, number] | null };
  span: [number, number];
  notes: Note[];
}

export interface DoseReply {
  cause: string;
  outcome: string;
  level: number;
  apart: boolean;
  points: { at: number; est: number; ci_low: number | null; ci_high: number | null }[];
  line: { at: number; mean: number; slope: number } | null;
  means: { cause: number[]; outcome: number[] } | null;
  notes: Note[];
}

export interface Route {
  path: string;
  est: number | null;
  se: number | null;
  ci_low: number | null;
  ci_high: number | null;
  share: number | null;
  note: string;
}

export interface DecompositionReply {
  decomposition: { cause: string; effect: string; paths: number; level: number; rows: Route[]; total: Route };
}

export interface EffectRow {
  cause: string;
  effect: string;
  kind: string;
  est: number | null;
  se: number | null;
  p: number | null;
  ci_low: number | null;
  ci_high: number | null;
  std: number | null;
  method: string;
  note: string;
}

export interface EffectsReply {
  level: number;
  effects: EffectRow[];
}

export interface ChecksReply {
  checks: {
    measures: Record<string, number | null>;
    tests: Record<string, unknown>[];
    note: string;
  };
  contradicted: { constraint: string; between: Pair | null; given: string[]; p_adjusted: number | null; estimate: number | null }[];
  implied: { between: Pair; given: string[] }[];
}

export interface SensitivityReply {
  sensitivity: {
    question: string;
    arc: Pair;
    covariance: number[];
    correlation: number[];
    estimates: (number | null)[];
    intervals: ([number, number] | null)[];
    level: number;
    zero: number | null;
    zero_correlation: number | null;
  };
}

export interface BoundsRecord {
  /** All values, as intervals in order; an end without limit is null. */
  pieces: [number | null, number | null][];
  /** The outermost ends of the interval for the true value; null on a side without limit. */
  interval: [number | null, number | null] | null;
  level: number;
  certificate: string;
  binding: { low: string[]; high: string[] };
  /** False for an end that models approach and none has. */
  attained: { low: boolean; high: boolean };
  refuted: { statistic: number; p: number } | null;
  notes: Note[];
}

export interface BoundsReply {
  bounds: BoundsRecord;
}

export interface SessionReply {
  session: string;
  start: { text: string; notation: Notation; data: string | null; question: string | null; graph: GraphReply | null } | null;
  data: DataInfo[];
}

export interface About {
  version: string;
  limits: { upload_bytes: number; uploads: number };
  extras: Record<string, boolean>;
  abilities: Record<string, boolean>;
  catalog: { name: string; title: string; description: string; text: string; questions: string[] }[];
  datasets: { name: string; title: string; description: string; n: number; columns: string[]; text: string; question: string | null }[];
}
