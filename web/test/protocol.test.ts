import { describe, expect, test } from "vitest";
import { decodeBinary, decodeHeights, HEIGHTS_SIDE, HISTORY_MAX, parseHello, parseMessage, parseObjects, ProtocolError } from "../src/net/protocol";
import { parseMap } from "../src/worlds/api";
import FEED from "./feed.json";

const HELLO = {
  type: "hello",
  grid: "Here",
  login_uri: "http://127.0.0.1:9000/",
  chat: true,
  worlds_uri: null,
  regions: [{ id: 7, name: "Plaza", x: 1000, y: 1001, size_m: 256, water_m: 20.5 }],
};
const HISTORY = {
  type: "history",
  period_s: 1,
  uptime_s: 60,
  clients: [1],
  tick_ms_max: [1],
  tick_ms_mean: [1],
  packets_in_per_s: [1],
  packets_out_per_s: [1],
  bytes_out_per_s: [1],
  dilation: [1],
};
const FIGURES = {
  type: "figures",
  clients: 3,
  tick_ms_max: 2.5,
  tick_ms_mean: 0.25,
  packets_in_per_s: 30,
  packets_out_per_s: 40,
  bytes_out_per_s: 12_345,
  dilation: 1,
  uptime_s: 60,
};

/** A positions frame, written byte by byte, not with the code under test. */
function frame(region: number, count: number, avatars: readonly (readonly number[])[]): ArrayBuffer {
  const view = new DataView(new ArrayBuffer(9 + avatars.length * 10));
  view.setUint8(0, 1);
  view.setUint32(1, region, true);
  view.setUint32(5, count, true);
  for (const [index, [id = 0, x = 0, y = 0, yaw = 0, speed = 0]] of avatars.entries()) {
    const offset = 9 + index * 10;
    view.setUint32(offset, id, true);
    view.setUint16(offset + 4, x, true);
    view.setUint16(offset + 6, y, true);
    view.setUint8(offset + 8, yaw);
    view.setUint8(offset + 9, speed);
  }
  return view.buffer;
}

describe("text messages", () => {
  test.each([
    HELLO,
    FIGURES,
    { type: "roster", region: 7, avatars: [{ id: 4_000_000_000, name: "Ada Ashdown" }] },
    { type: "roster", region: 7, avatars: [] },
    { type: "chat", region: 7, from: "Ada Ashdown", kind: "shout", text: "<b>hi</b>" },
  ])("a well-formed $type is read as it is", (message) => {
    expect(parseMessage(JSON.stringify(message))).toEqual(message);
  });

  // The server's own tests write this file: every field that it sends is read, and no other is wanted.
  test.each(FEED.messages)("the server's $type is read as it is", (message) => {
    expect(parseMessage(JSON.stringify(message))).toEqual(message);
  });

  test("the samples of the server are of every type", () => {
    expect(FEED.messages.map(({ type }) => type)).toEqual(["hello", "history", "roster", "chat", "figures"]);
  });

  test("a message of a type that this page does not know is ignored", () => {
    expect(parseMessage('{"type":"weather","wind":3}')).toBeUndefined();
    expect(parseMessage("{}")).toBeUndefined();
  });

  test("fields that this page does not know do not reach it", () => {
    expect(parseMessage(JSON.stringify({ ...FIGURES, secret: 1 }))).toEqual(FIGURES);
  });

  test.each([
    ["not JSON", "{"],
    ["not an object", "[]"],
    ["null", "null"],
    ["hello without regions", JSON.stringify({ ...HELLO, regions: undefined })],
    ["hello with a region of no extent", JSON.stringify({ ...HELLO, regions: [{ ...HELLO.regions[0], size_m: 0 }] })],
    ["figures without dilation", JSON.stringify({ ...FIGURES, dilation: undefined })],
    ["figures with a number as text", JSON.stringify({ ...FIGURES, clients: "3" })],
    ["roster with a nameless avatar", '{"type":"roster","region":7,"avatars":[{"id":1}]}'],
    ["roster that is no list", '{"type":"roster","region":7,"avatars":{}}'],
    ["history with a missing list", JSON.stringify({ ...HISTORY, dilation: undefined })],
    ["history with lists of different lengths", JSON.stringify({ ...HISTORY, clients: [1, 2] })],
    ["history with a word", JSON.stringify({ ...HISTORY, clients: ["1"] })],
    ["history without an end", JSON.stringify(Object.fromEntries(Object.entries(HISTORY).map(([key, value]) => [key, Array.isArray(value) ? Array(HISTORY_MAX + 1).fill(1) : value])))],
    ["chat of an unknown kind", '{"type":"chat","region":7,"from":"A","kind":"sing","text":"la"}'],
  ])("%s is refused", (_, text) => {
    expect(() => parseMessage(text)).toThrow(ProtocolError);
  });

  test("api/info may leave the type out", () => {
    const { type: _, ...info } = HELLO;
    expect(parseHello(info)).toEqual(HELLO);
  });
});

describe("maps", () => {
  test("the server's objects are read in metres and radians", () => {
    const { boxCount, boxes, portals } = parseObjects(FEED.objects);
    expect(boxCount).toBe(2);
    expect(boxes[0]).toEqual({ x: 123.4, y: 56.7, width: 1.2, depth: 0.8, turn: Math.PI / 4 });
    expect(portals).toEqual(FEED.objects.portals);
  });

  test("the server's map of an instance is read", () => {
    expect(parseMap(FEED.map)).toMatchObject({ info: { id: 7, name: "Cave", size_m: 256, water_m: 20.5 }, present: [{ id: 3, npc: false }] });
  });

  test.each([
    ["no boxes", { ...FEED.objects, boxes: undefined }],
    ["a box of four numbers", { ...FEED.objects, boxes: [[1, 2, 3, 4]] }],
    ["a box of words", { ...FEED.objects, boxes: [["1", 2, 3, 4, 5]] }],
    ["a portal without a place", { ...FEED.objects, portals: [{ to: "Cave" }] }],
  ])("%s is refused", (_, value) => {
    expect(() => parseObjects(value)).toThrow(ProtocolError);
  });
});

describe("positions", () => {
  test("every field is read with its unit, little-endian", () => {
    const positions = decodeBinary(
      frame(0x01020304, 2, [
        [0xfffffffe, 0, 65_535, 64, 32],
        [5, 32_768, 13_107, 255, 255],
      ]),
    );
    expect(positions?.region).toBe(0x01020304);
    expect(positions?.sightings[0]).toEqual({ id: 0xfffffffe, east: 0, north: 1, yaw: Math.PI / 2, speed: 3.2 });
    expect(positions?.sightings[1]?.east).toBeCloseTo(0.5, 4);
    expect(positions?.sightings[1]?.north).toBeCloseTo(0.2, 6);
    expect(positions?.sightings[1]?.yaw).toBeLessThan(2 * Math.PI);
    expect(positions?.sightings[1]?.speed).toBe(25.5);
  });

  test("an empty region is a frame too", () => {
    expect(decodeBinary(frame(3, 0, []))).toEqual({ region: 3, sightings: [] });
  });

  test("an unknown kind is ignored", () => {
    expect(decodeBinary(Uint8Array.of(2, 1, 2, 3).buffer)).toBeUndefined();
  });

  test.each([
    ["nothing", new ArrayBuffer(0)],
    ["half a header", frame(1, 0, []).slice(0, 8)],
    ["a count above the content", frame(1, 2, [[1]])],
    ["a count below the content", frame(1, 0, [[1]])],
    ["a count whose size overflows 32 bits", frame(1, 0xffffffff, [[1]])],
    ["a torn avatar", frame(1, 1, [[1]]).slice(0, 15)],
  ])("%s is refused", (_, buffer) => {
    expect(() => decodeBinary(buffer)).toThrow(ProtocolError);
  });
});

describe("heights", () => {
  test("are read little-endian, south-west first", () => {
    const view = new DataView(new ArrayBuffer(HEIGHTS_SIDE * HEIGHTS_SIDE * 4));
    view.setFloat32(0, 21.5, true);
    view.setFloat32(HEIGHTS_SIDE * 4, -3, true);
    const heights = decodeHeights(view.buffer);
    expect(heights[0]).toBe(21.5);
    expect(heights[HEIGHTS_SIDE]).toBe(-3);
  });

  test("of another size are refused", () => {
    expect(() => decodeHeights(new ArrayBuffer(16))).toThrow(ProtocolError);
  });
});
