import { describe, expect, test } from "vitest";
import { moveByKey, OVERSCAN, rowsInView, scrollToRow } from "../src/panels/rows";

describe("rows of a long list", () => {
  test("are in the document only where they can be seen", () => {
    expect(rowsInView(0, 360, 36, 5_000)).toEqual({ from: 0, to: 10 + OVERSCAN });
    expect(rowsInView(36_000, 360, 36, 5_000)).toEqual({ from: 1_000 - OVERSCAN, to: 1_010 + OVERSCAN });
    expect(rowsInView(36 * 4_990, 360, 36, 5_000)).toEqual({ from: 4_990 - OVERSCAN, to: 5_000 });
  });

  test("are none of an empty or hidden list, and never beyond its end after it shrank", () => {
    expect(rowsInView(0, 360, 36, 0)).toEqual({ from: 0, to: 0 });
    expect(rowsInView(36_000, 360, 36, 3)).toEqual({ from: 3, to: 3 });
    expect(rowsInView(0, 0, 36, 5_000).to).toBe(OVERSCAN);
  });

  test.each([
    ["ArrowDown", 4, 5],
    ["ArrowUp", 0, 0],
    ["PageDown", 95, 99],
    ["PageUp", 15, 5],
    ["Home", 50, 0],
    ["End", 50, 99],
  ])("%s moves from %d to %d", (key, from, to) => {
    expect(moveByKey(key, from, 100, 10)).toBe(to);
  });

  test("other keys and empty lists move nothing", () => {
    expect(moveByKey("a", 1, 100, 10)).toBeUndefined();
    expect(moveByKey("End", 0, 0, 10)).toBeUndefined();
  });

  test("are scrolled to as little as needed", () => {
    expect(scrollToRow(5, 0, 360, 36)).toBe(0);
    expect(scrollToRow(10, 0, 360, 36)).toBe(36);
    expect(scrollToRow(2, 360, 360, 36)).toBe(72);
  });
});
