/**
 * Regions on the operator's page: counts of their objects, the age of unsaved changes, and the newest edits with their authors.
 *
 * `/v1/regions` and `/v1/regions/{name}/edits`, which need the scope `regions.read`. Without it the page leaves the regions out.
 */

import { part, textElement } from "../dom";
import { formatAge, formatCount } from "../format";
import { isRecord, number, optionalNumber, optionalString, ProtocolError, string, type Fields } from "../net/fields";
import { fetchAnswer } from "./api";

/** Regions whose edits are asked for: those with the most prims. */
export const EDIT_REGIONS_MAX = 8;
/** Edits on the page. */
export const EDITS_MAX = 20;
/** Age of an unsaved change from which it is shown: below, saves are as quick as promised. */
const LATE_S = 1;

/** A region. */
export interface RegionCounts {
  readonly name: string;
  readonly prims: number;
  readonly primsMax: number;
  readonly physical: number;
  /** Objects in motion: awake ones. */
  readonly moving: number;
  /** Age of the oldest change that is not on the disk, seconds. */
  readonly lag_s: number;
  /** Reason of the last failed save, in words. */
  readonly failure: string | undefined;
}

/** An edit of objects. */
export interface Edit {
  readonly region: string;
  readonly age_s: number;
  /** Name of the account, or its id; `undefined` for an operator. */
  readonly author: string | undefined;
  readonly what: string;
  /** Name of the first object; empty if it is not known. */
  readonly name: string;
  readonly done: number;
  readonly refused: number;
  readonly reason: string | undefined;
}

export async function fetchRegions(): Promise<RegionCounts[]> {
  return parseRegions(await (await fetchAnswer("v1/regions")).json());
}

/** The newest edits of these regions together. */
export async function fetchEdits(regions: readonly RegionCounts[]): Promise<Edit[]> {
  const largest = [...regions].sort((a, b) => b.prims - a.prims).slice(0, EDIT_REGIONS_MAX);
  const lists = largest.map(async ({ name }) =>
    parseEdits(name, await (await fetchAnswer(`v1/regions/${encodeURIComponent(name)}/edits`)).json()),
  );
  return newest((await Promise.all(lists)).flat());
}

/** The newest first, as many as the page shows. */
export function newest(edits: readonly Edit[]): Edit[] {
  return [...edits].sort((a, b) => a.age_s - b.age_s).slice(0, EDITS_MAX);
}

/** Reads the answer of `/v1/regions`. */
export function parseRegions(value: unknown): RegionCounts[] {
  return rows(value, "the regions").map((row) => ({
    name: string(row, "name"),
    prims: number(row, "prims"),
    primsMax: number(row, "prims_max"),
    physical: number(row, "physical"),
    moving: number(row, "moving"),
    lag_s: optionalNumber(row, "lag_s") ?? 0,
    failure: optionalString(row, "failure"),
  }));
}

/** Reads the answer of `/v1/regions/{name}/edits`. */
export function parseEdits(region: string, value: unknown): Edit[] {
  return rows(value, "the edits").map((row) => ({
    region,
    age_s: number(row, "age_s"),
    author: optionalString(row, "author_name") ?? optionalString(row, "author"),
    what: string(row, "what"),
    name: optionalString(row, "name") ?? "",
    done: number(row, "done"),
    refused: number(row, "refused"),
    reason: optionalString(row, "reason"),
  }));
}

function rows(value: unknown, what: string): Fields[] {
  if (!Array.isArray(value) || !value.every(isRecord)) {
    throw new ProtocolError(`${what} are not a list of objects`);
  }
  return value;
}

/** `1,234 of 45,000 prims, 12 physical, 3 in motion` */
export function countsText({ prims, primsMax, physical, moving }: RegionCounts): string {
  const counts = [`${formatCount(prims)} of ${formatCount(primsMax)} prims`, `${formatCount(physical)} physical`];
  return [...counts, `${formatCount(moving)} in motion`].join(", ");
}

/** `Not saved for 12 s: the disk is full.` Empty while saves are in time. */
export function saveText({ lag_s, failure }: RegionCounts): string {
  if (failure === undefined && lag_s < LATE_S) {
    return "";
  }
  const since = lag_s < LATE_S ? "The last save failed" : `Not saved for ${formatAge(lag_s)}`;
  return failure === undefined ? `${since}.` : `${since}: ${failure}`;
}

/** `place Gate: 3 done, 1 refused (rights)` */
export function editText({ what, name, done, refused, reason }: Edit): string {
  const object = name === "" ? "" : ` ${name}`;
  const why = reason === undefined ? "" : ` (${reason})`;
  const refusals = refused === 0 ? "" : `, ${formatCount(refused)} refused${why}`;
  return `${what}${object}: ${formatCount(done)} done${refusals}`;
}

/** The card with the regions. */
export class RegionsPanel {
  private readonly card = part("regions-card", HTMLElement);
  private readonly list = part("regions", HTMLUListElement);
  private readonly edits = part("edits", HTMLUListElement);
  private readonly noEdits = part("edits-empty", HTMLElement);

  /** Shows the regions and their newest edits. */
  show(regions: readonly RegionCounts[], edits: readonly Edit[]): void {
    this.card.hidden = false;
    this.list.replaceChildren(...regions.map(makeRegion));
    this.edits.replaceChildren(...edits.map(makeEdit));
    this.noEdits.hidden = edits.length > 0;
  }

  /** Leaves the regions out: the token lacks the scope. */
  hide(): void {
    this.card.hidden = true;
  }
}

function makeRegion(region: RegionCounts): HTMLElement {
  const row = document.createElement("li");
  row.dataset["region"] = region.name;
  row.append(textElement("span", "row-name", region.name), textElement("span", "muted", countsText(region)));
  const trouble = saveText(region);
  if (trouble !== "") {
    row.append(textElement("span", "row-trouble", trouble));
  }
  return row;
}

function makeEdit(edit: Edit): HTMLElement {
  const row = document.createElement("li");
  row.append(
    textElement("span", "edit-author", edit.author ?? "Operator"),
    textElement("span", "edit-what", editText(edit)),
    textElement("span", "muted", `${edit.region}, ${formatAge(edit.age_s)} ago`),
  );
  return row;
}
