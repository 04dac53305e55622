import { describe, expect, test } from "vitest";
import { ProtocolError } from "../src/net/protocol";
import { countsText, editText, EDITS_MAX, newest, parseEdits, parseRegions, saveText, type Edit, type RegionCounts } from "../src/worlds/regions";

const HARBOUR = {
  name: "Harbour",
  world: 1,
  size_m: 256,
  avatars: 3,
  prims: 1_234,
  prims_max: 45_000,
  physical: 12,
  moving: 3,
  temporary: 0,
  lag_s: 0.2,
  failure: null,
};

const PLACE = {
  age_s: 4.2,
  author: "00000000-0000-4000-8000-0000000000aa",
  author_name: "Ada Lovelace",
  what: "place",
  object: "00000000-0000-4000-8000-0000000000bb",
  name: "Gate",
  done: 3,
  refused: 1,
  reason: "rights",
};

function region(fields: Partial<RegionCounts>): RegionCounts {
  return { ...parseRegions([HARBOUR])[0]!, ...fields };
}

function edit(fields: Partial<Edit>): Edit {
  return { ...parseEdits("Harbour", [PLACE])[0]!, ...fields };
}

describe("regions", () => {
  test("say their prims, physical ones and those in motion", () => {
    expect(countsText(region({}))).toBe("1,234 of 45,000 prims, 12 physical, 3 in motion");
  });

  test("say nothing of saves that are in time, and since when there are none", () => {
    expect(saveText(region({}))).toBe("");
    expect(saveText(region({ lag_s: 12 }))).toBe("Not saved for 12 s.");
    expect(saveText(region({ lag_s: 75, failure: "The disk is full." }))).toBe("Not saved for 1 min: The disk is full.");
    expect(saveText(region({ failure: "The disk is full." }))).toBe("The last save failed: The disk is full.");
  });

  test("that are none are refused", () => {
    for (const wrong of [{}, [7], [{ name: "Harbour" }]]) {
      expect(() => parseRegions(wrong)).toThrow(ProtocolError);
    }
    expect(() => parseEdits("Harbour", [{ what: "place" }])).toThrow(ProtocolError);
  });
});

describe("edits", () => {
  test("have an author with a name, or with an id, or are an operator's", () => {
    expect(edit({}).author).toBe("Ada Lovelace");
    expect(parseEdits("Harbour", [{ ...PLACE, author_name: null }])[0]!.author).toBe(PLACE.author);
    expect(parseEdits("Harbour", [{ ...PLACE, author: null, author_name: null }])[0]!.author).toBeUndefined();
  });

  test("say what was done and refused", () => {
    expect(editText(edit({}))).toBe("place Gate: 3 done, 1 refused (rights)");
    expect(editText(edit({ name: "", refused: 0, reason: undefined }))).toBe("place: 3 done");
  });

  test("of several regions are shown in the order of their age", () => {
    const all = Array.from({ length: 50 }, (_, index) => edit({ age_s: (index * 7) % 50 }));
    const shown = newest(all);
    expect(shown.map(({ age_s }) => age_s)).toEqual(Array.from({ length: EDITS_MAX }, (_, index) => index));
  });
});
