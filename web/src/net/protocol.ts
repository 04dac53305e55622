/**
 * The messages of `/live`, the answers of `/regions/{id}/heights` and `/regions/{id}/objects`, and their decoders.
 *
 * Every decoder here is total: it returns a value of its type or throws a {@link ProtocolError}; nothing that arrived
 * unchecked reaches the rest of the page. A text message of an unknown type is not an error, so that an older page
 * keeps working beside a newer server. `test/feed.json` has a sample of each, which the server's own tests write.
 */

import { list, number, numbers, optionalString, ProtocolError, record, string, type Fields } from "./fields";

export { ProtocolError } from "./fields";

/** A region as the server introduces it. */
export interface RegionInfo {
  readonly id: number;
  readonly name: string;
  /** Grid coordinates of the south-west corner, as the server counts them. */
  readonly x: number;
  readonly y: number;
  /** Length of a side in metres; regions are square. */
  readonly size_m: number;
  /** Height of the water surface in metres. */
  readonly water_m: number;
}

/** Always the first message of a connection. `GET /api/info` answers with the same object. */
export interface Hello {
  readonly type: "hello";
  readonly grid: string;
  readonly login_uri: string;
  /** True if the server sends public chat to this page. */
  readonly chat: boolean;
  /** Address of the operator's page; null for browsers on other machines than the server's. */
  readonly worlds_uri: string | null;
  readonly regions: readonly RegionInfo[];
}

/** All names of one region; replaces the roster before. */
export interface Roster {
  readonly type: "roster";
  readonly region: number;
  readonly avatars: readonly { readonly id: number; readonly name: string }[];
}

export type ChatKind = "whisper" | "say" | "shout";

/** A line of public chat. */
export interface Chat {
  readonly type: "chat";
  readonly region: number;
  readonly from: string;
  readonly kind: ChatKind;
  readonly text: string;
}

const FIGURE_KEYS = [
  "clients",
  "tick_ms_max",
  "tick_ms_mean",
  "packets_in_per_s",
  "packets_out_per_s",
  "bytes_out_per_s",
  "dilation",
  "uptime_s",
] as const;

/** Live figures of the whole server, once a second. */
export type Figures = { readonly type: "figures" } & { readonly [Key in (typeof FIGURE_KEYS)[number]]: number };

const HISTORY_KEYS = [
  "clients",
  "tick_ms_max",
  "tick_ms_mean",
  "packets_in_per_s",
  "packets_out_per_s",
  "bytes_out_per_s",
  "dilation",
] as const;

/** Sets of figures that a {@link History} may have: ten minutes at one a second. */
export const HISTORY_MAX = 600;

/**
 * The figures of the last minutes, the oldest first, in lists of equal length. The second message of a connection. `uptime_s` is that
 * of the newest ones: {@link Figures} that are not younger are part of it.
 */
export type History = { readonly type: "history"; readonly period_s: number; readonly uptime_s: number } & {
  readonly [Key in (typeof HISTORY_KEYS)[number]]: readonly number[];
};

export type ServerMessage = Hello | History | Roster | Chat | Figures;

/** A box as the map shows it: a rectangle seen from above. Metres, and radians counter-clockwise from east. */
export interface MapBox {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly depth: number;
  readonly turn: number;
}

export interface MapPortal {
  readonly x: number;
  readonly y: number;
  readonly radius_m: number;
  /** The kind of world that it leads into; null: back to the world that the visitor came from. */
  readonly to: string | null;
}

/** The static objects of a world. */
export interface MapObjects {
  /** Boxes in the world, of which `boxes` may be a part. */
  readonly boxCount: number;
  readonly boxes: readonly MapBox[];
  readonly portals: readonly MapPortal[];
}

/** One avatar of a {@link Positions} frame. */
export interface Sighting {
  readonly id: number;
  /** Distance from the western and southern border as a share of the region's side, 0–1. */
  readonly east: number;
  readonly north: number;
  /** Heading in radians, counter-clockwise from east, 0 ≤ yaw < 2π. */
  readonly yaw: number;
  /** Metres per second, up to 25.5. */
  readonly speed: number;
}

/** Positions of all avatars of one region, five times a second. An avatar that is missing has left the region. */
export interface Positions {
  readonly region: number;
  readonly sightings: readonly Sighting[];
}

/** Samples per side of the height field that `/regions/{id}/heights` answers with. */
export const HEIGHTS_SIDE = 128;

/** Reads a text message; `undefined` if its type is unknown to this page. */
export function parseMessage(text: string): ServerMessage | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ProtocolError("a text message is not JSON");
  }
  const fields = record(value, "message");
  switch (fields["type"]) {
    case "hello":
      return parseHello(fields);
    case "history":
      return parseHistory(fields);
    case "roster":
      return {
        type: "roster",
        region: number(fields, "region"),
        avatars: list(fields, "avatars").map((item) => {
          const avatar = record(item, "avatars[]");
          return { id: number(avatar, "id"), name: string(avatar, "name") };
        }),
      };
    case "chat":
      return {
        type: "chat",
        region: number(fields, "region"),
        from: string(fields, "from"),
        kind: chatKind(fields),
        text: string(fields, "text"),
      };
    case "figures": {
      const entries = FIGURE_KEYS.map((key) => [key, number(fields, key)] as const);
      return { type: "figures", ...(Object.fromEntries(entries) as Omit<Figures, "type">) };
    }
    default:
      return undefined;
  }
}

/** Reads the `hello` object, which `GET /api/info` may send without its `type`. */
export function parseHello(value: unknown): Hello {
  const fields = record(value, "hello");
  return {
    type: "hello",
    grid: string(fields, "grid"),
    login_uri: string(fields, "login_uri"),
    chat: fields["chat"] === true,
    worlds_uri: optionalString(fields, "worlds_uri") ?? null,
    regions: list(fields, "regions").map((item) => {
      const region = record(item, "regions[]");
      const size_m = number(region, "size_m");
      if (size_m <= 0) {
        throw new ProtocolError("regions[].size_m is not positive");
      }
      return {
        id: number(region, "id"),
        name: string(region, "name"),
        x: number(region, "x"),
        y: number(region, "y"),
        size_m,
        water_m: number(region, "water_m"),
      };
    }),
  };
}

function parseHistory(fields: Fields): History {
  const columns = HISTORY_KEYS.map((key) => [key, numbers(fields, key)] as const);
  const length = columns[0]?.[1].length ?? 0;
  if (length > HISTORY_MAX || columns.some(([, column]) => column.length !== length)) {
    throw new ProtocolError("the history has lists of different lengths, or too long ones");
  }
  const lists = Object.fromEntries(columns) as Omit<History, "type" | "period_s" | "uptime_s">;
  return { type: "history", period_s: number(fields, "period_s"), uptime_s: number(fields, "uptime_s"), ...lists };
}

/** Reads the answer of `/regions/{id}/objects`. */
export function parseObjects(value: unknown): MapObjects {
  const fields = record(value, "objects");
  return {
    boxCount: number(fields, "n_boxes"),
    boxes: list(fields, "boxes").map((item) => {
      const [x, y, width, depth, degrees] = numbers({ box: item }, "box");
      if (x === undefined || y === undefined || width === undefined || depth === undefined || degrees === undefined) {
        throw new ProtocolError("a box has fewer than five numbers");
      }
      return { x: x / 10, y: y / 10, width: width / 10, depth: depth / 10, turn: (degrees * Math.PI) / 180 };
    }),
    portals: list(fields, "portals").map((item) => {
      const portal = record(item, "portals[]");
      return {
        x: number(portal, "x"),
        y: number(portal, "y"),
        radius_m: number(portal, "radius_m"),
        to: optionalString(portal, "to") ?? null,
      };
    }),
  };
}

const KIND_POSITIONS = 1;
const POSITIONS_HEADER_BYTES = 9;
const SIGHTING_BYTES = 10;

/**
 * Reads a binary message, all little-endian; `undefined` if its kind is unknown to this page.
 *
 * ```text
 * u8 kind = 1 │ u32 region │ u32 n │ n × ( u32 id │ u16 x │ u16 y │ u8 yaw │ u8 speed )
 * ```
 *
 * `x` and `y` run from 0 to 65,535 over the region's side, `yaw` from 0 to 255 over a full turn, `speed` is in 0.1 m/s.
 */
export function decodeBinary(buffer: ArrayBuffer): Positions | undefined {
  const view = new DataView(buffer);
  if (view.byteLength === 0) {
    throw new ProtocolError("a binary message is empty");
  }
  if (view.getUint8(0) !== KIND_POSITIONS) {
    return undefined;
  }
  if (view.byteLength < POSITIONS_HEADER_BYTES) {
    throw new ProtocolError("a positions frame is shorter than its header");
  }
  const count = view.getUint32(5, true);
  if (view.byteLength !== POSITIONS_HEADER_BYTES + count * SIGHTING_BYTES) {
    throw new ProtocolError(`a positions frame of ${view.byteLength} bytes claims ${count} avatars`);
  }
  const sightings: Sighting[] = [];
  for (let offset = POSITIONS_HEADER_BYTES; offset < view.byteLength; offset += SIGHTING_BYTES) {
    sightings.push({
      id: view.getUint32(offset, true),
      east: view.getUint16(offset + 4, true) / 65_535,
      north: view.getUint16(offset + 6, true) / 65_535,
      yaw: (view.getUint8(offset + 8) / 256) * 2 * Math.PI,
      speed: view.getUint8(offset + 9) / 10,
    });
  }
  return { region: view.getUint32(1, true), sightings };
}

/** Reads a height field: {@link HEIGHTS_SIDE}² little-endian `f32` in metres, rows from south to north. */
export function decodeHeights(buffer: ArrayBuffer): Float32Array {
  if (buffer.byteLength !== HEIGHTS_SIDE * HEIGHTS_SIDE * 4) {
    throw new ProtocolError(`a height field has ${buffer.byteLength} bytes`);
  }
  const view = new DataView(buffer);
  return Float32Array.from({ length: HEIGHTS_SIDE * HEIGHTS_SIDE }, (_, index) => view.getFloat32(index * 4, true));
}

function chatKind(fields: Fields): ChatKind {
  const kind = string(fields, "kind");
  if (kind !== "whisper" && kind !== "say" && kind !== "shout") {
    throw new ProtocolError(`kind is "${kind}"`);
  }
  return kind;
}
