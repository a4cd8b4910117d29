// Everything can be taken away: pictures, texts, tables, the report, the analysis, the lines of Python.

import { PageError, sendWithin } from "../api/client";
import { doc } from "../state/document";
import { about, data, fitting, graphBody, isReady, question } from "../state/work";
import type { Entry, Item } from "./Menu";
import { say } from "./say";

async function take(format: string, withData: boolean): Promise<void> {
  const d = doc.peek();
  const asked = question.peek();
  const body = {
    ...graphBody(d),
    format,
    ...(withData && isReady.peek() ? { data: data.peek()?.id, ...fitting.peek() } : {}),
    ...(asked === "" ? {} : { questions: [asked] }),
    cause: d.cause,
    outcome: d.outcome,
  };
  say("Making the file …");
  try {
    const response = await sendWithin("/export", body);
    const name = decodeURIComponent(/filename\*=UTF-8''(\S+)/.exec(response.headers.get("Content-Disposition") ?? "")?.[1] ?? `halftrek.${format}`);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await response.blob());
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 5000);
    say(`${name} is in your downloads.`);
  } catch (error) {
    say(error instanceof PageError ? error.message : String(error), "bad");
  }
}

export function exportMenu(): Entry[] {
  const ready = isReady.peek();
  const extras = about.peek()?.extras ?? {};
  const item = (label: string, format: string, hint: string, needsData = false, extra?: string): Item => ({
    label,
    hint,
    disabled: (needsData && !ready) || (extra !== undefined && extras[extra] === false),
    act: () => void take(format, needsData || ready),
  });
  return [
    { heading: "Picture" },
    item("SVG", "svg", ".svg"),
    item("PNG", "png", ".png", false, "plot"),
    item("TikZ", "tikz", ".tex"),
    { heading: "Graph" },
    item("dagitty", "dagitty", ".dag"),
    item("lavaan", "lavaan", ".lav"),
    { heading: ready ? "Numbers" : "Numbers (with data)" },
    item("Table as CSV", "csv", ".csv", true),
    item("Table as LaTeX", "latex", ".tex", true),
    item("Table for Word", "word", ".docx", true),
    item("Report", "report", ".html", true, "report"),
    { heading: "To do it again" },
    item("Analysis file", "analysis", ".toml", true),
    item("Python lines", "python", ".py"),
  ];
}
