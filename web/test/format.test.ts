import { expect, test } from "vitest";
import { formatByteRate, formatCount, formatDuration, formatMs, formatShort } from "../src/format";
import { linePoints } from "../src/panels/figures";

test.each([
  [0, "0"],
  [999, "999"],
  [999.6, "1.00 k"],
  [9_996, "10.0 k"],
  [41_500, "41.5 k"],
  [99_960, "100 k"],
  [999_600, "1.00 M"],
  [1_250_000, "1.25 M"],
  [Number.NaN, "–"],
])("%d in short is %s", (value, text) => {
  expect(formatShort(value)).toBe(text);
});

test("rates of bytes have their unit with or without a prefix", () => {
  expect(formatByteRate(640)).toBe("640 B/s");
  expect(formatByteRate(1_250_000)).toBe("1.25 MB/s");
});

test("counts are grouped", () => {
  expect(formatCount(12_345)).toBe("12,345");
});

test("milliseconds have as many digits as they are worth", () => {
  expect([0.424, 3.14, 48.2].map(formatMs)).toEqual(["0.42", "3.1", "48"]);
});

test.each([
  [-3, "0 s"],
  [59.9, "59 s"],
  [192, "3 min 12 s"],
  [18_420, "5 h 7 min"],
  [1_047_600, "12 d 3 h"],
])("%d seconds are %s", (seconds, text) => {
  expect(formatDuration(seconds)).toBe(text);
});

test("a line ends at the right edge and keeps small values small", () => {
  expect(linePoints([0, 5], 10)).toBe("119,23.0 120,12.0");
  expect(linePoints([20], 10)).toBe("120,1.0");
});
