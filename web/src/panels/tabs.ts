/** Tabs as the ARIA authoring practices describe them: arrow keys move, one tab stop, panels named by their tab. */

/** Wires the `role="tab"` buttons in `list` to the panels that their `aria-controls` name. */
export function attachTabs(list: HTMLElement): void {
  const tabs = [...list.querySelectorAll<HTMLButtonElement>('[role="tab"]')];

  const select = (chosen: HTMLButtonElement): void => {
    for (const tab of tabs) {
      const isChosen = tab === chosen;
      tab.setAttribute("aria-selected", String(isChosen));
      tab.tabIndex = isChosen ? 0 : -1;
      const panel = document.getElementById(tab.getAttribute("aria-controls") ?? "");
      if (panel !== null) {
        panel.hidden = !isChosen;
      }
    }
  };
  for (const [index, tab] of tabs.entries()) {
    tab.addEventListener("click", () => select(tab));
    tab.addEventListener("keydown", (event) => {
      const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      const next = step === 0 ? undefined : tabs[(index + step + tabs.length) % tabs.length];
      if (next !== undefined) {
        event.preventDefault();
        select(next);
        next.focus();
      }
    });
  }
}
