import { describe, expect, test } from "vitest";
import { ProtocolError, type Positions } from "../src/net/protocol";
import { parseMap, parseWorlds, Refusal, type World, type WorldMap } from "../src/worlds/api";
import { orderTexts } from "../src/worlds/orders";
import { age_s, isSuspended, load, nextSorting, ranked, shortId, totals } from "../src/worlds/ranking";
import { stateText } from "../src/worlds/table";
import { MAP_EVERY, Watcher, type WatchEvents } from "../src/worlds/watcher";
import SAMPLES from "./worlds.json";

const CAVE = {
  id: "00000000-0000-4000-8000-000000000001",
  name: "Cave of Ada",
  template: "Cave",
  owner: "00000000-0000-4000-8000-0000000000aa",
  owner_name: "Ada Lovelace",
  state: "active",
  state_s: 90,
  size_m: 256,
  users: 1,
  max_users: 8,
  npcs: 20,
  hz: 20,
  dilation: 0.5,
  cost_us: 250,
  created_s: 3,
};

function world(fields: Partial<World>): World {
  return { ...parseWorlds([CAVE])[0]!, ...fields };
}

describe("worlds", () => {
  test("are read with the columns of the table", () => {
    expect(parseWorlds([CAVE])[0]).toEqual({
      id: CAVE.id,
      name: "Cave of Ada",
      template: "Cave",
      owner: "Ada Lovelace",
      users: 1,
      maxUsers: 8,
      npcs: 20,
      hz: 20,
      dilation: 0.5,
      cost_us: 250,
      state: "active",
      state_s: 90,
      created_s: 3,
      trouble: undefined,
    });
  });

  // The server's own tests write this file.
  test("are read from the server's samples, with every field that the table shows", () => {
    const [whole, bare] = parseWorlds(SAMPLES);
    const { trouble, ...shown } = whole!;
    expect(trouble).toBeUndefined();
    expect(Object.entries(shown).filter(([, value]) => value === undefined)).toEqual([]);
    expect(bare).toMatchObject({ owner: undefined, hz: undefined, npcs: 0, state: "suspended" });
    expect(bare?.trouble).toContain("no template");
  });

  test("say their state with the time in it, and when they were created", () => {
    expect(stateText(world({ state: "suspended", state_s: 3_700 }))).toBe("Suspended, 1 h");
    expect(stateText(world({ state: "active", state_s: undefined, trouble: "x" }))).toBe("Trouble · Active");
    expect(age_s(world({ created_s: 100 }), 160)).toBe(60);
    expect(age_s(world({ created_s: undefined }), 160)).toBeUndefined();
    expect(shortId(world({}))).toBe("00000000");
    expect([isSuspended(world({ state: "suspended" })), isSuspended(world({ state: "resuming" }))]).toEqual([true, false]);
  });

  test("whose owner has no account are shown with its id, and are found by it", () => {
    const [read] = parseWorlds([{ ...CAVE, owner_name: null }]);
    expect(read?.owner).toBe(CAVE.owner);
    expect(ranked([read!], "00AA")).toHaveLength(1);
  });

  test("without a template, or of an older server, are read all the same", () => {
    const { hz: _hz, dilation: _dilation, cost_us: _cost, ...less } = CAVE;
    const [read] = parseWorlds([{ ...less, npcs: null, max_users: null, state: "suspended", trouble: "No template." }]);
    expect(read).toMatchObject({ npcs: 0, maxUsers: undefined, hz: undefined, state: "suspended", trouble: "No template." });
  });

  test.each([["no list", {}], ["a list of numbers", [1]], ["a world without a name", [{ ...CAVE, name: 1 }]]])("%s are refused", (_, value) => {
    expect(() => parseWorlds(value)).toThrow(ProtocolError);
  });

  test("the dearest come first, those of unknown cost last, and equal ones by name", () => {
    const worlds = [
      world({ name: "b", cost_us: 5 }),
      world({ name: "c", cost_us: undefined }),
      world({ name: "a10", cost_us: 5 }),
      world({ name: "a9", cost_us: 5 }),
      world({ name: "z", cost_us: 70 }),
    ];
    expect(ranked(worlds, "").map(({ name }) => name)).toEqual(["z", "a9", "a10", "b", "c"]);
    expect(ranked(worlds, " A1").map(({ name }) => name)).toEqual(["a10"]);
    expect(ranked(worlds, "cAvE")).toHaveLength(5);
  });

  test("are sorted by any column, unknown values last in both directions", () => {
    const worlds = [
      world({ name: "a", created_s: 5, dilation: 1 }),
      world({ name: "b", created_s: 9, dilation: 0.5 }),
      world({ name: "c", created_s: 1, dilation: 0.1, state: "suspended" }),
    ];
    const names = (column: Parameters<typeof nextSorting>[1], descending: boolean): string =>
      ranked(worlds, "", { column, descending })
        .map(({ name }) => name)
        .join("");
    expect([names("age", true), names("age", false)]).toEqual(["cab", "bac"]);
    // A suspended world has no dilation.
    expect([names("dilation", false), names("dilation", true)]).toEqual(["bac", "abc"]);
    expect([names("name", false), names("name", true)]).toEqual(["abc", "cba"]);
  });

  test("are sorted the other way by the second click on a column", () => {
    const first = nextSorting({ column: "cost", descending: true }, "name");
    expect(first).toEqual({ column: "name", descending: false });
    expect(nextSorting(first, "name")).toEqual({ column: "name", descending: true });
    expect(nextSorting(first, "users")).toEqual({ column: "users", descending: true });
  });

  test("together they come to sums, the dearest and the slowest", () => {
    const worlds = [world({}), world({ cost_us: 1_000, hz: 45, dilation: 1 }), world({ cost_us: undefined, dilation: undefined }), world({ state: "suspended", users: 0, dilation: 0.1, cost_us: 9_999 })];
    expect(totals(worlds)).toMatchObject({ worlds: 4, active: 3, users: 3, npcs: 80, dearest_us: 1_000, dilation: 0.5 });
    expect(totals(worlds).cores).toBeCloseTo(0.05);
    expect(load(world({}))).toBeCloseTo(0.005);
    expect(totals([])).toEqual({ worlds: 0, active: 0, users: 0, npcs: 0, cores: undefined, dearest_us: undefined, dilation: undefined });
  });
});

describe("a map", () => {
  const MAP = { world: 7, name: "Cave", size_m: 256, water_m: 20, avatars: [{ id: 3, name: "Ada Lovelace", is_npc: false }] };

  test("is read with users and NPCs apart", () => {
    const npc = { id: 4, name: "Dweller Cave", is_npc: true };
    const { info, present } = parseMap({ ...MAP, avatars: [...MAP.avatars, npc] });
    expect(info).toMatchObject({ id: 7, name: "Cave", size_m: 256, water_m: 20 });
    expect(present).toEqual([
      { id: 3, name: "Ada Lovelace", npc: false },
      { id: 4, name: "Dweller Cave", npc: true },
    ]);
  });

  test.each([["no extent", { ...MAP, size_m: 0 }], ["no avatars", { ...MAP, avatars: undefined }], ["no object", []]])("with %s is refused", (_, value) => {
    expect(() => parseMap(value)).toThrow(ProtocolError);
  });
});

describe("a follower of a world", () => {
  const MAP: WorldMap = parseMap({ world: 7, name: "Cave", size_m: 100, water_m: 0, avatars: [{ id: 3, name: "Ada", is_npc: false }] });
  const HERE: Positions = { region: 7, sightings: [{ id: 3, east: 0.5, north: 0.25, yaw: 0, speed: 0 }] };

  /** Runs a watcher until it ends or has slept `sleeps` times; what it was told and asked for. */
  async function follow(sleeps: number, answers: { map?: () => WorldMap; positions?: () => Positions }) {
    const told: string[] = [];
    const slept: number[] = [];
    let asked = 0;
    let region: Parameters<WatchEvents["onOpen"]>[0] | undefined;
    const watcher: Watcher = new Watcher(
      "id",
      {
        map: async () => {
          asked += 1;
          return answers.map?.() ?? MAP;
        },
        positions: async () => answers.positions?.() ?? HERE,
      },
      {
        onOpen: (opened) => {
          region = opened;
          told.push(`open ${opened.info.name}`);
        },
        onPresent: (present) => told.push(`${present.length} present`),
        onPositions: () => told.push("positions"),
        onTrouble: (why) => why !== undefined && told.push(why),
      },
      {
        now: () => 1_000,
        sleep: async (ms) => {
          slept.push(ms);
          if (slept.length >= sleeps) {
            watcher.stop();
          }
        },
      },
    );
    await watcher.run();
    return { told, slept, asked, region };
  }

  test("sees the present avatars, and requests them again now and then", async () => {
    const { told, slept, asked, region } = await follow(MAP_EVERY + 1, {});
    expect(told.slice(0, 3)).toEqual(["open Cave", "1 present", "positions"]);
    expect(told.filter((line) => line.startsWith("open"))).toHaveLength(1);
    expect(asked).toBe(2);
    expect(new Set(slept)).toEqual(new Set([200]));
    expect(region?.track(3)?.to).toMatchObject({ x: 50, y: 25 });
  });

  test("continues when the server is back, beginning with the present avatars", async () => {
    let answered = 0;
    const positions = (): Positions => {
      answered += 1;
      if (answered === 2) {
        throw new TypeError("network");
      }
      return HERE;
    };
    const { told, slept, asked } = await follow(3, { positions });
    expect(told).toContain("The server does not answer.");
    expect(slept).toEqual([200, 1_000, 200]);
    expect(asked).toBe(2);
  });

  test("ends with the world, and when it has left memory", async () => {
    const gone = (): never => {
      throw new Refusal(404, "There is no instance.");
    };
    expect(await follow(5, { map: gone })).toMatchObject({ told: ["This world has ended."], slept: [] });
    const suspended = (): never => {
      throw new Refusal(409, "It is suspended.");
    };
    // A suspended world is not asked again.
    expect(await follow(5, { map: suspended })).toMatchObject({ told: ["It is suspended."], slept: [], asked: 1 });
  });
});

describe("a confirmation", () => {
  test("names the world, the losses and the users concerned", () => {
    const end = orderTexts("end", world({ users: 2 }));
    expect(end.title).toBe("End Cave of Ada (00000000)?");
    expect(end.question).toMatch(/2 users are in it.*deleted.*cannot be undone/);
    expect(orderTexts("end", world({ users: 1 })).question).toContain("1 user is in it");
    expect(orderTexts("resume", world({ state: "suspended" })).question).toContain("back into memory");
  });
});
