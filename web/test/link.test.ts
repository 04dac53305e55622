import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { HELLO_MS_MAX, Link, RETRY_MS_MAX, RETRY_MS_MIN, retryDelay, SILENT_MS_MAX, STALLED_AFTER_MS, type LinkState } from "../src/net/link";

class FakeSocket {
  binaryType: BinaryType = "blob";
  closed = false;
  onclose: WebSocket["onclose"] = null;
  onmessage: WebSocket["onmessage"] = null;

  close(): void {
    this.closed = true;
  }

  receive(data: unknown): void {
    this.onmessage?.call(this as unknown as WebSocket, { data } as MessageEvent);
  }

  drop(): void {
    this.onclose?.call(this as unknown as WebSocket, {} as CloseEvent);
  }
}

const HELLO = '{"type":"hello","grid":"G","login_uri":"u","chat":true,"regions":[]}';
const CHAT = '{"type":"chat","region":1,"from":"A","kind":"say","text":"hi"}';

let sockets: FakeSocket[];
let states: LinkState["kind"][];
let messages: string[];
let link: Link;

/** The socket of the last attempt. */
function socket(): FakeSocket {
  const last = sockets.at(-1);
  if (last === undefined) {
    throw new Error("no attempt was made");
  }
  return last;
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  sockets = [];
  states = [];
  messages = [];
  const open = (): FakeSocket => {
    const made = new FakeSocket();
    sockets.push(made);
    return made;
  };
  link = new Link(
    open,
    {
      onState: (state) => states.push(state.kind),
      onMessage: (message) => messages.push(message.type),
      onPositions: (positions) => messages.push(`positions of ${positions.region}`),
    },
    () => 1,
  );
  link.start();
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe("the link", () => {
  test("is live with the server's hello, not before", () => {
    expect(states).toEqual(["connecting"]);
    socket().receive(CHAT);
    expect(states).toEqual(["connecting"]);
    socket().receive(HELLO);
    expect(states).toEqual(["connecting", "live"]);
  });

  test("passes on text and binary messages", () => {
    socket().receive(HELLO);
    socket().receive(CHAT);
    socket().receive(Uint8Array.of(1, 5, 0, 0, 0, 0, 0, 0, 0).buffer);
    expect(messages).toEqual(["hello", "chat", "positions of 5"]);
    expect(socket().binaryType).toBe("arraybuffer");
  });

  test("drops a bad message and keeps the connection", () => {
    socket().receive(HELLO);
    socket().receive("{");
    socket().receive(new ArrayBuffer(3));
    socket().receive(CHAT);
    expect(messages).toEqual(["hello", "chat"]);
    expect(states.at(-1)).toBe("live");
  });

  test("pauses longer after each failure, and starts over after success", () => {
    const pauses = [0, 1, 2].map(() => {
      socket().drop();
      const before = sockets.length;
      let waited = 0;
      while (sockets.length === before) {
        vi.advanceTimersByTime(100);
        waited += 100;
      }
      return waited;
    });
    expect(pauses).toEqual([RETRY_MS_MIN, 2 * RETRY_MS_MIN, 4 * RETRY_MS_MIN]);
    socket().receive(HELLO);
    socket().drop();
    vi.advanceTimersByTime(RETRY_MS_MIN);
    expect(sockets).toHaveLength(5);
  });

  test("retries at once on request, but only in a pause", () => {
    link.retryNow();
    expect(sockets).toHaveLength(1);
    socket().drop();
    link.retryNow();
    expect(sockets).toHaveLength(2);
    vi.advanceTimersByTime(RETRY_MS_MIN);
    expect(sockets).toHaveLength(2);
  });

  test("gives up a server that never says hello", () => {
    vi.advanceTimersByTime(HELLO_MS_MAX);
    expect(sockets[0]?.closed).toBe(true);
    expect(states).toEqual(["connecting", "waiting"]);
  });

  test("admits that a silent server is silent, recovers when it speaks", () => {
    socket().receive(HELLO);
    vi.advanceTimersByTime(STALLED_AFTER_MS);
    expect(states.at(-1)).toBe("stalled");
    socket().receive(CHAT);
    expect(states.at(-1)).toBe("live");
    vi.advanceTimersByTime(STALLED_AFTER_MS);
    expect(states.at(-1)).toBe("stalled");
  });

  test("replaces a connection that stays silent", () => {
    socket().receive(HELLO);
    vi.advanceTimersByTime(SILENT_MS_MAX);
    expect(sockets[0]?.closed).toBe(true);
    expect(states.at(-1)).toBe("waiting");
  });

  test("stays live as long as anything comes", () => {
    socket().receive(HELLO);
    for (let second = 0; second < 60; second += 1) {
      vi.advanceTimersByTime(1_000);
      socket().receive(CHAT);
    }
    expect(states).toEqual(["connecting", "live"]);
  });

  test("does not listen to a connection that it gave up", () => {
    const [first] = sockets;
    vi.advanceTimersByTime(HELLO_MS_MAX + RETRY_MS_MIN);
    first?.receive(HELLO);
    expect(messages).toEqual([]);
    expect(states.at(-1)).toBe("connecting");
  });
});

test("a pause has a bound, and a random half", () => {
  expect(retryDelay(50, 1)).toBe(RETRY_MS_MAX);
  expect(retryDelay(50, 0)).toBe(RETRY_MS_MAX / 2);
});
