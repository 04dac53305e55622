/** Selection, order and sums of the worlds in the table. Pure. */

import type { World } from "./api";

/** All worlds together. */
export interface Totals {
  readonly worlds: number;
  /** Of these, how many are in memory. */
  readonly active: number;
  readonly users: number;
  readonly npcs: number;
  /** Cores that the steps of active worlds keep busy, as far as costs are known. */
  readonly cores: number | undefined;
  /** Cost of a step of the dearest active one, microseconds. */
  readonly dearest_us: number | undefined;
  /** Least dilation of an active one. */
  readonly dilation: number | undefined;
}

/** Columns of the table by which worlds can be sorted. */
export type Column = "name" | "owner" | "template" | "state" | "age" | "users" | "npcs" | "hz" | "dilation" | "cost" | "load";

export interface Sorting {
  readonly column: Column;
  readonly descending: boolean;
}

/** The dearest first. */
export const DEFAULT_SORTING: Sorting = { column: "cost", descending: true };

/** True if the world is in memory. */
export function isActive(world: World): boolean {
  return world.state === "active";
}

/** True if the world is on the disk only: no request about it has a new answer until it is resumed. */
export function isSuspended(world: World): boolean {
  return world.state === "suspended";
}

/** Part of a core that a world's steps keep busy while it is awake. */
export function load(world: World): number | undefined {
  return world.cost_us === undefined || world.hz === undefined ? undefined : (world.cost_us * world.hz) / 1e6;
}

/** The first part of an id, which tells worlds of one name apart. */
export function shortId(world: World): string {
  return world.id.slice(0, 8);
}

/** Seconds since a world was created; `now_s` is seconds since 1970. */
export function age_s(world: World, now_s: number): number | undefined {
  return world.created_s === undefined ? undefined : Math.max(0, now_s - world.created_s);
}

export function totals(worlds: readonly World[]): Totals {
  const active = worlds.filter(isActive);
  const known = (of: (world: World) => number | undefined): number[] =>
    active.map(of).filter((value): value is number => value !== undefined);
  const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);
  const loads = known(load);
  const costs = known((world) => world.cost_us);
  const dilations = known((world) => world.dilation);
  return {
    worlds: worlds.length,
    active: active.length,
    users: sum(worlds.map((world) => world.users)),
    npcs: sum(worlds.map((world) => world.npcs)),
    cores: loads.length === 0 ? undefined : sum(loads),
    dearest_us: costs.length === 0 ? undefined : costs.reduce((most, cost) => Math.max(most, cost)),
    dilation: dilations.length === 0 ? undefined : dilations.reduce((least, one) => Math.min(least, one)),
  };
}

/** Value that a column compares; `undefined` sorts last in either direction. */
const VALUES: Record<Column, (world: World) => string | number | undefined> = {
  name: (world) => world.name,
  owner: (world) => world.owner,
  template: (world) => world.template,
  state: (world) => (world.trouble === undefined ? world.state : ` ${world.state}`),
  // Counted from now on, the oldest is the one that was created first.
  age: (world) => (world.created_s === undefined ? undefined : -world.created_s),
  users: (world) => world.users,
  npcs: (world) => world.npcs,
  hz: (world) => world.hz,
  dilation: (world) => (isActive(world) ? world.dilation : undefined),
  cost: (world) => (isActive(world) ? world.cost_us : undefined),
  load: (world) => (isActive(world) ? load(world) : undefined),
};

/** The worlds whose name, template, owner or id contains `query`, whatever its case, in the order of a column; equal ones by name and id. */
export function ranked(worlds: readonly World[], query: string, sorting: Sorting = DEFAULT_SORTING): World[] {
  const wanted = query.trim().toLocaleLowerCase();
  const fits = (world: World): boolean =>
    [world.name, world.template, world.owner ?? "", world.id].some((value) => value.toLocaleLowerCase().includes(wanted));
  const value = VALUES[sorting.column];
  const sign = sorting.descending ? -1 : 1;
  return worlds
    .filter(fits)
    .sort((a, b) => compareValues(value(a), value(b), sign) || compare(a.name, b.name) || compare(a.id, b.id));
}

function compareValues(a: string | number | undefined, b: string | number | undefined, sign: number): number {
  if (a === undefined || b === undefined) {
    return Number(a === undefined) - Number(b === undefined);
  }
  return sign * (typeof a === "number" && typeof b === "number" ? a - b : compare(String(a), String(b)));
}

/** Words from A on, numbers from the largest on; of dilations the lowest is the one to look at. */
export function usualSorting(column: Column): Sorting {
  return { column, descending: !["name", "owner", "template", "state", "dilation"].includes(column) };
}

/** The sorting after a click on a column's head: the other direction, or that column in its usual direction. */
export function nextSorting(current: Sorting, column: Column): Sorting {
  return current.column === column ? { column, descending: !current.descending } : usualSorting(column);
}

const { compare } = new Intl.Collator(undefined, { numeric: true });
