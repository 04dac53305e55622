/** In which order worlds are shown, which of them, and what they come to together. Pure. */

import type { World } from "./api";

/** All worlds together. */
export interface Totals {
  readonly worlds: number;
  readonly users: number;
  readonly npcs: number;
  /** Cores that their steps keep busy, as far as costs are known. */
  readonly cores: number | undefined;
  /** What the dearest one takes, microseconds. */
  readonly dearest_us: number | undefined;
  /** Of the slowest one. */
  readonly dilation: number | undefined;
}

/** Part of a core that a world's steps keep busy while it is awake. */
export function load(world: World): number | undefined {
  return world.cost_us === undefined || world.hz === undefined ? undefined : (world.cost_us * world.hz) / 1e6;
}

export function totals(worlds: readonly World[]): Totals {
  const known = (of: (world: World) => number | undefined): number[] =>
    worlds.map(of).filter((value): value is number => value !== undefined);
  const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);
  const loads = known(load);
  const costs = known((world) => world.cost_us);
  const dilations = known((world) => world.dilation);
  return {
    worlds: worlds.length,
    users: sum(worlds.map((world) => world.users)),
    npcs: sum(worlds.map((world) => world.npcs)),
    cores: loads.length === 0 ? undefined : sum(loads),
    dearest_us: costs.length === 0 ? undefined : costs.reduce((most, cost) => Math.max(most, cost)),
    dilation: dilations.length === 0 ? undefined : dilations.reduce((least, one) => Math.min(least, one)),
  };
}

/** Those whose name, template or id contains `query`, whatever its case: the dearest first, and the others by name. */
export function ranked(worlds: readonly World[], query: string): World[] {
  const wanted = query.trim().toLocaleLowerCase();
  const fits = (world: World): boolean =>
    [world.name, world.template, world.id].some((value) => value.toLocaleLowerCase().includes(wanted));
  return worlds
    .filter(fits)
    .sort((a, b) => (b.cost_us ?? -1) - (a.cost_us ?? -1) || compare(a.name, b.name) || compare(a.id, b.id));
}

const { compare } = new Intl.Collator(undefined, { numeric: true });
