// Light or dark: as the machine has it, or as chosen.

import { effect, signal } from "@preact/signals";

const dark = matchMedia("(prefers-color-scheme: dark)");
const chosen = localStorage.getItem("halftrek theme");

export const theme = signal<"light" | "dark">(chosen === "light" || chosen === "dark" ? chosen : dark.matches ? "dark" : "light");

dark.addEventListener("change", () => {
  if (localStorage.getItem("halftrek theme") === null) theme.value = dark.matches ? "dark" : "light";
});

effect(() => {
  document.documentElement.dataset["theme"] = theme.value;
});

export function turn(): void {
  theme.value = theme.peek() === "dark" ? "light" : "dark";
  localStorage.setItem("halftrek theme", theme.value);
}
