/**
 * The requests of the operator's page: `/v1/worlds`, the map of one world, and the orders to end, suspend and resume it.
 * `/v1/openapi.json` describes all of the API; `test/worlds.json` has samples that the server's own tests write.
 *
 * Reading needs no token here: the browser asked for one when it opened the page, and sends it by itself. An order needs a token
 * that the operator enters, sent as `Bearer`: the server takes no order on a password that a browser sends by itself, since any
 * page could make it do so.
 *
 * Unknown fields are ignored; missing ones are left out of the table.
 */

import { isRecord, number, optionalNumber, optionalString, ProtocolError, string } from "../net/fields";
import { decodeBinary, type Positions, type RegionInfo } from "../net/protocol";

/** An instance. */
export interface World {
  readonly id: string;
  readonly name: string;
  readonly template: string;
  /** Name of the account that owns it, or its id if the account does not exist. */
  readonly owner: string | undefined;
  readonly users: number;
  /** Most users at once; unknown if the template is gone. */
  readonly maxUsers: number | undefined;
  readonly npcs: number;
  /** Steps per second. */
  readonly hz: number | undefined;
  /** World time per wall time: 1 is real time. */
  readonly dilation: number | undefined;
  /** Mean duration of a step, microseconds. */
  readonly cost_us: number | undefined;
  /** `active` (in memory), `suspended`, or on the way from one to the other. */
  readonly state: string;
  /** Seconds in this state, since the server's start at most. */
  readonly state_s: number | undefined;
  /** Seconds since 1970. */
  readonly created_s: number | undefined;
  /** Defect, in words. */
  readonly trouble: string | undefined;
}

/** An avatar on a map. */
export interface Present {
  readonly id: number;
  readonly name: string;
  readonly npc: boolean;
}

/** A world with all its avatars. */
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
  return parseWorlds(await (await fetchAnswer("v1/worlds")).json());
}

export async function fetchMap(id: string): Promise<WorldMap> {
  return parseMap(await (await fetchAnswer(`v1/worlds/${id}/map`)).json());
}

export async function fetchPositions(id: string): Promise<Positions> {
  const positions = decodeBinary(await (await fetchAnswer(`v1/worlds/${id}/map/positions`)).arrayBuffer());
  if (positions === undefined) {
    throw new ProtocolError("the positions are of another kind");
  }
  return positions;
}

/** Changes that the page can order. */
export type Order = "end" | "suspend" | "resume";

const ORDERS: Record<Order, { readonly method: string; readonly path: string }> = {
  end: { method: "DELETE", path: "" },
  suspend: { method: "POST", path: "/suspend" },
  resume: { method: "POST", path: "/resume" },
};

/** Has a world changed, with a token of the scope `worlds:write`. */
export async function sendOrder(order: Order, id: string, token: string): Promise<void> {
  const { method, path } = ORDERS[order];
  await fetchAnswer(`v1/worlds/${id}${path}`, { method, headers: { authorization: `Bearer ${token}` }, credentials: "omit" });
}

export async function fetchAnswer(path: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(path, { cache: "no-store", ...init });
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
      id: string(item, "id"),
      name: string(item, "name"),
      template: string(item, "template"),
      owner: optionalString(item, "owner_name") ?? optionalString(item, "owner"),
      users: number(item, "users"),
      maxUsers: optionalNumber(item, "max_users"),
      npcs: optionalNumber(item, "npcs") ?? 0,
      hz: optionalNumber(item, "hz"),
      dilation: optionalNumber(item, "dilation"),
      cost_us: optionalNumber(item, "cost_us"),
      state: string(item, "state"),
      state_s: optionalNumber(item, "state_s"),
      created_s: optionalNumber(item, "created_s"),
      trouble: optionalString(item, "trouble"),
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
  const info = { id: number(value, "world"), name: string(value, "name"), x: 0, y: 0, size_m, water_m: number(value, "water_m") };
  const present = value["avatars"].map((item: unknown) => {
    if (!isRecord(item)) {
      throw new ProtocolError("an avatar is not an object");
    }
    return { id: number(item, "id"), name: string(item, "name"), npc: item["is_npc"] === true };
  });
  return { info, present };
}
