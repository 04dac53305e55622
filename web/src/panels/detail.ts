/** The switch between visitors' words and engineers' figures. Visitors' words are the default; the choice is remembered. */

import { readChoice, writeChoice } from "../storage";

const KEY = "throng-detail";

/** Wires the switch. The style sheet shows the parts marked `data-for` by the root's `data-detail`. */
export function attachDetail(button: HTMLButtonElement, onChange: () => void): void {
  const root = document.documentElement;
  const apply = (): void => {
    const engineers = readChoice(KEY) === "engineer";
    root.dataset["detail"] = engineers ? "engineer" : "visitor";
    button.setAttribute("aria-checked", String(engineers));
    onChange();
  };
  button.addEventListener("click", () => {
    writeChoice(KEY, root.dataset["detail"] === "engineer" ? "visitor" : "engineer");
    apply();
  });
  apply();
}
