/**
 * All people in the world: a searchable list, and with it the map's content for readers who cannot see the map.
 *
 * Only the rows in view are in the document, whatever their number. The list is a listbox: one tab stop, arrow keys move, Enter
 * follows the person on the map.
 */

import { part, textElement } from "../dom";
import { formatCount } from "../format";
import type { Grid, Person } from "../model/grid";
import { moveByKey, rowsInView, scrollToRow } from "./rows";

/** Height of a row, CSS pixels; the style sheet uses the same. */
const ROW_PX = 36;

export class PeoplePanel {
  private readonly list = part("people-list", HTMLElement);
  private readonly rows = part("people-rows", HTMLElement);
  private readonly search = part("people-search", HTMLInputElement);
  private readonly note = part("people-note", HTMLElement);
  private readonly count = part("people-count", HTMLElement);
  private grid: Grid | undefined;
  private found: readonly Person[] = [];
  private followed: number | undefined;
  private active: number | undefined;
  private outdated = false;

  constructor(private readonly onPick: (person: Person) => void) {
    this.search.addEventListener("input", () => {
      this.list.scrollTop = 0;
      this.active = undefined;
      this.outdated = true;
      this.refresh();
    });
    this.list.addEventListener("scroll", () => this.paint());
    this.list.addEventListener("keydown", (event) => this.onKey(event));
    this.list.addEventListener("click", (event) => {
      const row = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-index]") : null;
      this.pick(row === null ? undefined : this.found[Number(row.dataset["index"])]);
    });
    // The panel is hidden at first, and its height changes with the window.
    new ResizeObserver(() => this.paint()).observe(this.list);
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
    this.paint();
  }

  /** Brings the list up to date if anything changed. */
  refresh(): void {
    if (!this.outdated || this.grid === undefined) {
      return;
    }
    this.outdated = false;
    this.found = this.grid.people(this.search.value);
    this.count.textContent = formatCount(this.grid.rosterCount);
    this.note.textContent = noteText(this.found.length, this.grid.rosterCount);
    this.paint();
  }

  private paint(): void {
    const { found, list } = this;
    list.hidden = found.length === 0;
    const { from, to } = rowsInView(list.scrollTop, list.clientHeight, ROW_PX, found.length);
    const manyRegions = (this.grid?.regions.length ?? 0) > 1;
    this.rows.style.height = `${found.length * ROW_PX}px`;
    this.rows.replaceChildren(...found.slice(from, to).map((person, n) => this.makeRow(person, from + n, manyRegions)));
    const active = this.active === undefined ? undefined : found.findIndex(({ id }) => id === this.active);
    if (active !== undefined && active >= from && active < to) {
      list.setAttribute("aria-activedescendant", rowId(active));
    } else {
      list.removeAttribute("aria-activedescendant");
    }
  }

  private makeRow(person: Person, index: number, withRegion: boolean): HTMLElement {
    const row = document.createElement("div");
    row.id = rowId(index);
    row.className = "person";
    row.style.top = `${index * ROW_PX}px`;
    row.dataset["index"] = String(index);
    row.dataset["active"] = String(person.id === this.active);
    row.setAttribute("role", "option");
    row.setAttribute("aria-selected", String(person.id === this.followed));
    row.setAttribute("aria-posinset", String(index + 1));
    row.setAttribute("aria-setsize", String(this.found.length));
    row.append(textElement("span", "person-name", person.name));
    if (withRegion) {
      row.append(textElement("span", "person-region", person.region.info.name));
    }
    return row;
  }

  private onKey(event: KeyboardEvent): void {
    const index = this.found.findIndex(({ id }) => id === this.active);
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.pick(this.found[index]);
      return;
    }
    const page = Math.max(1, Math.floor(this.list.clientHeight / ROW_PX) - 1);
    // The first key in a list without an active row leads to its first row.
    const next = index < 0 && event.key === "ArrowDown" ? 0 : moveByKey(event.key, Math.max(0, index), this.found.length, page);
    if (next !== undefined) {
      event.preventDefault();
      this.active = this.found[next]?.id;
      this.list.scrollTop = scrollToRow(next, this.list.scrollTop, this.list.clientHeight, ROW_PX);
      this.paint();
    }
  }

  private pick(person: Person | undefined): void {
    if (person !== undefined) {
      this.active = person.id;
      this.onPick(person);
    }
  }
}

function rowId(index: number): string {
  return `person-${index}`;
}

function noteText(found: number, all: number): string {
  if (all === 0) {
    return "The world is empty. Be the first to enter it.";
  }
  if (found === 0) {
    return "There is no person with this name.";
  }
  return found < all ? `${formatCount(found)} of ${formatCount(all)} people. Choose one to follow on the map.` : "Choose a person to follow on the map.";
}
