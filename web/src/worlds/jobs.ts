/**
 * Jobs on the operator's page: orders that take longer than a request. Backups and the like are in the card of backups, loads and saves of archives in one of
 * their own.
 *
 * `/v1/jobs`, which needs the scope `backup`, and `/v1/archives/jobs`, which needs `archives`. Without it the page leaves the archives out.
 */

import { part, textElement } from "../dom";
import { formatAge, formatCount } from "../format";
import { isRecord, number, optionalNumber, optionalString, ProtocolError, string } from "../net/fields";
import { fetchAnswer } from "./api";

/** Jobs in a card. */
export const JOBS_MAX = 5;

/** Kinds of jobs on archives, in words. */
const ARCHIVES: Readonly<Record<string, string>> = {
  oar_load: "Load of a region",
  oar_save: "Save of a region",
  iar_load: "Load of an inventory",
  iar_save: "Save of an inventory",
};

/** The part of a job that is done. */
export interface Progress {
  /** Present part of the work, such as `assets`. */
  readonly part: string;
  readonly done: number;
  /** 0 while it is not known. */
  readonly total: number;
}

/** A job. */
export interface Job {
  readonly id: number;
  readonly kind: string;
  readonly subject: string;
  readonly state: string;
  /** Its last change, seconds since 1970. */
  readonly changed_s: number;
  readonly progress: Progress | undefined;
  readonly outcome: string | undefined;
}

/** The newest jobs that are none on archives. */
export async function fetchJobs(): Promise<Job[]> {
  const jobs = parseJobs(await (await fetchAnswer("v1/jobs")).json());
  return jobs.filter((job) => !(job.kind in ARCHIVES)).slice(0, JOBS_MAX);
}

/** The newest jobs on archives. */
export async function fetchArchiveJobs(): Promise<Job[]> {
  return parseJobs(await (await fetchAnswer("v1/archives/jobs")).json()).slice(0, JOBS_MAX);
}

/** Reads the answers of `/v1/jobs` and `/v1/archives/jobs`. */
export function parseJobs(value: unknown): Job[] {
  if (!Array.isArray(value) || !value.every(isRecord)) {
    throw new ProtocolError("the jobs are not a list of objects");
  }
  return value.map((job) => ({
    id: number(job, "id"),
    kind: string(job, "kind"),
    subject: string(job, "subject"),
    state: job["cancelled"] === true && job["state"] === "running" ? "ending" : string(job, "state"),
    changed_s: optionalNumber(job, "ended_s") ?? optionalNumber(job, "started_s") ?? number(job, "created_s"),
    progress: parseProgress(job["progress"]),
    outcome: optionalString(job, "outcome"),
  }));
}

function parseProgress(value: unknown): Progress | undefined {
  if (!isRecord(value)) {
    return undefined;
  }
  const progress = { part: string(value, "part"), done: number(value, "done"), total: number(value, "total") };
  return progress.part === "" ? undefined : progress;
}

/** `Save of a region 7`, `backup 8` */
export function jobTitle({ kind, id }: Job): string {
  return `${ARCHIVES[kind] ?? kind.replaceAll("_", " ")} ${formatCount(id)}`;
}

/** `running, assets: 3 of 9`, or `done: backup …` */
export function jobText({ state, progress, outcome }: Job): string {
  if (outcome !== undefined) {
    return `${state}: ${outcome}`;
  }
  if (progress === undefined) {
    return state;
  }
  const { part: name, done, total } = progress;
  return total === 0 ? `${state}, ${name}` : `${state}, ${name}: ${formatCount(done)} of ${formatCount(total)}`;
}

/** A row of a list of jobs. */
export function makeJob(job: Job, now_s: number): HTMLElement {
  const row = document.createElement("li");
  row.dataset["job"] = String(job.id);
  row.append(
    textElement("span", "row-name", jobTitle(job)),
    textElement("span", job.state === "failed" ? "row-trouble" : "", jobText(job)),
    textElement("span", "muted", `${job.subject}, ${formatAge(now_s - job.changed_s)} ago`),
  );
  if (job.progress !== undefined && job.progress.total > 0) {
    const bar = document.createElement("progress");
    bar.max = job.progress.total;
    bar.value = Math.min(job.progress.done, job.progress.total);
    bar.setAttribute("aria-label", `${jobTitle(job)}: ${job.progress.part}`);
    row.append(bar);
  }
  return row;
}

/** The card with loads and saves of archives. */
export class ArchivesPanel {
  private readonly card = part("archives-card", HTMLElement);
  private readonly jobs = part("archives", HTMLUListElement);

  /** Shows the jobs, if there are any. */
  show(jobs: readonly Job[], now_s: number): void {
    this.card.hidden = jobs.length === 0;
    this.jobs.replaceChildren(...jobs.map((job) => makeJob(job, now_s)));
  }

  /** Leaves the archives out: the token lacks the scope. */
  hide(): void {
    this.card.hidden = true;
  }
}
