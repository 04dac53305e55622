/**
 * Follows one world: asks who is in it, and where they are, for as long as its map is open.
 *
 * One question at a time, so that a slow server is asked less often. It asks instead of listening at a socket, because the browser
 * shows the operator's token by itself (see `serve/instances/map.rs`).
 */

import { Region } from "../model/region";
import type { Positions } from "../net/protocol";
import { Refusal, type Present, type WorldMap } from "./api";

/** Between two questions where everybody is, as for regions. */
export const POSITIONS_MS = 200;
/** Who is there is asked with every so manieth of them. */
export const MAP_EVERY = 10;
/** After a question that was not answered. */
export const RETRY_MS = 1_000;

export interface WatchEvents {
  /** The map is open: this is the world from now on. */
  onOpen(region: Region): void;
  onPresent(present: readonly Present[]): void;
  onPositions(): void;
  /** The map cannot be shown just now, or no more; `undefined`: it can again. */
  onTrouble(why: string | undefined): void;
}

export interface Asks {
  map(id: string): Promise<WorldMap>;
  positions(id: string): Promise<Positions>;
}

export class Watcher {
  private stopped = false;
  private region: Region | undefined;

  constructor(
    private readonly id: string,
    private readonly asks: Asks,
    private readonly events: WatchEvents,
    private readonly clock: { now(): number; sleep(ms: number): Promise<void> },
  ) {}

  /** Nothing is told from here on. */
  stop(): void {
    this.stopped = true;
  }

  /** Until it is stopped, or the world has ended. */
  async run(): Promise<void> {
    for (let turn = 0; !this.stopped; turn += 1) {
      try {
        if (turn % MAP_EVERY === 0) {
          this.takeMap(await this.asks.map(this.id));
        }
        const positions = await this.asks.positions(this.id);
        if (this.stopped) {
          return;
        }
        this.region?.applyPositions(positions, this.clock.now());
        this.events.onPositions();
        this.events.onTrouble(undefined);
        await this.clock.sleep(POSITIONS_MS);
      } catch (error) {
        if (this.stopped) {
          return;
        }
        if (error instanceof Refusal && error.status === 404) {
          this.events.onTrouble("This world has ended.");
          return;
        }
        this.events.onTrouble(error instanceof Refusal ? error.message : "The server does not answer.");
        // Who is there is asked first when it answers again.
        turn = -1;
        await this.clock.sleep(RETRY_MS);
      }
    }
  }

  private takeMap({ info, present }: WorldMap): void {
    if (this.stopped) {
      return;
    }
    if (this.region === undefined || this.region.info.id !== info.id) {
      this.region = new Region(info);
      this.events.onOpen(this.region);
    }
    this.region.applyRoster({ type: "roster", region: info.id, avatars: present });
    this.events.onPresent(present);
  }
}
