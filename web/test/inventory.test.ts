import { describe, expect, test } from "vitest";
import { ProtocolError } from "../src/net/protocol";
import { folderText, folderTrees, inventoryText, parseInventory, type FolderNode } from "../src/worlds/inventory";

function folder(id: string, depth: number, missing = 0, fields: object = {}): object {
  return { id, name: id, depth, kind: -1, version: 3, items: 12, links: 0, missing, lost: false, ...fields };
}

const INVENTORY = {
  owner: "id-5",
  owner_name: "Ada Lovelace",
  items: 1_234,
  links: 12,
  missing: 1,
  folders: [
    folder("My Inventory", 0),
    folder("Clothing", 1),
    folder("Hats", 2, 1),
    folder("Objects", 1, 0, { items: 1, links: 1 }),
    folder("Adrift", 0, 0, { lost: true }),
  ],
  missing_items: [{ id: "id-1", name: "Blue hat", folder: "Hats", asset: "id-2", kind: 0, damage: null }],
};

/** `My Inventory(Clothing(Hats) Objects)` */
function shape({ folder: { name }, children }: FolderNode): string {
  return children.length === 0 ? name : `${name}(${children.map(shape).join(" ")})`;
}

describe("an inventory", () => {
  test("is a tree by the depths of its folders", () => {
    const trees = folderTrees(parseInventory(INVENTORY).folders);
    expect(trees.map(shape)).toEqual(["My Inventory(Clothing(Hats) Objects)", "Adrift"]);
    expect(trees[1]!.folder.isLost).toBe(true);
  });

  test("leads to lost content", () => {
    const [root] = folderTrees(parseInventory(INVENTORY).folders);
    const [clothing, objects] = root!.children;
    expect([root!.missingBelow, clothing!.missingBelow, clothing!.children[0]!.missingBelow, objects!.missingBelow]).toEqual([1, 1, 1, 0]);
    expect(parseInventory(INVENTORY).missingItems).toEqual([
      { id: "id-1", name: "Blue hat", folder: "Hats", asset: "id-2", damage: undefined },
    ]);
  });

  test("with damaged depths is shown all the same", () => {
    const folders = parseInventory({ ...INVENTORY, folders: [folder("A", 7), folder("B", 9), folder("C", -1)] }).folders;
    expect(folderTrees(folders).map(shape)).toEqual(["A(B)", "C"]);
    expect(folderTrees([])).toEqual([]);
  });

  test("is counted", () => {
    const inventory = parseInventory(INVENTORY);
    expect(inventoryText(inventory)).toBe("Ada Lovelace has 1,234 items in 5 folders, 12 of them links; 1 without content.");
    expect(inventoryText({ ...inventory, missing: 0 })).toContain("no content is missing");
    expect(inventory.folders.map(folderText).slice(2, 4)).toEqual(["12 items", "1 item, 1 of them links"]);
  });

  test("that is none is refused", () => {
    for (const wrong of [[], 7, {}, { ...INVENTORY, folders: [7] }, { ...INVENTORY, missing_items: [{}] }]) {
      expect(() => parseInventory(wrong)).toThrow(ProtocolError);
    }
  });
});
