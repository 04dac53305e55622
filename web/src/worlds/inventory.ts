/**
 * An account's inventory on the operator's page: its folders as a tree with numbers of items, and the items whose content is missing or damaged.
 *
 * `/v1/users/{name}/inventory`, which needs the scope `inventory.read`. It is asked for when an operator names an account, and again only then: an answer may
 * have thousands of folders.
 */

import { part, textElement } from "../dom";
import { formatCount } from "../format";
import { isRecord, list, number, optionalString, ProtocolError, record, string, type Fields } from "../net/fields";
import { fetchAnswer } from "./api";

/** Folders in the document. An inventory with more shows the first ones. */
export const FOLDERS_MAX = 2_000;

/** A folder. */
export interface Folder {
  readonly id: string;
  readonly name: string;
  /** Folders above it. */
  readonly depth: number;
  /** Items directly in it, links included. */
  readonly items: number;
  readonly links: number;
  /** Items among them whose content is missing or damaged. */
  readonly missing: number;
  /** No folder leads to it. */
  readonly isLost: boolean;
}

/** An item without its content. */
export interface MissingItem {
  readonly id: string;
  readonly name: string;
  readonly folder: string;
  readonly asset: string;
  /** Evidence of damage; `undefined` if there is no such asset. */
  readonly damage: string | undefined;
}

/** An inventory. */
export interface Inventory {
  readonly owner: string;
  readonly items: number;
  readonly links: number;
  readonly missing: number;
  /** Each behind its parent. */
  readonly folders: readonly Folder[];
  /** The first of them. */
  readonly missingItems: readonly MissingItem[];
}

/** A folder with those in it. */
export interface FolderNode {
  readonly folder: Folder;
  readonly children: FolderNode[];
  /** Items without content in it and in all folders below. */
  missingBelow: number;
}

export async function fetchInventory(name: string): Promise<Inventory> {
  return parseInventory(await (await fetchAnswer(`v1/users/${encodeURIComponent(name)}/inventory`)).json());
}

/** Reads the answer of `/v1/users/{name}/inventory`. */
export function parseInventory(value: unknown): Inventory {
  const fields = record(value, "the inventory");
  return {
    owner: string(fields, "owner_name"),
    items: number(fields, "items"),
    links: number(fields, "links"),
    missing: number(fields, "missing"),
    folders: rows(fields, "folders").map((row) => ({
      id: string(row, "id"),
      name: string(row, "name"),
      depth: number(row, "depth"),
      items: number(row, "items"),
      links: number(row, "links"),
      missing: number(row, "missing"),
      isLost: row["lost"] === true,
    })),
    missingItems: rows(fields, "missing_items").map((row) => ({
      id: string(row, "id"),
      name: string(row, "name"),
      folder: string(row, "folder"),
      asset: string(row, "asset"),
      damage: optionalString(row, "damage"),
    })),
  };
}

function rows(fields: Fields, key: string): Fields[] {
  return list(fields, key).map((row) => {
    if (!isRecord(row)) {
      throw new ProtocolError(`${key} has an item that is not an object`);
    }
    return row;
  });
}

/** The folders as trees, by their depths. */
export function folderTrees(folders: readonly Folder[]): FolderNode[] {
  const roots: FolderNode[] = [];
  // The folders above the present one.
  const above: FolderNode[] = [];
  for (const folder of folders) {
    const node: FolderNode = { folder, children: [], missingBelow: 0 };
    above.length = Math.min(above.length, Math.max(0, folder.depth));
    (above.at(-1)?.children ?? roots).push(node);
    above.push(node);
    for (const parent of above) {
      parent.missingBelow += folder.missing;
    }
  }
  return roots;
}

/** `12 items, 3 of them links` */
export function folderText({ items, links }: Folder): string {
  const count = items === 1 ? "1 item" : `${formatCount(items)} items`;
  return links === 0 ? count : `${count}, ${formatCount(links)} of them links`;
}

/** `Ada Lovelace has 120 items in 30 folders, 12 of them links; 2 without content.` */
export function inventoryText({ owner, items, links, missing, folders }: Inventory): string {
  const all = `${owner} has ${formatCount(items)} items in ${formatCount(folders.length)} folders, ${formatCount(links)} of them links`;
  return missing === 0 ? `${all}; no content is missing.` : `${all}; ${formatCount(missing)} without content.`;
}

/** The card with an account's inventory. */
export class InventoryPanel {
  private readonly form = part("inventory-form", HTMLFormElement);
  private readonly name = part("inventory-name", HTMLInputElement);
  private readonly state = part("inventory-state", HTMLElement);
  private readonly tree = part("inventory", HTMLUListElement);
  /** Requests so far: the answer of an earlier one is not shown. */
  private asked = 0;

  constructor() {
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.ask(this.name.value.trim());
    });
  }

  private async ask(name: string): Promise<void> {
    if (name === "") {
      return;
    }
    const asked = (this.asked += 1);
    this.state.textContent = "Looking…";
    try {
      const inventory = await fetchInventory(name);
      if (asked === this.asked) {
        this.show(inventory);
      }
    } catch (error) {
      if (asked === this.asked) {
        this.tree.replaceChildren();
        this.state.textContent = error instanceof Error ? error.message : "The server does not answer.";
      }
    }
  }

  private show(inventory: Inventory): void {
    const left = inventory.folders.length - FOLDERS_MAX;
    const more = left > 0 ? ` ${formatCount(left)} folders are not shown.` : "";
    this.state.textContent = inventoryText(inventory) + more;
    const missing = new Map<string, MissingItem[]>();
    for (const item of inventory.missingItems) {
      missing.set(item.folder, [...(missing.get(item.folder) ?? []), item]);
    }
    const trees = folderTrees(inventory.folders.slice(0, FOLDERS_MAX));
    this.tree.replaceChildren(...trees.map((node) => makeFolder(node, missing)));
  }
}

/** A folder that opens; those on the way to lost content, and the root, are open. */
function makeFolder(node: FolderNode, missing: ReadonlyMap<string, readonly MissingItem[]>): HTMLElement {
  const { folder, children, missingBelow } = node;
  const row = document.createElement("li");
  row.dataset["folder"] = folder.id;
  const items = missing.get(folder.id) ?? [];
  const head = [textElement("span", "row-name", folder.name), textElement("span", "muted", folderText(folder))];
  if (missingBelow > 0) {
    head.push(textElement("span", "row-trouble", `${formatCount(missingBelow)} without content`));
  }
  if (folder.isLost) {
    head.push(textElement("span", "row-trouble", "no folder leads to it"));
  }
  if (children.length === 0 && items.length === 0) {
    row.append(...head);
    return row;
  }
  const details = document.createElement("details");
  details.open = folder.depth === 0 || missingBelow > 0;
  const summary = document.createElement("summary");
  summary.append(...head);
  const below = document.createElement("ul");
  below.append(...items.map(makeMissing), ...children.map((child) => makeFolder(child, missing)));
  details.append(summary, below);
  row.append(details);
  return row;
}

function makeMissing({ id, name, asset, damage }: MissingItem): HTMLElement {
  const row = document.createElement("li");
  row.dataset["item"] = id;
  row.append(
    textElement("span", "row-name", name),
    textElement("span", "row-trouble", damage ?? "there is no such asset"),
    textElement("span", "muted", `asset ${asset}`),
  );
  return row;
}
