import { describe, expect, test } from "vitest";
import type { Sighting } from "../src/net/protocol";
import { Grid } from "../src/model/grid";
import { FRAME_MS, Region, shortestTurn } from "../src/model/region";

const INFO = { id: 1, name: "Plaza", x: 0, y: 0, size_m: 256, water_m: 20 };

/** An avatar at a place in metres. */
function at(id: number, x: number, y = 128, yaw = 0): Sighting {
  return { id, east: x / 256, north: y / 256, yaw, speed: 3.2 };
}

function frames(...frames: readonly (readonly [now: number, ...sightings: Sighting[]])[]): Region {
  const region = new Region(INFO);
  for (const [now, ...sightings] of frames) {
    region.applyPositions({ region: 1, sightings }, now);
  }
  return region;
}

function pose(region: Region, id: number, now: number): { x: number; y: number; yaw: number } {
  const track = region.track(id);
  if (track === undefined) {
    throw new Error(`nobody has id ${id}`);
  }
  return region.pose(track, now, { x: 0, y: 0, yaw: 0 });
}

describe("a region", () => {
  test("shows a new avatar where the first frame says", () => {
    expect(pose(frames([0, at(1, 100)]), 1, 0)).toEqual({ x: 100, y: 128, yaw: 0 });
  });

  test("moves avatars evenly from one frame to the next and stops there", () => {
    const region = frames([0, at(1, 100)], [FRAME_MS, at(1, 106)]);
    const x = [0, 60, 120, 180, 240, 300, 10_000].map((after) => pose(region, 1, FRAME_MS + after).x);
    expect(x[0]).toBe(100);
    expect(x[2]).toBeCloseTo(103, 6);
    expect(x[4]).toBeCloseTo(106, 6);
    expect(x[6]).toBe(106);
    expect(x).toEqual([...x].sort((a, b) => a - b));
  });

  test("never jumps, however frames are spaced", () => {
    const region = new Region(INFO);
    let last: number | undefined;
    let now = 0;
    for (const [index, gap] of [200, 90, 310, 15, 385, 200, 1_500, 200, 0, 200].entries()) {
      now += gap;
      const before = region.track(1) === undefined ? undefined : pose(region, 1, now).x;
      region.applyPositions({ region: 1, sightings: [at(1, 50 + index * 0.64)] }, now);
      const after = pose(region, 1, now).x;
      if (before !== undefined) {
        expect(after).toBeCloseTo(before, 9);
      }
      expect(after).toBeGreaterThanOrEqual(last ?? after);
      last = after;
    }
  });

  test("does not drag a teleported avatar across the map", () => {
    const region = frames([0, at(1, 10)], [FRAME_MS, at(1, 200)]);
    expect(pose(region, 1, FRAME_MS + 1).x).toBe(200);
  });

  test("turns avatars the short way round", () => {
    const region = frames([0, at(1, 10, 10, 0.1)], [FRAME_MS, at(1, 10, 10, 2 * Math.PI - 0.1)]);
    expect(pose(region, 1, FRAME_MS + 120).yaw).toBeCloseTo(0, 6);
  });

  test("forgets avatars missing in a frame", () => {
    const region = frames([0, at(1, 10), at(2, 20)], [FRAME_MS, at(2, 20)]);
    expect(region.track(1)).toBeUndefined();
    expect(region.placedCount).toBe(1);
  });

  test("need not be drawn again while no avatar moves", () => {
    const region = frames([0, at(1, 10)], [200, at(1, 10)]);
    expect(region.isMoving(200)).toBe(false);
    region.applyPositions({ region: 1, sightings: [at(1, 11)] }, 400);
    expect(region.isMoving(500)).toBe(true);
    expect(region.isMoving(900)).toBe(false);
  });

  test("must be drawn again when an avatar left", () => {
    expect(frames([0, at(1, 10), at(2, 20)], [200, at(1, 10)]).isMoving(201)).toBe(true);
  });

  test("names whom the last roster names", () => {
    const region = new Region(INFO);
    region.applyRoster({ type: "roster", region: 1, avatars: [{ id: 1, name: "Ada" }] });
    region.applyRoster({ type: "roster", region: 1, avatars: [{ id: 2, name: "Bela" }] });
    expect([region.name(1), region.name(2), region.rosterCount]).toEqual([undefined, "Bela", 1]);
  });
});

describe("the shortest turn", () => {
  test.each([
    [0, 1, 1],
    [1, 0, -1],
    [0.1, 2 * Math.PI - 0.1, -0.2],
    [2 * Math.PI - 0.1, 0.1, 0.2],
    [-20 * Math.PI, 0.5, 0.5],
  ])("from %f to %f is %f", (from, to, turn) => {
    expect(shortestTurn(from, to)).toBeCloseTo(turn, 9);
  });
});

describe("a grid", () => {
  const hello = { type: "hello", grid: "G", login_uri: "", chat: true, worlds_uri: null, regions: [INFO, { ...INFO, id: 2, name: "Fields" }] } as const;

  test("finds people of all regions by a part of their name, in order", () => {
    const grid = new Grid(hello);
    grid.applyRoster({ type: "roster", region: 2, avatars: [{ id: 3, name: "Bot 10" }, { id: 4, name: "bot 9" }] });
    grid.applyRoster({ type: "roster", region: 1, avatars: [{ id: 1, name: "Ada Ashdown" }, { id: 2, name: "Robot Bo" }] });
    expect(grid.people(" BOT").map(({ name, region }) => [name, region.info.name])).toEqual([
      ["bot 9", "Fields"],
      ["Bot 10", "Fields"],
      ["Robot Bo", "Plaza"],
    ]);
    expect(grid.rosterCount).toBe(4);
  });

  test("ignores regions that it was not introduced to", () => {
    const grid = new Grid(hello);
    grid.applyRoster({ type: "roster", region: 9, avatars: [{ id: 1, name: "Ada" }] });
    grid.applyPositions({ region: 9, sightings: [] }, 0);
    expect(grid.rosterCount).toBe(0);
  });
});
