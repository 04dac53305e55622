import { describe, expect, test } from "vitest";
import { ProtocolError } from "../src/net/protocol";
import { assetsText, kindText, parseAssets, scrubText } from "../src/worlds/assets";

const ASSETS = {
  kinds: [
    { kind: "texture", assets: 1_200, temporary: 12, damaged: 1, bytes: 1_250_000_000 },
    { kind: "body part", assets: 34, temporary: 0, damaged: 0, bytes: 3_400 },
  ],
  scrub_position: 0.251,
  scrub_verified: 1_234,
  scrub_damaged: 1,
  scrub_days: 14,
  quarantined: 2,
  quarantine: [{ hash: "ab01", bytes: 9, damage: "its bytes are missing", assets: ["id-1", "id-2"] }],
};

describe("assets", () => {
  test("are counted, in all and by kind", () => {
    const assets = parseAssets(ASSETS);
    expect(assetsText(assets)).toBe("1,234 assets, 12 of them temporary, 1.25 GB.");
    expect(assets.kinds.map(kindText)).toEqual(["1,200 assets, 12 of them temporary, 1.25 GB", "34 assets, 3.40 kB"]);
    expect(assetsText({ ...assets, kinds: [] })).toBe("No assets.");
  });

  test("are verified at rest", () => {
    expect(scrubText(parseAssets(ASSETS))).toBe(
      "25 % of all files are verified in this pass of 14 days; 1,234 since the start, 1 of them damaged.",
    );
  });

  test("in quarantine have their evidence", () => {
    const { quarantined, quarantine } = parseAssets(ASSETS);
    expect(quarantined).toBe(2);
    expect(quarantine).toEqual([{ hash: "ab01", damage: "its bytes are missing", assets: ["id-1", "id-2"] }]);
  });

  test("that are none are refused", () => {
    for (const wrong of [[], {}, { ...ASSETS, kinds: [7] }, { ...ASSETS, quarantine: [{ hash: "ab01" }] }, { ...ASSETS, quarantined: null }]) {
      expect(() => parseAssets(wrong)).toThrow(ProtocolError);
    }
  });
});
