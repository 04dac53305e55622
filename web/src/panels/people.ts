/** Who is in the world: a searchable list, and with it the map's content for those who cannot see the map. */

import { part, textElement } from "../dom";
import { formatCount } from "../format";
import type { Grid, Person } from "../model/grid";

/** Names in the document; of a larger crowd the search finds the others. */
const SHOWN_MAX = 60;

export class PeoplePanel {
  private readonly list = part("people-list", HTMLUListElement);
  private readonly search = part("people-search", HTMLInputElement);
  private readonly more = part("people-more", HTMLElement);
  private readonly count = part("people-count", HTMLElement);
  private grid: Grid | undefined;
  private followed: number | undefined;
  private outdated = false;

  constructor(private readonly onPick: (person: Person) => void) {
    this.search.addEventListener("input", () => {
      this.outdated = true;
      this.refresh();
    });
  }

  setGrid(grid: Grid): void {
    this.grid = grid;
    this.outdated = true;
  }

  /** The rosters changed; the list follows with the next {@link PeoplePanel.refresh}. */
  invalidate(): void {
    this.outdated = true;
  }

  setFollowed(id: number | undefined): void {
    this.followed = id;
    this.outdated = true;
    this.refresh();
  }

  /** Brings the list up to date if anything changed. */
  refresh(): void {
    if (!this.outdated || this.grid === undefined) {
      return;
    }
    this.outdated = false;
    const { grid } = this;
    const found = grid.people(this.search.value);
    const manyRegions = grid.regions.length > 1;
    const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset["avatar"] : undefined;
    this.list.replaceChildren(
      ...found.slice(0, SHOWN_MAX).map((person) => this.makeRow(person, manyRegions, focused === String(person.id))),
    );
    // The list was replaced under the focus; its row gets it back.
    this.list.querySelector<HTMLElement>("[data-focus]")?.focus({ preventScroll: true });
    this.count.textContent = formatCount(grid.rosterCount);
    this.more.textContent = restText(found.length, grid.rosterCount);
    this.more.hidden = this.more.textContent === "";
  }

  private makeRow(person: Person, withRegion: boolean, focused: boolean): HTMLLIElement {
    const row = document.createElement("li");
    const button = document.createElement("button");
    button.type = "button";
    button.dataset["avatar"] = String(person.id);
    if (focused) {
      button.dataset["focus"] = "";
    }
    button.setAttribute("aria-pressed", String(person.id === this.followed));
    button.append(textElement("span", "person-name", person.name));
    if (withRegion) {
      button.append(textElement("span", "person-region", person.region.info.name));
    }
    button.addEventListener("click", () => this.onPick(person));
    row.append(button);
    return row;
  }
}

function restText(found: number, all: number): string {
  if (all === 0) {
    return "Nobody is here yet. Be the first.";
  }
  if (found === 0) {
    return "Nobody of that name is here.";
  }
  return found > SHOWN_MAX ? `and ${formatCount(found - SHOWN_MAX)} more` : "";
}
