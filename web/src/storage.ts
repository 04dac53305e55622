/** Choices of the reader that outlive the page. */

// A browser that refuses storage (private mode, blocked cookies) throws; a choice then lasts as long as the page.
const unsaved = new Map<string, string>();

export function readChoice(key: string): string | undefined {
  try {
    return localStorage.getItem(key) ?? unsaved.get(key);
  } catch {
    return unsaved.get(key);
  }
}

export function writeChoice(key: string, choice: string): void {
  unsaved.set(key, choice);
  try {
    localStorage.setItem(key, choice);
  } catch {
    // Kept in `unsaved`.
  }
}
