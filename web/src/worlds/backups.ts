/**
 * Backups on the operator's page: the newest whole one, the last rehearsal, sentences on late ones, each backup with the times of its verification and rehearsal, and
 * the newest jobs.
 *
 * `/v1/backups` and `/v1/jobs`, which need the scope `backup`. Without it the page leaves them out.
 */

import { part, textElement } from "../dom";
import { formatAge, formatCount, formatShort } from "../format";
import { isRecord, list, optionalNumber, optionalString, ProtocolError, record, string } from "../net/fields";
import { fetchAnswer } from "./api";
import { makeJob, type Job } from "./jobs";

/** Backups that are listed, the newest. */
export const BACKUPS_MAX = 14;

/** A backup. Times are seconds since 1970. */
export interface Backup {
  readonly name: string;
  /** Nothing in it is damaged or lost, as far as is known. */
  readonly isWhole: boolean;
  /** Reason for which its manifest cannot be read. */
  readonly trouble: string | undefined;
  /** Everything that was acknowledged before is in it. */
  readonly cut_s: number | undefined;
  /** All its files had been read back. */
  readonly verified_s: number | undefined;
  readonly rehearsed_s: number | undefined;
  readonly hasRehearsalSucceeded: boolean;
  readonly assets: number;
  readonly bytes: number;
  /** Faults when it was made. */
  readonly faults: number;
}

/** The configured directory of backups. Times are seconds since 1970. */
export interface Backups {
  /** `undefined` without a configured one. */
  readonly directory: string | undefined;
  /** The newest first. */
  readonly backups: readonly Backup[];
  readonly newestWhole_s: number | undefined;
  readonly rehearsed_s: number | undefined;
  /** Sentences on backups and rehearsals that are late. */
  readonly late: readonly string[];
}

export async function fetchBackups(): Promise<Backups> {
  return parseBackups(await (await fetchAnswer("v1/backups")).json());
}

/** Reads the answer of `/v1/backups`. */
export function parseBackups(value: unknown): Backups {
  const fields = record(value, "the answer about backups");
  const late = list(fields, "late");
  if (!late.every((sentence): sentence is string => typeof sentence === "string")) {
    throw new ProtocolError("late has an item that is not a string");
  }
  return {
    directory: optionalString(fields, "directory"),
    backups: list(fields, "backups").map(parseBackup),
    newestWhole_s: optionalNumber(fields, "newest_whole_s"),
    rehearsed_s: optionalNumber(fields, "rehearsed_s"),
    late,
  };
}

function parseBackup(value: unknown): Backup {
  if (!isRecord(value)) {
    throw new ProtocolError("a backup is not an object");
  }
  return {
    name: string(value, "name"),
    isWhole: value["whole"] === true,
    trouble: optionalString(value, "trouble"),
    cut_s: optionalNumber(value, "cut_s"),
    verified_s: optionalNumber(value, "verified_s"),
    rehearsed_s: optionalNumber(value, "rehearsed_s"),
    hasRehearsalSucceeded: value["rehearsal_succeeded"] === true,
    assets: optionalNumber(value, "assets") ?? 0,
    bytes: optionalNumber(value, "bytes") ?? 0,
    faults: (optionalNumber(value, "damaged") ?? 0) + (optionalNumber(value, "missing") ?? 0),
  };
}

/** `3 backups, the newest whole one 5 h old, rehearsed 2 d ago.` */
export function backupsText({ directory, backups, newestWhole_s, rehearsed_s }: Backups, now_s: number): string {
  if (directory === undefined) {
    return "No directory of backups is configured.";
  }
  if (backups.length === 0) {
    return "No backups.";
  }
  const newest = newestWhole_s === undefined ? "none of them whole" : `the newest whole one ${formatAge(now_s - newestWhole_s)} old`;
  const rehearsed = rehearsed_s === undefined ? "never rehearsed" : `rehearsed ${formatAge(now_s - rehearsed_s)} ago`;
  return `${formatCount(backups.length)} backups, ${newest}, ${rehearsed}.`;
}

/** `verified 2026-12-24 18:02, rehearsed 2026-12-25 02:00, 45,000 assets, 1.25 GB` */
export function backupText({ trouble, verified_s, rehearsed_s, hasRehearsalSucceeded, assets, bytes }: Backup): string {
  if (trouble !== undefined) {
    return trouble;
  }
  const verified = verified_s === undefined ? "not verified" : `verified ${formatTime(verified_s)}`;
  const rehearsal = hasRehearsalSucceeded ? "rehearsed" : "rehearsal failed";
  const rehearsed = rehearsed_s === undefined ? "not rehearsed" : `${rehearsal} ${formatTime(rehearsed_s)}`;
  return `${verified}, ${rehearsed}, ${formatCount(assets)} assets, ${formatShort(bytes)}B`;
}

/** What is wrong with a backup, in words; empty for a whole one. */
export function backupTrouble({ isWhole, faults }: Backup): string {
  if (isWhole) {
    return "";
  }
  return faults === 0 ? "Not whole." : `Not whole: ${formatCount(faults)} faults.`;
}

/** A time in UTC, as backups are named: `2026-12-24 18:02`. */
export function formatTime(at_s: number): string {
  const date = new Date(at_s * 1_000);
  return Number.isNaN(date.getTime()) ? "–" : date.toISOString().slice(0, 16).replace("T", " ");
}

/** The card with backups and jobs. */
export class BackupsPanel {
  private readonly card = part("backups-card", HTMLElement);
  private readonly state = part("backups-state", HTMLElement);
  private readonly late = part("backups-late", HTMLUListElement);
  private readonly backups = part("backups", HTMLUListElement);
  private readonly jobs = part("jobs", HTMLUListElement);

  /** Shows the backups, if there is a directory or a job. */
  show(backups: Backups, jobs: readonly Job[], now_s: number): void {
    this.card.hidden = backups.directory === undefined && jobs.length === 0;
    this.state.textContent = backupsText(backups, now_s);
    this.late.hidden = backups.late.length === 0;
    this.late.replaceChildren(...backups.late.map(makeLate));
    this.backups.hidden = backups.backups.length === 0;
    this.backups.replaceChildren(...backups.backups.slice(0, BACKUPS_MAX).map(makeBackup));
    this.jobs.hidden = jobs.length === 0;
    this.jobs.replaceChildren(...jobs.map((job) => makeJob(job, now_s)));
  }

  /** Leaves the backups out: the token lacks the scope. */
  hide(): void {
    this.card.hidden = true;
  }
}

function makeLate(sentence: string): HTMLElement {
  return textElement("li", "row-trouble", sentence);
}

function makeBackup(backup: Backup): HTMLElement {
  const row = document.createElement("li");
  row.dataset["backup"] = backup.name;
  const name = backup.cut_s === undefined ? backup.name : formatTime(backup.cut_s);
  const isBad = backup.trouble !== undefined;
  row.append(textElement("span", "row-name", name), textElement("span", isBad ? "row-trouble" : "muted", backupText(backup)));
  const trouble = isBad ? "" : backupTrouble(backup);
  if (trouble !== "") {
    row.append(textElement("span", "row-trouble", trouble));
  }
  return row;
}
