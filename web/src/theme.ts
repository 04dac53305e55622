/** Light or dark: the system's choice, until the reader makes another. */

import { readChoice, writeChoice } from "./storage";

const KEY = "throng-theme";

/** Wires the button that switches; `onChange` is called whenever other colours apply. */
export function attachTheme(button: HTMLButtonElement, onChange: () => void): void {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;

  const apply = (): void => {
    const chosen = readChoice(KEY);
    const dark = chosen === undefined ? system.matches : chosen === "dark";
    root.dataset["theme"] = dark ? "dark" : "light";
    button.setAttribute("aria-label", dark ? "Use light colours" : "Use dark colours");
    onChange();
  };
  button.addEventListener("click", () => {
    writeChoice(KEY, root.dataset["theme"] === "dark" ? "light" : "dark");
    apply();
  });
  system.addEventListener("change", apply);
  apply();
}
