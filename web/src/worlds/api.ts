/**
 * What the operator's page asks the API for: `/v1/worlds` and the map of one of them. `/v1/openapi.json` has all of it.
 *
 * The browser shows the token by itself, since it was asked for it when the page was opened. Fields that are not known here are
 * ignored, and those that a server does not tell are left out of the table.
 */

import { decodeBinary, ProtocolError, type Positions, type RegionInfo } from "../net/protocol";

/** An instance. */
export interface World {
  readonly id: string;
  readonly name: string;
  readonly template: string;
  readonly users: number;
  /** How many may be in it; unknown of one whose template is gone. */
  readonly maxUsers: number | undefined;
  readonly npcs: number;
  /** Steps per second. */
  readonly hz: number | undefined;
  /** World time per wall time: 1 is real time. */
  readonly dilation: number | undefined;
  /** What a step takes, on average, in microseconds. */
  readonly cost_us: number | undefined;
  /** Such as `active` or `parked`; none from servers that park nothing. */
  readonly state: string | undefined;
  /** Why nobody can go in. */
  readonly trouble: string | undefined;
}

/** Somebody on a map. */
export interface Present {
  readonly id: number;
  readonly name: string;
  readonly npc: boolean;
}

/** A world with everybody in it. */
export interface WorldMap {
  readonly info: RegionInfo;
  readonly present: readonly Present[];
}

/** The API said no. */
export class Refusal extends Error {
  override readonly name = "Refusal";

  constructor(
    readonly status: number,
    why: string,
  ) {
    super(why);
  }
}

export async function fetchWorlds(): Promise<World[]> {
  return parseWorlds(await (await ask("v1/worlds")).json());
}

export async function fetchMap(id: string): Promise<WorldMap> {
  return parseMap(await (await ask(`v1/worlds/${id}/map`)).json());
}

export async function fetchPositions(id: string): Promise<Positions> {
  const positions = decodeBinary(await (await ask(`v1/worlds/${id}/map/positions`)).arrayBuffer());
  if (positions === undefined) {
    throw new ProtocolError("the positions are of another kind");
  }
  return positions;
}

async function ask(path: string): Promise<Response> {
  const response = await fetch(path, { cache: "no-store" });
  if (!response.ok) {
    const answer: unknown = await response.json().catch(() => undefined);
    const why = isRecord(answer) ? answer["error"] : undefined;
    throw new Refusal(response.status, typeof why === "string" ? why : `The server answers with status ${response.status}.`);
  }
  return response;
}

/** Reads the answer of `/v1/worlds`. */
export function parseWorlds(value: unknown): World[] {
  if (!Array.isArray(value)) {
    throw new ProtocolError("the worlds are not a list");
  }
  return value.map((item: unknown) => {
    if (!isRecord(item)) {
      throw new ProtocolError("a world is not an object");
    }
    return {
      id: text(item, "id"),
      name: text(item, "name"),
      template: text(item, "template"),
      users: number(item, "users"),
      maxUsers: optionalNumber(item, "max_users"),
      npcs: optionalNumber(item, "npcs") ?? 0,
      hz: optionalNumber(item, "hz"),
      dilation: optionalNumber(item, "dilation"),
      cost_us: optionalNumber(item, "cost_us"),
      state: optionalText(item, "state"),
      trouble: optionalText(item, "trouble"),
    };
  });
}

/** Reads the answer of `/v1/worlds/{id}/map`. */
export function parseMap(value: unknown): WorldMap {
  if (!isRecord(value) || !Array.isArray(value["avatars"])) {
    throw new ProtocolError("the map has no list of avatars");
  }
  const size_m = number(value, "size_m");
  if (size_m <= 0) {
    throw new ProtocolError("the map has no extent");
  }
  const info = { id: number(value, "world"), name: text(value, "name"), x: 0, y: 0, size_m, water_m: number(value, "water_m") };
  const present = value["avatars"].map((item: unknown) => {
    if (!isRecord(item)) {
      throw new ProtocolError("an avatar is not an object");
    }
    return { id: number(item, "id"), name: text(item, "name"), npc: item["is_npc"] === true };
  });
  return { info, present };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function number(fields: Record<string, unknown>, key: string): number {
  const value = optionalNumber(fields, key);
  if (value === undefined) {
    throw new ProtocolError(`${key} is not a number`);
  }
  return value;
}

function optionalNumber(fields: Record<string, unknown>, key: string): number | undefined {
  const value = fields[key];
  return typeof value === "number" ? value : undefined;
}

function text(fields: Record<string, unknown>, key: string): string {
  const value = optionalText(fields, key);
  if (value === undefined) {
    throw new ProtocolError(`${key} is not a text`);
  }
  return value;
}

function optionalText(fields: Record<string, unknown>, key: string): string | undefined {
  const value = fields[key];
  return typeof value === "string" ? value : undefined;
}
