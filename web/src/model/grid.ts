/** All regions, and what a message changes in them. It keeps nothing across a new `hello`: the server may be another. */

import type { Hello, Positions, Roster } from "../net/protocol";
import { Region } from "./region";

/** A person in the world. */
export interface Person {
  readonly id: number;
  readonly name: string;
  readonly region: Region;
}

export class Grid {
  private readonly byId: ReadonlyMap<number, Region>;

  constructor(readonly hello: Hello) {
    this.byId = new Map(hello.regions.map((info) => [info.id, new Region(info)]));
  }

  /** In the order in which the server lists them. */
  get regions(): Region[] {
    return [...this.byId.values()];
  }

  region(id: number): Region | undefined {
    return this.byId.get(id);
  }

  /** Ignores regions that `hello` did not name; the server introduces new ones with a new connection. */
  applyRoster(roster: Roster): void {
    this.byId.get(roster.region)?.applyRoster(roster);
  }

  applyPositions(positions: Positions, now: number): void {
    this.byId.get(positions.region)?.applyPositions(positions, now);
  }

  get rosterCount(): number {
    return this.regions.reduce((sum, region) => sum + region.rosterCount, 0);
  }

  /** People whose name contains `query`, whatever its case, by name. */
  people(query: string): Person[] {
    const wanted = query.trim().toLocaleLowerCase();
    const found: Person[] = [];
    for (const region of this.byId.values()) {
      for (const [id, name] of region.roster) {
        if (name.toLocaleLowerCase().includes(wanted)) {
          found.push({ id, name, region });
        }
      }
    }
    return found.sort((a, b) => compareNames(a.name, b.name));
  }
}

/** One collator for all comparisons of a sort; numbers in names compare as numbers. */
const { compare: compareNames } = new Intl.Collator(undefined, { numeric: true });
