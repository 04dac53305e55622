/** The table of worlds. Rows are kept by their world's id and brought up to date, so that nothing is lost under the pointer or the focus. */

import { part, textElement } from "../dom";
import { formatCount, formatMs } from "../format";
import type { World } from "./api";
import { load, ranked } from "./ranking";

/** Rows in the document; of more worlds the search finds the others. */
const SHOWN_MAX = 200;

export class WorldTable {
  private readonly body = part("worlds", HTMLTableSectionElement);
  private readonly search = part("worlds-search", HTMLInputElement);
  private readonly more = part("worlds-more", HTMLElement);
  private readonly rows = new Map<string, Row>();
  private worlds: readonly World[] = [];
  private chosen: string | undefined;

  /** `onChoose` is told which world's map is wanted. */
  constructor(private readonly onChoose: (world: World) => void) {
    this.search.addEventListener("input", () => this.paint());
  }

  setWorlds(worlds: readonly World[]): void {
    this.worlds = worlds;
    this.paint();
  }

  setChosen(id: string | undefined): void {
    this.chosen = id;
    this.paint();
  }

  private paint(): void {
    const found = ranked(this.worlds, this.search.value);
    const shown = found.slice(0, SHOWN_MAX);
    const kept = new Set(shown.map((world) => world.id));
    for (const [id, row] of this.rows) {
      if (!kept.has(id)) {
        row.element.remove();
        this.rows.delete(id);
      }
    }
    for (const [index, world] of shown.entries()) {
      let row = this.rows.get(world.id);
      if (row === undefined) {
        row = new Row((of) => this.onChoose(of));
        this.rows.set(world.id, row);
      }
      row.show(world, world.id === this.chosen);
      if (this.body.children[index] !== row.element) {
        this.body.insertBefore(row.element, this.body.children[index] ?? null);
      }
    }
    this.more.textContent = restText(found.length, this.worlds.length);
    this.more.hidden = this.more.textContent === "";
  }
}

class Row {
  readonly element = document.createElement("tr");
  private readonly button = document.createElement("button");
  private readonly cells = Array.from({ length: CELLS.length }, () => document.createElement("td"));
  private world: World | undefined;

  constructor(onChoose: (world: World) => void) {
    const head = document.createElement("th");
    head.scope = "row";
    this.button.type = "button";
    this.button.addEventListener("click", () => this.world !== undefined && onChoose(this.world));
    head.append(this.button);
    this.element.append(head, ...this.cells);
  }

  show(world: World, isChosen: boolean): void {
    this.world = world;
    this.element.dataset["world"] = world.id;
    this.element.dataset["cost"] = String(world.cost_us ?? "");
    this.element.title = world.trouble ?? world.id;
    this.button.setAttribute("aria-pressed", String(isChosen));
    this.button.setAttribute("aria-label", `Map of ${world.name}`);
    if (this.button.textContent !== world.name) {
      this.button.replaceChildren(textElement("span", "world-name", world.name));
    }
    for (const [index, cell] of this.cells.entries()) {
      const text = CELLS[index]?.(world) ?? "";
      if (cell.textContent !== text) {
        cell.textContent = text;
      }
    }
  }
}

/** What stands behind the name, in the order of the table's head. */
const CELLS: readonly ((world: World) => string)[] = [
  (world) => world.template,
  (world) => (world.trouble === undefined ? (world.state ?? "active") : "damaged"),
  (world) => (world.maxUsers === undefined ? formatCount(world.users) : `${formatCount(world.users)} of ${formatCount(world.maxUsers)}`),
  (world) => formatCount(world.npcs),
  (world) => formatCount(world.hz ?? Number.NaN),
  (world) => (world.dilation ?? Number.NaN).toFixed(2).replace("NaN", "–"),
  (world) => formatMs(world.cost_us ?? Number.NaN),
  (world) => formatShare(load(world)),
];

/** Part of a core: `0.25 %`. */
export function formatShare(share: number | undefined): string {
  return share === undefined ? "–" : `${formatMs(share * 100)} %`;
}

function restText(found: number, all: number): string {
  if (all === 0) {
    return "There are no worlds yet. Portals and POST /v1/worlds make some.";
  }
  if (found === 0) {
    return "There is no such world.";
  }
  return found > SHOWN_MAX ? `and ${formatCount(found - SHOWN_MAX)} more` : "";
}
