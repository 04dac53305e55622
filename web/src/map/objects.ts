/** Fetches the boxes and portals of each region at each connection, and again every now and then: users build. */

import type { Region } from "../model/region";
import { parseObjects, ProtocolError, type MapObjects } from "../net/protocol";

export class RegionObjects {
  private known = new Map<Region, MapObjects | undefined>();

  /** `onReady` is called when objects have arrived. `address` says where those of a region are. */
  constructor(
    private readonly onReady: () => void,
    private readonly address: (region: Region) => string = (region) => `regions/${region.info.id}/objects`,
  ) {}

  /** Forgets all and fetches anew. */
  load(regions: readonly Region[]): void {
    this.known = new Map(regions.map((region) => [region, undefined]));
    for (const region of regions) {
      void this.fetch(region);
    }
  }

  /** Fetches anew, and shows the former ones until then. */
  refresh(): void {
    for (const region of this.known.keys()) {
      void this.fetch(region);
    }
  }

  /** `undefined` as long as they are not here. */
  of(region: Region): MapObjects | undefined {
    return this.known.get(region);
  }

  private async fetch(region: Region): Promise<void> {
    try {
      const response = await fetch(this.address(region));
      if (!response.ok) {
        throw new ProtocolError(`the server answers with status ${response.status}`);
      }
      const objects = parseObjects(await response.json());
      if (this.known.has(region)) {
        this.known.set(region, objects);
        this.onReady();
      }
    } catch (error) {
      // The map works without them, and the next connection asks again.
      console.warn(`No objects for ${region.info.name}: ${String(error)}`);
    }
  }
}

/** A portal in words. */
export function portalName(to: string | null): string {
  return to === null ? "Way back" : `To ${to}`;
}
