/**
 * The table of worlds. Rows are kept by their world's id and brought up to date in place, so that neither the pointer nor the focus
 * loses its row. A click anywhere on a row opens its world; for the keyboard its name is a button.
 */

import { part, textElement } from "../dom";
import { formatAge, formatCount, formatMs } from "../format";
import type { Order, World } from "./api";
import { age_s, DEFAULT_SORTING, isActive, isSuspended, load, nextSorting, ranked, shortId, usualSorting, type Column, type Sorting } from "./ranking";

/** Rows in the document; of more worlds the search finds the others. */
const SHOWN_MAX = 200;

export interface TableEvents {
  /** This world's map is wanted. */
  onChoose(world: World): void;
  /** The operator wants to change a world, and has not confirmed it. */
  onOrder(order: Order, world: World): void;
}

export class WorldTable {
  private readonly body = part("worlds", HTMLTableSectionElement);
  private readonly search = part("worlds-search", HTMLInputElement);
  private readonly more = part("worlds-more", HTMLElement);
  private readonly sortColumn = part("worlds-sort", HTMLSelectElement);
  private readonly sortDirection = part("worlds-direction", HTMLButtonElement);
  private readonly heads = [...document.querySelectorAll<HTMLTableCellElement>("th[data-column]")];
  private readonly rows = new Map<string, Row>();
  private worlds: readonly World[] = [];
  private chosen: string | undefined;
  private sorting: Sorting = DEFAULT_SORTING;

  constructor(private readonly events: TableEvents) {
    this.search.addEventListener("input", () => this.paint());
    for (const head of this.heads) {
      head.querySelector("button")?.addEventListener("click", () => this.sort(nextSorting(this.sorting, columnOf(head))));
    }
    this.sortColumn.addEventListener("change", () => {
      this.sort(usualSorting(this.sortColumn.value as Column));
    });
    this.sortDirection.addEventListener("click", () => this.sort(nextSorting(this.sorting, this.sorting.column)));
    this.sort(DEFAULT_SORTING);
  }

  setWorlds(worlds: readonly World[]): void {
    this.worlds = worlds;
    this.paint();
  }

  setChosen(id: string | undefined): void {
    this.chosen = id;
    this.paint();
  }

  /** Moves the focus to a world's row, if it is shown. */
  focusRow(id: string | undefined): void {
    const row = id === undefined ? undefined : this.rows.get(id);
    row?.element.scrollIntoView({ block: "nearest" });
    row?.element.querySelector<HTMLElement>(".world-open")?.focus({ preventScroll: true });
  }

  private sort(sorting: Sorting): void {
    this.sorting = sorting;
    const direction = sorting.descending ? "descending" : "ascending";
    for (const head of this.heads) {
      if (columnOf(head) === sorting.column) {
        head.setAttribute("aria-sort", direction);
      } else {
        head.removeAttribute("aria-sort");
      }
    }
    this.sortColumn.value = sorting.column;
    this.sortDirection.textContent = sorting.descending ? "↓" : "↑";
    this.sortDirection.setAttribute("aria-label", `Sorted ${direction}; reverse`);
    this.paint();
  }

  private paint(): void {
    const found = ranked(this.worlds, this.search.value, this.sorting);
    const shown = found.slice(0, SHOWN_MAX);
    const kept = new Set(shown.map((world) => world.id));
    for (const [id, row] of this.rows) {
      if (!kept.has(id)) {
        row.element.remove();
        this.rows.delete(id);
      }
    }
    const now_s = Date.now() / 1_000;
    for (const [index, world] of shown.entries()) {
      let row = this.rows.get(world.id);
      if (row === undefined) {
        row = new Row(this.events);
        this.rows.set(world.id, row);
      }
      row.showWorld(world, world.id === this.chosen, now_s);
      if (this.body.children[index] !== row.element) {
        this.body.insertBefore(row.element, this.body.children[index] ?? null);
      }
    }
    this.more.textContent = restText(found.length, this.worlds.length);
    this.more.hidden = this.more.textContent === "";
  }
}

function columnOf(head: HTMLTableCellElement): Column {
  return head.dataset["column"] as Column;
}

class Row {
  readonly element = document.createElement("tr");
  private readonly open = document.createElement("button");
  private readonly id = textElement("span", "world-id", "");
  private readonly cells = CELLS.map(({ name, label }) => {
    const cell = document.createElement("td");
    cell.className = `cell-${name}`;
    cell.setAttribute("role", "cell");
    cell.dataset["label"] = label;
    return cell;
  });
  private readonly change = document.createElement("button");
  private readonly end = document.createElement("button");
  private world: World | undefined;

  constructor(private readonly events: TableEvents) {
    const head = document.createElement("th");
    head.scope = "row";
    head.setAttribute("role", "rowheader");
    this.open.type = this.change.type = this.end.type = "button";
    this.open.className = "world-open";
    this.change.className = "quiet";
    this.end.className = "quiet danger-text";
    this.end.textContent = "End";
    head.append(this.open, this.id);
    const actions = document.createElement("td");
    actions.className = "cell-actions";
    actions.setAttribute("role", "cell");
    actions.append(this.change, this.end);
    this.element.setAttribute("role", "row");
    this.element.append(head, ...this.cells, actions);
    this.element.addEventListener("click", (event) => this.onClick(event));
  }

  showWorld(world: World, isChosen: boolean, now_s: number): void {
    this.world = world;
    const { element, open, change, end } = this;
    element.dataset["world"] = world.id;
    element.dataset["cost"] = String(isActive(world) ? (world.cost_us ?? "") : "");
    element.dataset["state"] = world.trouble === undefined ? world.state : "trouble";
    element.classList.toggle("chosen", isChosen);
    open.setAttribute("aria-pressed", String(isChosen));
    open.setAttribute("aria-label", `Map of ${world.name}, ${shortId(world)}`);
    setText(open, world.name);
    setText(this.id, shortId(world));
    // A world with users in it cannot be suspended.
    change.hidden = !isSuspended(world) && (!isActive(world) || world.users > 0);
    setText(change, isSuspended(world) ? "Resume" : "Suspend");
    change.setAttribute("aria-label", `${change.textContent} ${world.name}, ${shortId(world)}`);
    end.setAttribute("aria-label", `End ${world.name}, ${shortId(world)}`);
    for (const [index, cell] of this.cells.entries()) {
      setText(cell, CELLS[index]?.text(world, now_s) ?? "");
    }
    this.cells[STATE_CELL]!.title = world.trouble ?? "";
  }

  private onClick(event: MouseEvent): void {
    const { world } = this;
    if (world === undefined) {
      return;
    }
    const button = event.target instanceof Element ? event.target.closest("button") : null;
    if (button === this.end) {
      this.events.onOrder("end", world);
    } else if (button === this.change) {
      this.events.onOrder(isSuspended(world) ? "resume" : "suspend", world);
    } else if (button !== null || window.getSelection()?.isCollapsed !== false) {
      // Not after text was selected, such as an id to be copied.
      this.events.onChoose(world);
    }
  }
}

function setText(element: HTMLElement, text: string): void {
  if (element.textContent !== text) {
    element.textContent = text;
  }
}

interface CellKind {
  readonly name: string;
  /** Shown beside the value where rows are cards. */
  readonly label: string;
  readonly text: (world: World, now_s: number) => string;
}

/** The cells after the name, in the order of the table's head. */
const CELLS: readonly CellKind[] = [
  { name: "owner", label: "Owner", text: (world) => world.owner ?? "–" },
  { name: "template", label: "Template", text: (world) => world.template },
  { name: "state", label: "State", text: (world) => stateText(world) },
  { name: "age", label: "Age", text: (world, now_s) => formatAge(age_s(world, now_s) ?? Number.NaN) },
  {
    name: "users",
    label: "Users",
    text: ({ users, maxUsers }) => (maxUsers === undefined ? formatCount(users) : `${formatCount(users)} of ${formatCount(maxUsers)}`),
  },
  { name: "npcs", label: "NPCs", text: (world) => formatCount(world.npcs) },
  { name: "hz", label: "Steps/s", text: (world) => formatCount(world.hz ?? Number.NaN) },
  { name: "dilation", label: "Dilation", text: (world) => (isActive(world) ? formatDilation(world.dilation) : "–") },
  { name: "cost", label: "µs a step", text: (world) => (isActive(world) ? formatMs(world.cost_us ?? Number.NaN) : "–") },
  { name: "load", label: "Of a core", text: (world) => (isActive(world) ? formatShare(load(world)) : "–") },
];
const STATE_CELL = CELLS.findIndex(({ name }) => name === "state");

const STATES: Record<string, string> = {
  active: "Active",
  suspended: "Suspended",
  making: "Being created",
  resuming: "Resuming",
  suspending: "Suspending",
  ending: "Ending",
};

/** `Suspended, 3 min` */
export function stateText({ state, state_s, trouble }: World): string {
  const name = STATES[state] ?? state;
  const time = state_s === undefined ? "" : `, ${formatAge(state_s)}`;
  return `${trouble === undefined ? "" : "Trouble · "}${name}${time}`;
}

/** Part of a core: `0.25 %`. */
export function formatShare(share: number | undefined): string {
  return share === undefined ? "–" : `${formatMs(share * 100)} %`;
}

export function formatDilation(dilation: number | undefined): string {
  return dilation === undefined ? "–" : dilation.toFixed(2);
}

function restText(found: number, all: number): string {
  if (all === 0) {
    return "There are no worlds yet. Portals and POST /v1/worlds create them.";
  }
  if (found === 0) {
    return "There is no such world.";
  }
  return found > SHOWN_MAX ? `and ${formatCount(found - SHOWN_MAX)} more: search for them` : "";
}
