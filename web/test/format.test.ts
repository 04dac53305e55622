import { expect, test } from "vitest";
import { formatAge, formatByteRate, formatCount, formatDuration, formatMs, formatShort } from "../src/format";
import { Course, linePoints } from "../src/panels/figures";
import { HISTORY_MAX, parseMessage, type History } from "../src/net/protocol";

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
  expect(linePoints([0, 5], 10)).toBe("599,23.0 600,12.0");
  expect(linePoints([20], 10)).toBe("600,1.0");
});

test("the course begins with the rows of the history that the server keeps", () => {
  const columns = ["clients", "tick_ms_max", "tick_ms_mean", "packets_in_per_s", "packets_out_per_s", "bytes_out_per_s", "dilation"];
  const list = Array.from({ length: HISTORY_MAX }, (_, index) => index);
  const history = { type: "history", period_s: 1, uptime_s: 700, ...Object.fromEntries(columns.map((name, n) => [name, list.map((one) => one + n)])) };
  const course = new Course();
  course.begin(parseMessage(JSON.stringify(history)) as History);
  expect(course.samples).toHaveLength(HISTORY_MAX);
  expect(course.samples[7]).toEqual(Object.fromEntries(columns.map((name, n) => [name, 7 + n])));

  // The newest figures arrive once more beside the history.
  const figures = { type: "figures", ...course.samples[HISTORY_MAX - 1]!, uptime_s: 700 } as const;
  course.push(figures);
  expect(course.samples[0]?.clients).toBe(0);
  course.push({ ...figures, clients: 99, uptime_s: 701 });
  expect([course.samples.length, course.samples[0]?.clients, course.samples.at(-1)?.clients]).toEqual([HISTORY_MAX, 1, 99]);
});

test.each([
  [59.9, "59 s"],
  [3_599, "59 min"],
  [172_799, "47 h"],
  [172_800, "2 d"],
  [Number.NaN, "–"],
])("an age of %d seconds is %s", (seconds, text) => {
  expect(formatAge(seconds)).toBe(text);
});
