/** Light or dark: the system's choice, until the reader makes another. */

const KEY = "throng-theme";

/** Wires the button that switches; `onChange` is called whenever other colours apply. */
export function attachTheme(button: HTMLButtonElement, onChange: () => void): void {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;

  const apply = (): void => {
    const chosen = read();
    const dark = chosen === undefined ? system.matches : chosen === "dark";
    root.dataset["theme"] = dark ? "dark" : "light";
    button.setAttribute("aria-label", dark ? "Use light colours" : "Use dark colours");
    onChange();
  };
  button.addEventListener("click", () => {
    write(root.dataset["theme"] === "dark" ? "light" : "dark");
    apply();
  });
  system.addEventListener("change", apply);
  apply();
}

// A browser that refuses storage (private mode, blocked cookies) throws; the choice then lasts as long as the page.
let unsaved: string | undefined;

function read(): string | undefined {
  try {
    return localStorage.getItem(KEY) ?? unsaved;
  } catch {
    return unsaved;
  }
}

function write(theme: string): void {
  unsaved = theme;
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // Kept in `unsaved`.
  }
}
