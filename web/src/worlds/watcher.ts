/**
 * Follows one world in memory: asks which avatars are in it, and their positions, for as long as its map is open.
 *
 * One request at a time, so that a slow server is asked less often. It asks instead of listening at a socket, because the browser
 * sends the operator's token by itself (see `crates/grid_api/src/instances/map.rs`). It ends when the world has ended or left memory.
 */

import { Region } from "../model/region";
import type { Positions } from "../net/protocol";
import { Refusal, type Present, type WorldMap } from "./api";

/** Time between two requests for positions, as for regions. */
export const POSITIONS_MS = 200;
/** Every n-th request for positions is preceded by one for the avatars. */
export const MAP_EVERY = 10;
/** Pause after a request without an answer. */
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

  /** No event follows. */
  stop(): void {
    this.stopped = true;
  }

  /** Resolves when it is stopped, or the world has ended or left memory. */
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
        // Not in memory: asking again would change nothing until it is resumed.
        if (error instanceof Refusal && error.status === 409) {
          this.events.onTrouble(error.message);
          return;
        }
        this.events.onTrouble(error instanceof Refusal ? error.message : "The server does not answer.");
        // The avatars are asked for first when it answers again.
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
