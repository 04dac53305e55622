import { describe, expect, test } from "vitest";
import { ProtocolError } from "../src/net/protocol";
import { jobText, jobTitle, parseJobs, type Job } from "../src/worlds/jobs";

const NOW_S = 1_800_000_000;

const JOB = {
  id: 7,
  kind: "backup",
  subject: "/mnt/backups",
  author: "schedule",
  state: "running",
  created_s: NOW_S - 60,
  started_s: NOW_S - 50,
  ended_s: null,
  progress: { part: "assets", done: 1_234, total: 45_000 },
  cancelled: false,
  outcome: null,
};

function job(fields: object): Job {
  return parseJobs([{ ...JOB, ...fields }])[0]!;
}

describe("jobs", () => {
  test("say how far they are, and how they ended", () => {
    expect(jobText(job({}))).toBe("running, assets: 1,234 of 45,000");
    expect(jobText(job({ progress: { part: "pages", done: 0, total: 0 } }))).toBe("running, pages");
    expect(jobText(job({ progress: { part: "", done: 0, total: 0 } }))).toBe("running");
    expect(jobText(job({ progress: undefined, state: "queued" }))).toBe("queued");
    expect(jobText(job({ cancelled: true, progress: undefined }))).toBe("ending");
    const done = job({ state: "done", ended_s: NOW_S, outcome: "3 assets", progress: undefined });
    expect(jobText(done)).toBe("done: 3 assets");
    expect(done.changed_s).toBe(NOW_S);
  });

  test("are named by their work", () => {
    expect(jobTitle(job({}))).toBe("backup 7");
    expect(jobTitle(job({ kind: "asset_report", id: 1_234 }))).toBe("asset report 1,234");
    expect(jobTitle(job({ kind: "oar_load" }))).toBe("Load of a region 7");
    expect(jobTitle(job({ kind: "iar_save" }))).toBe("Save of an inventory 7");
  });

  test("that are none are refused", () => {
    for (const wrong of [{}, [7], [{ id: 7 }], [{ ...JOB, progress: { part: 7 } }]]) {
      expect(() => parseJobs(wrong)).toThrow(ProtocolError);
    }
  });
});
