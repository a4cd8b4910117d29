// Text with completion and errors under their place. It lives in a shadow root, where its sheets are objects of the page:
// a strict policy for content allows these, and no style that is written into the document.

import { acceptCompletion, autocompletion, closeCompletion, completionKeymap, type CompletionSource } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { Annotation, EditorState, type Extension } from "@codemirror/state";
import { Decoration, EditorView, keymap, MatchDecorator, placeholder, ViewPlugin, type DecorationSet } from "@codemirror/view";
import type { Place } from "../api/types";

const External = Annotation.define<boolean>();

const style = EditorView.theme({
  "&": { fontSize: "14px", color: "var(--ink)", backgroundColor: "transparent", height: "100%" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6", overflow: "auto" },
  ".cm-content": { padding: "10px 0", caretColor: "var(--ink)" },
  ".cm-line": { padding: "0 14px" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--select)" },
  ".cm-placeholder": { color: "var(--soft)" },
  ".cm-arrow": { color: "var(--blue-text)", fontWeight: "600" },
  ".cm-arc": { color: "var(--green-text)", fontWeight: "600" },
  ".cm-word": { color: "var(--purple-text)" },
  ".cm-note": { color: "var(--soft)", fontStyle: "italic" },
  ".cm-lintRange-error": { backgroundImage: "none", boxShadow: "inset 0 -2px 0 var(--vermilion)", backgroundColor: "var(--bad-bg)" },
  ".cm-lintPoint-error:after": { borderBottomColor: "var(--vermilion)" },
  ".cm-tooltip": { border: "1px solid var(--line)", backgroundColor: "var(--card)", color: "var(--ink)", borderRadius: "8px", boxShadow: "var(--shadow)", overflow: "hidden" },
  ".cm-tooltip.cm-tooltip-lint": { padding: "4px 8px", fontFamily: "var(--sans)", fontSize: "13px" },
  ".cm-diagnostic-error": { borderLeft: "none" },
  ".cm-tooltip-autocomplete ul": { fontFamily: "var(--mono)", padding: "4px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "3px 10px", borderRadius: "5px" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--blue-solid)", color: "white" },
  ".cm-completionDetail": { fontFamily: "var(--sans)", fontStyle: "normal", opacity: "0.85", marginLeft: "14px" },
});

/** Text over a selection, put in by the editor: the browser itself would copy the colours of what it replaces. */
const overSelection = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { main } = view.state.selection;
    if (event.inputType !== "insertText" || event.data === null || main.empty || view.composing) return false;
    event.preventDefault();
    view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
    return true;
  },
});

const single = EditorView.theme({ ".cm-content": { padding: "9px 0" }, ".cm-scroller": { overflow: "auto hidden", scrollbarWidth: "none" } });

const marks = new MatchDecorator({
  regexp: /("(?:[^"\\\n]|\\.)*")|(#.*|\/\/.*)|(<->|~~)|(->|<-|=~|~>|~|--)|\b(latent|dag|digraph|graph|do|E|P|Var|SD|Cov|Corr|Q|std|exposure|outcome|adjusted|pos)\b/g,
  decoration: (m) => (m[1] ? null : Decoration.mark({ class: m[2] ? "cm-note" : m[3] ? "cm-arc" : m[4] ? "cm-arrow" : "cm-word" })),
});

const colouring = ViewPlugin.define(
  (view) => ({
    found: marks.createDeco(view) as DecorationSet,
    update(update) {
      this.found = marks.updateDeco(update, this.found);
    },
  }),
  { decorations: (v) => v.found },
);

export interface Settings {
  host: HTMLElement;
  label: string;
  text: string;
  hint: string;
  oneLine?: boolean;
  complete?: CompletionSource;
  onText: (text: string) => void;
  onEnter?: () => void;
}

export class Editor {
  readonly view: EditorView;

  constructor({ host, label, text, hint, oneLine, complete, onText, onEnter }: Settings) {
    const root = host.shadowRoot ?? host.attachShadow({ mode: "open", delegatesFocus: true });
    const parent = document.createElement("div");
    parent.style.height = "100%";
    root.replaceChildren(parent);
    const lines: Extension[] = oneLine
      ? [
          single,
          EditorState.transactionFilter.of((t) => (t.newDoc.lines > 1 ? [] : t)),
          keymap.of([{ key: "Enter", run: (view) => acceptCompletion(view) || (onEnter?.(), true) }]),
        ]
      : [EditorView.lineWrapping];
    this.view = new EditorView({
      root,
      parent,
      state: EditorState.create({
        doc: text,
        extensions: [
          style,
          history(),
          colouring,
          overSelection,
          placeholder(hint),
          complete === undefined ? [] : autocompletion({ override: [complete], icons: false, activateOnTyping: true }),
          lines,
          keymap.of([{ key: "Escape", run: closeCompletion }, ...completionKeymap, ...historyKeymap, ...defaultKeymap]),
          EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0", spellcheck: "false", autocorrect: "off", autocapitalize: "off" }),
          EditorView.updateListener.of((update) => {
            const own = update.transactions.every((t) => t.annotation(External) !== true);
            if (update.docChanged && own) onText(update.state.doc.toString());
          }),
        ],
      }),
    });
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  get isFocused(): boolean {
    return this.view.hasFocus;
  }

  /** Text from elsewhere: no step of this editor's own, and not told back. */
  replace(text: string): void {
    if (text === this.text) return;
    this.view.dispatch({
      changes: { from: 0, to: this.view.state.doc.length, insert: text },
      annotations: External.of(true),
    });
  }

  /** Underlines the place; the server counts letters, the editor units of UTF-16. */
  fault(place: Place | null, sentence: string): void {
    const { text } = this;
    const found: Diagnostic[] = [];
    if (place !== null) {
      const letters = [...text];
      const unit = (n: number): number => letters.slice(0, n).join("").length;
      const from = Math.min(unit(place.start), text.length);
      found.push({ from, to: Math.max(from, Math.min(unit(place.end), text.length)), severity: "error", message: sentence });
    }
    this.view.dispatch(setDiagnostics(this.view.state, found));
  }

  destroy(): void {
    this.view.destroy();
  }
}
