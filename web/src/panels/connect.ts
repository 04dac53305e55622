/**
 * The instructions for entering the world: the login URI, the command line for other viewers, and buttons that copy them. On a phone
 * they are folded, since viewers do not run there.
 */

import { part } from "../dom";
import type { Hello } from "../net/protocol";

/** Time for which a button confirms the copy. */
const COPIED_MS = 1_600;

export class ConnectPanel {
  private readonly uri = part("login-uri", HTMLElement);
  private readonly command = part("login-command", HTMLElement);
  private readonly gridNames = document.querySelectorAll("[data-grid-name]");

  constructor() {
    attachFold(part("connect", HTMLDetailsElement));
    attachCopy(part("copy-uri", HTMLButtonElement), this.uri);
    attachCopy(part("copy-command", HTMLButtonElement), this.command);
  }

  showHello(hello: Hello): void {
    this.uri.textContent = hello.login_uri;
    this.command.textContent = `firestorm --loginuri ${hello.login_uri}`;
    for (const element of this.gridNames) {
      element.textContent = hello.grid;
    }
    part("copy-uri", HTMLButtonElement).disabled = false;
    part("copy-command", HTMLButtonElement).disabled = false;
  }
}

/** Unfolded where there is room beside the map, and by links that lead to it. */
function attachFold(fold: HTMLDetailsElement): void {
  const wide = window.matchMedia("(width >= 960px)");
  const follow = (): void => {
    fold.open = wide.matches;
  };
  wide.addEventListener("change", follow);
  follow();
  for (const link of document.querySelectorAll<HTMLAnchorElement>('a[href="#connect"]')) {
    link.addEventListener("click", () => (fold.open = true));
  }
}

function attachCopy(button: HTMLButtonElement, source: HTMLElement): void {
  const label = button.textContent;
  let timer: ReturnType<typeof setTimeout> | undefined;
  button.addEventListener("click", () => {
    void copy(source).then((copied) => {
      button.textContent = copied ? "Copied" : "Press Ctrl+C";
      button.dataset["done"] = String(copied);
      clearTimeout(timer);
      timer = setTimeout(() => {
        button.textContent = label;
        delete button.dataset["done"];
      }, COPIED_MS);
    });
  });
}

/** Copies an element's text. Where the clipboard is closed to us (plain HTTP from another host), it is left selected. */
async function copy(source: HTMLElement): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(source.textContent);
    return true;
  } catch {
    window.getSelection()?.selectAllChildren(source);
    return document.execCommand("copy");
  }
}
