import { describe, expect, test } from "vitest";
import { CROWD_MIN, findCrowds, type Spot } from "../src/map/crowds";
import { placeLabels } from "../src/map/labels";
import { markerRadius } from "../src/map/markers";
import { HeightField, LIGHT, shade } from "../src/map/terrain";
import { Viewport, ZOOM_MAX } from "../src/map/viewport";

describe("the viewport", () => {
  function viewport(): Viewport {
    const made = new Viewport();
    made.resize(824, 536);
    made.reset(256);
    return made;
  }

  test("shows the whole region, north up, in the middle", () => {
    const view = viewport();
    expect(view.scale).toBe(2);
    expect([view.toScreenX(0), view.toScreenX(256)]).toEqual([156, 668]);
    expect([view.toScreenY(256), view.toScreenY(0)]).toEqual([12, 524]);
  });

  test("keeps the place under the pointer while it zooms", () => {
    const view = viewport();
    view.zoomBy(4, 412, 268);
    const before = (500 - view.toScreenX(0)) / view.scale;
    view.zoomBy(1.5, 500, 300);
    expect((500 - view.toScreenX(0)) / view.scale).toBeCloseTo(before, 9);
    expect(view.zoom).toBe(6);
  });

  test("zooms within its limits", () => {
    const view = viewport();
    view.zoomBy(1_000);
    expect(view.zoom).toBe(ZOOM_MAX);
    view.zoomBy(0.000_1);
    expect(view.zoom).toBe(1);
  });

  test("cannot be dragged away from the region", () => {
    const view = viewport();
    view.zoomBy(4);
    view.panBy(-100_000, 100_000);
    expect(view.toScreenX(256)).toBeCloseTo(824 - 12, 6);
    expect(view.toScreenY(256)).toBeCloseTo(12, 6);
  });

  test("comes back to the middle when all fits again", () => {
    const view = viewport();
    view.zoomBy(4, 0, 0);
    view.zoomBy(0.1);
    expect(view.toScreenX(128)).toBeCloseTo(412, 9);
  });
});

describe("labels", () => {
  function place(...marks: readonly (readonly [text: string, x: number, y: number])[]): (readonly [string, "above" | "below"])[] {
    const wishes = marks.map(([text, x, y]) => ({ text, x, y, width: 40 }));
    return placeLabels(wishes, wishes, 6, 800).map((label) => {
      const wish = wishes.find(({ text }) => text === label.text);
      return [label.text, label.y < (wish?.y ?? 0) ? "above" : "below"];
    });
  }

  test("stand above their markers", () => {
    expect(place(["Ada", 100, 100], ["Caro", 200, 100])).toEqual([["Ada", "above"], ["Caro", "above"]]);
  });

  test("are moved inwards at the edges of the map", () => {
    const at = (x: number): number | undefined => placeLabels([{ text: "Ada", x, y: 100, width: 40 }], [], 6, 800)[0]?.x;
    expect([at(3), at(400), at(799)]).toEqual([24, 400, 776]);
  });

  test("move below where another name, a marker or the upper edge is", () => {
    expect(place(["Ada", 100, 100], ["Bela", 125, 100])).toEqual([["Ada", "above"], ["Bela", "below"]]);
    expect(place(["Ada", 100, 100], ["Bela", 100, 80])).toEqual([["Ada", "below"], ["Bela", "above"]]);
    expect(place(["Ada", 100, 10])).toEqual([["Ada", "below"]]);
  });

  test("are left out rather than cover an earlier name", () => {
    const names = place(["Ada", 100, 100], ["Bela", 101, 100], ["Caro", 102, 100]).map(([text]) => text);
    expect(names).toEqual(["Ada", "Bela"]);
  });
});

test("markers shrink with the crowd, within limits", () => {
  const radii = [1, 200, 2_000, 20_000].map((count) => markerRadius(600 * 600, count));
  expect(radii).toEqual([...radii].sort((a, b) => b - a));
  expect(radii[0]).toBe(6.5);
  expect(radii[3]).toBe(2.5);
});

describe("terrain", () => {
  function field(side: number, height: (column: number, row: number) => number): HeightField {
    const at = (_: unknown, index: number): number => height(index % side, Math.floor(index / side));
    return new HeightField(side, Float32Array.from({ length: side * side }, at));
  }

  test("enlarging keeps a plain plain and a slope even", () => {
    const plain = field(8, () => 21.25).enlarge(4);
    expect(plain.side).toBe(32);
    expect(plain.samples.every((height) => Math.abs(height - 21.25) < 1e-4)).toBe(true);
    const slope = field(8, (column) => column).enlarge(4);
    expect(slope.at(16, 9) - slope.at(15, 9)).toBeCloseTo(0.25, 4);
    expect(slope.at(16, 9)).toBeCloseTo(slope.at(16, 20), 4);
  });

  test("the picture has north at its top, water blue and land not", () => {
    // Land in the north half, water in the south half.
    const pixels = shade(field(16, (_, row) => (row >= 8 ? 25 : 10)), 256, 20, LIGHT);
    const colour = (x: number, y: number): number[] => [...pixels.slice((y * 16 + x) * 4, (y * 16 + x) * 4 + 4)];
    const [landRed = 0, , landBlue = 0, landAlpha] = colour(8, 2);
    const [waterRed = 0, , waterBlue = 0] = colour(8, 13);
    expect(landRed).toBeGreaterThan(landBlue);
    expect(waterBlue).toBeGreaterThan(waterRed);
    expect(landAlpha).toBe(255);
  });

  test("slopes towards the north-west are lighter than slopes away from it", () => {
    const towards = shade(field(16, (column, row) => 25 + (column - row)), 256, 0, { ...LIGHT, contour: 0 });
    const away = shade(field(16, (column, row) => 25 - (column - row)), 256, 0, { ...LIGHT, contour: 0 });
    const middle = (8 * 16 + 8) * 4;
    expect(towards[middle]).toBeGreaterThan(away[middle] ?? 255);
  });
});

describe("crowds", () => {
  const AT = { x: 0, y: 0 };
  /** So many spots on a line of half a pixel's spacing from a place on. */
  function row(count: number, x: number, y: number, firstId = 0): Spot[] {
    return Array.from({ length: count }, (_, index) => ({ id: firstId + index, x: x + index / 2, y }));
  }

  test("are places where markers cover each other, with the number of avatars", () => {
    const spots = [...row(40, 8, 8), ...row(3, 100, 100, 100)];
    const { crowds, hidden } = findCrowds(spots, 4, 1, AT, undefined);
    expect(crowds.map(({ count }) => count)).toEqual([40]);
    expect(hidden.size).toBe(40);
    expect(crowds[0]?.y).toBe(8);
  });

  test("are not made of a few, nor of avatars with room for their markers", () => {
    expect(findCrowds(row(CROWD_MIN - 1, 8, 8), 4, 1, AT, undefined).crowds).toEqual([]);
    const apart = Array.from({ length: 400 }, (_, index) => ({ id: index, x: (index % 20) * 20, y: Math.floor(index / 20) * 20 }));
    expect(findCrowds(apart, 4, 1, AT, undefined).crowds).toEqual([]);
  });

  test("keep apart: one beside another is counted with it", () => {
    // On both sides of the border between two cells of 32 pixels.
    const spots = [...row(20, 20, 8), ...row(30, 33, 8, 100)];
    const { crowds, cells } = findCrowds(spots, 4, 1, AT, undefined);
    expect(cells).toHaveLength(2);
    expect(crowds.map(({ count }) => count)).toEqual([50]);
  });

  test("do not swallow the avatar that is followed", () => {
    const { crowds, hidden } = findCrowds(row(40, 8, 8), 4, 1, AT, 7);
    expect(crowds[0]?.count).toBe(39);
    expect(hidden.has(7)).toBe(false);
  });

  test("are the same wherever the map is dragged to", () => {
    const spots = row(40, 8, 8).concat(row(25, 200, 70, 100));
    const moved = spots.map(({ id, x, y }) => ({ id, x: x + 13, y: y - 5 }));
    const counts = (found: ReturnType<typeof findCrowds>): number[] => found.crowds.map(({ count }) => count);
    expect(counts(findCrowds(moved, 4, 1, { x: 13, y: -5 }, undefined))).toEqual(counts(findCrowds(spots, 4, 1, AT, undefined)));
  });
});
