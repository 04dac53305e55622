import { describe, expect, test } from "vitest";
import { ProtocolError } from "../src/net/protocol";
import { backupsText, backupText, backupTrouble, formatTime, parseBackups, type Backup, type Backups } from "../src/worlds/backups";

const NOW_S = 1_800_000_000;
const AT_S = Date.UTC(2026, 11, 24, 18, 2, 59) / 1_000;

const BACKUP = {
  name: "20261224T180000Z",
  whole: true,
  cut_s: AT_S - 179,
  verified_s: AT_S,
  assets: 45_000,
  items: 9,
  objects: 3,
  damaged: 0,
  missing: 0,
  bytes: 1_250_000_000,
  rehearsed_s: AT_S + 3_600,
  rehearsal_succeeded: true,
};

const BACKUPS = {
  directory: "/mnt/backups",
  newest_whole_s: NOW_S - 5 * 3_600,
  rehearsed_s: NOW_S - 3 * 86_400,
  late: ["The last rehearsal is late."],
  backups: [BACKUP, { name: "20261223T180000Z", whole: false, trouble: "its manifest cannot be read", cut_s: null }],
};

function backups(fields: Partial<Backups>): Backups {
  return { ...parseBackups(BACKUPS), ...fields };
}

function backup(fields: object): Backup {
  return parseBackups({ ...BACKUPS, backups: [{ ...BACKUP, ...fields }] }).backups[0]!;
}

describe("backups", () => {
  test("say their age and that of the last rehearsal", () => {
    expect(backupsText(backups({}), NOW_S)).toBe("2 backups, the newest whole one 5 h old, rehearsed 3 d ago.");
    expect(backupsText(backups({ rehearsed_s: undefined }), NOW_S)).toBe("2 backups, the newest whole one 5 h old, never rehearsed.");
    expect(backupsText(backups({ newestWhole_s: undefined }), NOW_S)).toContain("none of them whole");
    expect(backupsText(backups({ backups: [] }), NOW_S)).toBe("No backups.");
    expect(backupsText(backups({ directory: undefined }), NOW_S)).toBe("No directory of backups is configured.");
  });

  test("have the times of their verification and rehearsal", () => {
    expect(backupText(backup({}))).toBe("verified 2026-12-24 18:02, rehearsed 2026-12-24 19:02, 45,000 assets, 1.25 GB");
    expect(backupText(backup({ rehearsal_succeeded: false }))).toContain("rehearsal failed 2026-12-24 19:02");
    expect(backupText(backup({ rehearsed_s: null }))).toContain("not rehearsed");
    expect(backupText(backups({}).backups[1]!)).toBe("its manifest cannot be read");
    expect(formatTime(Number.NaN)).toBe("–");
  });

  test("that are not whole say so", () => {
    expect(backupTrouble(backup({}))).toBe("");
    expect(backupTrouble(backup({ whole: false, damaged: 2, missing: 1 }))).toBe("Not whole: 3 faults.");
    expect(backupTrouble(backup({ whole: false }))).toBe("Not whole.");
  });

  test("that are late say so", () => {
    expect(backups({}).late).toEqual(["The last rehearsal is late."]);
  });

  test("that are none are refused", () => {
    for (const wrong of [[], 7, { late: [7], backups: [] }, { late: [] }, { late: [], backups: [7] }, { late: [], backups: [{}] }]) {
      expect(() => parseBackups(wrong)).toThrow(ProtocolError);
    }
  });
});
