/**
 * The one WebSocket to `/live`: opens it, notices when it is dead or silent, and opens it again.
 *
 * It knows no message but `hello`; {@link LinkEvents} gets everything that arrives. Its state is honest: `live` begins
 * with the server's `hello`, not with an accepted connection, and ends as soon as the server falls silent.
 */

import { decodeBinary, parseMessage, ProtocolError, type Positions, type ServerMessage } from "./protocol";

export type LinkState =
  /** A connection is being made; nothing has been heard on it. */
  | { readonly kind: "connecting" }
  /** The server talks to us. */
  | { readonly kind: "live" }
  /** The connection stands, but nothing has come since `heardAt`. */
  | { readonly kind: "stalled"; readonly heardAt: number }
  /** No connection; the next attempt is at `retryAt`. */
  | { readonly kind: "waiting"; readonly retryAt: number };

export interface LinkEvents {
  onState(state: LinkState): void;
  onMessage(message: ServerMessage): void;
  onPositions(positions: Positions): void;
}

/** The part of `WebSocket` that a link uses. */
export type Socket = Pick<WebSocket, "close" | "binaryType" | "onclose" | "onmessage">;

/** First and longest pause between attempts; a pause is the doubled last one, of which a random half is cut. */
export const RETRY_MS_MIN = 500;
export const RETRY_MS_MAX = 15_000;
/** A server that has not said hello by now is given up. */
export const HELLO_MS_MAX = 10_000;
/** Figures come every second: this much silence means that what the page shows is no longer true. */
export const STALLED_AFTER_MS = 4_000;
/** After this much silence a new connection is more likely to help than waiting. */
export const SILENT_MS_MAX = 15_000;

/** Pause before attempt number `attempt` (0 is the first retry); `random` is in 0–1. */
export function retryDelay(attempt: number, random: number): number {
  const full = Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** attempt);
  // The random half keeps all open pages from coming back in the same instant after a restart of the server.
  return full * (0.5 + random / 2);
}

/** Keeps one connection open. Call {@link Link.start} once. */
export class Link {
  private socket: Socket | undefined;
  private state: LinkState = { kind: "connecting" };
  private failures = 0;
  private heardAt = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly open: () => Socket,
    private readonly events: LinkEvents,
    private readonly random: () => number = Math.random,
  ) {}

  /** Makes the first attempt. */
  start(): void {
    this.connect();
  }

  /** Ends a pause between attempts; does nothing at other times. */
  retryNow(): void {
    if (this.state.kind === "waiting") {
      this.connect();
    }
  }

  private connect(): void {
    this.enter({ kind: "connecting" });
    const socket = this.open();
    this.socket = socket;
    socket.binaryType = "arraybuffer";
    socket.onclose = () => this.onGone(socket);
    socket.onmessage = (event: MessageEvent<unknown>) => this.onData(socket, event.data);
    this.schedule(HELLO_MS_MAX, () => this.abandon(socket));
  }

  private onData(socket: Socket, data: unknown): void {
    if (socket !== this.socket) {
      return;
    }
    try {
      if (typeof data === "string") {
        const message = parseMessage(data);
        if (message !== undefined) {
          this.onHeard(socket, message.type === "hello");
          this.events.onMessage(message);
        }
      } else if (data instanceof ArrayBuffer) {
        const positions = decodeBinary(data);
        if (positions !== undefined) {
          this.onHeard(socket, false);
          this.events.onPositions(positions);
        }
      }
    } catch (error) {
      if (!(error instanceof ProtocolError)) {
        throw error;
      }
      // One bad message costs itself only; if all are bad, the silence that follows ends the connection.
      console.warn(`Dropped a message: ${error.message}.`);
    }
  }

  private onHeard(socket: Socket, isHello: boolean): void {
    if (this.state.kind === "connecting" && !isHello) {
      return;
    }
    this.heardAt = Date.now();
    this.failures = 0;
    if (this.state.kind !== "live") {
      this.enter({ kind: "live" });
      this.schedule(STALLED_AFTER_MS, () => this.onSilence(socket));
    }
  }

  /** Looks at the clock, rather than being rescheduled by each message. */
  private onSilence(socket: Socket): void {
    const silence = Date.now() - this.heardAt;
    if (silence >= SILENT_MS_MAX) {
      this.abandon(socket);
    } else if (silence >= STALLED_AFTER_MS) {
      if (this.state.kind === "live") {
        this.enter({ kind: "stalled", heardAt: this.heardAt });
      }
      this.schedule(SILENT_MS_MAX - silence, () => this.onSilence(socket));
    } else {
      this.schedule(STALLED_AFTER_MS - silence, () => this.onSilence(socket));
    }
  }

  /** Gives a connection up without waiting for its close, which a dead peer never confirms. */
  private abandon(socket: Socket): void {
    socket.onclose = null;
    socket.onmessage = null;
    socket.close();
    this.onGone(socket);
  }

  private onGone(socket: Socket): void {
    if (socket !== this.socket) {
      return;
    }
    this.socket = undefined;
    const delay = retryDelay(this.failures, this.random());
    this.failures += 1;
    this.enter({ kind: "waiting", retryAt: Date.now() + delay });
    this.schedule(delay, () => this.connect());
  }

  private schedule(delay: number, action: () => void): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(action, delay);
  }

  private enter(state: LinkState): void {
    this.state = state;
    this.events.onState(state);
  }
}
