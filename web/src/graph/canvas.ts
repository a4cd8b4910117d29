// The drawing itself: a scene goes in, what people do with pointer and wheel comes out. It knows nothing of the server.

import cytoscape, { type Core, type EventObject, type NodeSingular } from "cytoscape";
import type { Edge, Graph, Point } from "../api/types";
import { at, point } from "../state/places";
import { bendsOf, type Box } from "./bends";
import { look, sizeOf } from "./look";
import { edgeKey, edges, isHidden, nodes } from "./model";

export interface Scene {
  graph: Graph;
  positions: Record<string, Point>;
  unit: number;
  cause: string | null;
  outcome: string | null;
  adjusted: string[];
  missing: string[];
  weights: Map<string, { text: string; known: boolean }>;
  lit: Map<string, "causal" | "confounding" | "blocked">;
  bright: Set<string>;
  contradicted: { between: [string, string]; text: string }[];
  focus: string | null;
}

export type Target = { kind: "node"; name: string } | { kind: "edge"; edge: Edge } | { kind: "ground"; at: Point };

export interface Listener {
  tapped(target: Target, event: MouseEvent): void;
  doubled(target: Target, event: MouseEvent): void;
  asked(target: Target, event: MouseEvent): void;
  moved(positions: Record<string, Point>): void;
  hovered(name: string | null): void;
  viewed(): void;
}

/** Those who want nothing to move see it jump. */
const still = matchMedia("(prefers-reduced-motion: reduce)");
const same = (a: { x: number; y: number }, b: { x: number; y: number }): boolean => Math.hypot(a.x - b.x, a.y - b.y) < 0.01;
const nodeId = (name: string): string => `n${name}`;

export class Canvas {
  readonly cy: Core;
  private unit = 1;

  constructor(container: HTMLElement, listener: Listener) {
    this.cy = cytoscape({
      container,
      style: look(),
      minZoom: 0.15,
      maxZoom: 3,
      boxSelectionEnabled: true,
      selectionType: "single",
    });
    const { cy } = this;
    const pointer = (e: EventObject): MouseEvent => e.originalEvent as unknown as MouseEvent;
    cy.on("tap", (e) => listener.tapped(this.targetOf(e), pointer(e)));
    cy.on("dbltap", (e) => listener.doubled(this.targetOf(e), pointer(e)));
    cy.on("cxttap", (e) => listener.asked(this.targetOf(e), pointer(e)));
    cy.on("mouseover", "node", (e) => listener.hovered((e.target as NodeSingular).data("name") as string));
    cy.on("mouseout", "node", () => listener.hovered(null));
    cy.on("dragfree", "node", () => listener.moved(this.places()));
    cy.on("drag", "node", () => {
      this.bend();
      listener.viewed();
    });
    cy.on("pan zoom resize", () => listener.viewed());
  }

  destroy(): void {
    this.cy.destroy();
  }

  restyle(): void {
    this.cy.style(look());
  }

  show(scene: Scene, animate: boolean): void {
    const { cy } = this;
    this.unit = scene.unit;
    cy.batch(() => {
      const wanted = new Set<string>();
      for (const name of nodes(scene.graph)) wanted.add(nodeId(name));
      const drawn: [string, Edge][] = edges(scene.graph).map((edge) => [edgeKey(edge), edge]);
      for (const [id] of drawn) wanted.add(id);
      for (const { between } of scene.contradicted) wanted.add(`c${JSON.stringify(between)}`);
      cy.elements().filter((e) => !wanted.has(e.id())).remove();
      for (const name of nodes(scene.graph)) this.showNode(scene, name, animate);
      for (const [id, edge] of drawn) this.showEdge(scene, id, edge);
      for (const { between, text } of scene.contradicted) {
        const id = `c${JSON.stringify(between)}`;
        if (cy.getElementById(id).empty()) {
          cy.add({ group: "edges", data: { id, source: nodeId(between[0]), target: nodeId(between[1]), label: text, bend: 60, weight: 0.5 }, classes: "contradicted", selectable: false });
        }
      }
    });
    this.bend();
  }

  private showNode(scene: Scene, name: string, animate: boolean): void {
    const { cy } = this;
    const [x, y] = at(scene.positions, name) ?? [0, 0];
    const position = { x: x * scene.unit, y: y * scene.unit };
    const id = nodeId(name);
    let node = cy.getElementById(id);
    if (node.empty()) {
      node = cy.add({ group: "nodes", data: { id, name, label: name, ...sizeOf(name) }, position });
    } else if (node.grabbed() || same(node.position(), position)) {
      // it stands where it should
    } else if (animate && !still.matches) {
      node.animate({ position }, { duration: 180, queue: false, complete: () => this.bend() });
    } else {
      node.position(position);
    }
    const classes = [
      isHidden(scene.graph, name) ? "hidden" : "",
      name === scene.cause ? "cause" : "",
      name === scene.outcome ? "outcome" : "",
      scene.adjusted.includes(name) ? "adjusted" : "",
      scene.missing.includes(name) ? "missing" : "",
      scene.focus === id ? "focus" : "",
    ];
    node.classes(classes.filter(Boolean));
  }

  private showEdge(scene: Scene, id: string, [a, kind, b]: Edge): void {
    const { cy } = this;
    let edge = cy.getElementById(id);
    if (edge.empty()) {
      edge = cy.add({ group: "edges", data: { id, source: nodeId(a), target: nodeId(b), edge: [a, kind, b], label: "" } });
    }
    const weight = scene.weights.get(id);
    const lit = scene.lit.get(id);
    edge.data("label", weight?.text ?? "");
    const classes = [
      kind === "<->" || isHidden(scene.graph, a) ? "hidden" : "",
      kind === "<->" ? "both" : "",
      weight !== undefined && !weight.known ? "unknown" : "",
      lit ?? "",
      scene.bright.size > 0 ? (scene.bright.has(id) ? "bright" : "dim") : "",
      scene.focus === id ? "focus" : "",
    ];
    edge.classes(classes.filter(Boolean));
  }

  /** Chooses curves anew for where the variables are now. */
  private bend(): void {
    const { cy } = this;
    const boxes = new Map<string, Box>();
    cy.nodes().forEach((n) => {
      boxes.set(n.data("name") as string, { ...n.position(), width: n.data("width") as number, height: n.data("height") as number });
    });
    const drawn = cy.edges().filter((e) => e.data("edge") !== undefined);
    const bends = bendsOf(drawn.map((e) => e.data("edge") as Edge), boxes);
    cy.batch(() => {
      drawn.forEach((e) => {
        const bend = bends.get(e.id()) ?? null;
        if (bend === null) e.removeData("bend");
        else e.data({ bend, weight: 0.5 });
      });
    });
  }

  private targetOf(e: EventObject): Target {
    if (e.target === this.cy) return { kind: "ground", at: point(e.position.x / this.unit, e.position.y / this.unit) };
    const element = e.target as NodeSingular;
    const edge = element.data("edge") as Edge | undefined;
    if (edge !== undefined) return { kind: "edge", edge };
    const name = element.data("name") as string | undefined;
    return name === undefined ? { kind: "ground", at: [0, 0] } : { kind: "node", name };
  }

  places(): Record<string, Point> {
    const entries = this.cy.nodes().map((n): [string, Point] => {
      const { x, y } = n.position();
      return [n.data("name") as string, point(x / this.unit, y / this.unit)];
    });
    return Object.fromEntries(entries);
  }

  /** Where a variable is on the screen, relative to the drawing. */
  boxOf(name: string): Box | null {
    const node = this.cy.getElementById(nodeId(name)) as NodeSingular;
    if (node.empty()) return null;
    const { x, y } = node.renderedPosition();
    return { x, y, width: node.renderedOuterWidth(), height: node.renderedOuterHeight() };
  }

  /** The variable under a place of the screen, relative to the drawing. */
  nodeAt(x: number, y: number): string | null {
    for (const node of this.cy.nodes().toArray().reverse()) {
      const name = node.data("name") as string;
      const box = this.boxOf(name);
      if (box !== null && Math.abs(x - box.x) <= box.width / 2 + 4 && Math.abs(y - box.y) <= box.height / 2 + 4) return name;
    }
    return null;
  }

  /** A place of the screen in units of the document. */
  placeAt(x: number, y: number): Point {
    const [pan, zoom] = [this.cy.pan(), this.cy.zoom()];
    return point((x - pan.x) / zoom / this.unit, (y - pan.y) / zoom / this.unit);
  }

  middle(): Point {
    return this.placeAt(this.cy.width() / 2, this.cy.height() / 2);
  }

  selected(): { names: string[]; edges: Edge[] } {
    const names = this.cy.nodes(":selected").map((n) => n.data("name") as string);
    const drawn = this.cy.edges(":selected").map((e) => e.data("edge") as Edge | undefined);
    return { names, edges: drawn.filter((e): e is Edge => e !== undefined) };
  }

  select(names: string[]): void {
    this.cy.elements().unselect();
    for (const name of names) this.cy.getElementById(nodeId(name)).select();
  }

  mark(name: string | null): void {
    this.cy.nodes(".target").removeClass("target");
    if (name !== null) this.cy.getElementById(nodeId(name)).addClass("target");
  }

  zoomBy(factor: number): void {
    const { cy } = this;
    cy.zoom({ level: cy.zoom() * factor, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } });
  }

  /** All of the drawing in view, and never larger than life. */
  fit(): void {
    const { cy } = this;
    if (cy.nodes().empty()) return;
    cy.fit(cy.elements(), cy.nodes().length > 12 ? 34 : 56);
    if (cy.zoom() > 1.15) {
      cy.zoom(1.15);
      cy.center(cy.elements());
    }
  }

  /** Brings a variable into view if it is outside of it. */
  reveal(name: string): void {
    const box = this.boxOf(name);
    const { cy } = this;
    if (box === null || (box.x > 20 && box.y > 20 && box.x < cy.width() - 20 && box.y < cy.height() - 20)) return;
    cy.center(cy.getElementById(nodeId(name)));
  }

  focusId(target: Target | null): string | null {
    if (target === null || target.kind === "ground") return null;
    return target.kind === "node" ? nodeId(target.name) : edgeKey(target.edge);
  }
}
