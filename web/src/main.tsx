import "@fontsource-variable/inter/wght.css";
import "katex/dist/katex.min.css";
import "./styles/base.css";
import "./styles/graph.css";
import "./styles/parts.css";
import { render } from "preact";
import { App } from "./App";
import { begin } from "./state/reading";
import "./state/answers";

const page = document.getElementById("page");
if (page !== null) render(<App />, page);
void begin().catch(() => undefined); // what went wrong is shown: the server is gone, or another one
