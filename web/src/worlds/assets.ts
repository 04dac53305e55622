/**
 * Assets on the operator's page: counts by kind, the scrubber's progress, and the contents in quarantine with the evidence of their damage.
 *
 * `/v1/assets`, which needs the scope `assets.read`. Without it the page leaves them out.
 */

import { part, textElement } from "../dom";
import { formatCount, formatShort } from "../format";
import { isRecord, list, number, ProtocolError, record, string, type Fields } from "../net/fields";
import { fetchAnswer } from "./api";

/** Contents in quarantine on the page. */
export const QUARANTINE_MAX = 50;

/** Assets of a kind. */
export interface AssetKind {
  readonly kind: string;
  readonly assets: number;
  readonly temporary: number;
  readonly damaged: number;
  readonly bytes: number;
}

/** A content in quarantine. */
export interface Quarantined {
  /** Name of its file. */
  readonly hash: string;
  readonly damage: string;
  /** Ids of the first assets with this content. */
  readonly assets: readonly string[];
}

/** All assets. */
export interface Assets {
  readonly kinds: readonly AssetKind[];
  /** Share of the present pass of the scrubber, 0 to 1. */
  readonly scrubPosition: number;
  readonly scrubVerified: number;
  readonly scrubDamaged: number;
  readonly scrubDays: number;
  /** Contents in quarantine, those that are not listed included. */
  readonly quarantined: number;
  readonly quarantine: readonly Quarantined[];
}

export async function fetchAssets(): Promise<Assets> {
  return parseAssets(await (await fetchAnswer("v1/assets")).json());
}

/** Reads the answer of `/v1/assets`. */
export function parseAssets(value: unknown): Assets {
  const fields = record(value, "the answer about assets");
  return {
    kinds: rows(fields, "kinds").map((row) => ({
      kind: string(row, "kind"),
      assets: number(row, "assets"),
      temporary: number(row, "temporary"),
      damaged: number(row, "damaged"),
      bytes: number(row, "bytes"),
    })),
    scrubPosition: number(fields, "scrub_position"),
    scrubVerified: number(fields, "scrub_verified"),
    scrubDamaged: number(fields, "scrub_damaged"),
    scrubDays: number(fields, "scrub_days"),
    quarantined: number(fields, "quarantined"),
    quarantine: rows(fields, "quarantine").map((row) => ({
      hash: string(row, "hash"),
      damage: string(row, "damage"),
      assets: list(row, "assets").map(String),
    })),
  };
}

function rows(fields: Fields, key: string): Fields[] {
  return list(fields, key).map((row) => {
    if (!isRecord(row)) {
      throw new ProtocolError(`${key} has an item that is not an object`);
    }
    return row;
  });
}

/** `1,234 assets, 12 of them temporary, 1.25 GB.` */
export function assetsText({ kinds }: Assets): string {
  const sum = (count: (kind: AssetKind) => number): number => kinds.reduce((all, kind) => all + count(kind), 0);
  const [assets, temporary, bytes] = [sum((kind) => kind.assets), sum((kind) => kind.temporary), sum((kind) => kind.bytes)];
  return assets === 0 ? "No assets." : `${formatCount(assets)} assets, ${formatCount(temporary)} of them temporary, ${formatShort(bytes)}B.`;
}

/** `25 % of all files are verified in this pass of 14 days; 1,234 since the start, 1 of them damaged.` */
export function scrubText({ scrubPosition, scrubVerified, scrubDamaged, scrubDays }: Assets): string {
  const pass = `${formatCount(scrubPosition * 100)} % of all files are verified in this pass of ${formatCount(scrubDays)} days`;
  return `${pass}; ${formatCount(scrubVerified)} since the start, ${formatCount(scrubDamaged)} of them damaged.`;
}

/** `12 assets, 2 of them temporary, 3.4 kB` */
export function kindText({ assets, temporary, bytes }: AssetKind): string {
  const passing = temporary === 0 ? "" : `, ${formatCount(temporary)} of them temporary`;
  return `${formatCount(assets)} assets${passing}, ${formatShort(bytes)}B`;
}

/** The card with the assets. */
export class AssetsPanel {
  private readonly card = part("assets-card", HTMLElement);
  private readonly state = part("assets-state", HTMLElement);
  private readonly scrub = part("scrub-state", HTMLElement);
  private readonly kinds = part("asset-kinds", HTMLUListElement);
  private readonly quarantine = part("quarantine", HTMLUListElement);
  private readonly noQuarantine = part("quarantine-empty", HTMLElement);
  private readonly more = part("quarantine-more", HTMLElement);

  show(assets: Assets): void {
    this.card.hidden = false;
    this.state.textContent = assetsText(assets);
    this.scrub.textContent = scrubText(assets);
    this.kinds.replaceChildren(...assets.kinds.map(makeKind));
    const listed = assets.quarantine.slice(0, QUARANTINE_MAX);
    this.quarantine.replaceChildren(...listed.map(makeQuarantined));
    this.noQuarantine.hidden = assets.quarantined > 0;
    this.more.hidden = assets.quarantined <= listed.length;
    this.more.textContent = `${formatCount(assets.quarantined - listed.length)} more are not listed.`;
  }

  /** Leaves the assets out: the token lacks the scope. */
  hide(): void {
    this.card.hidden = true;
  }
}

function makeKind(kind: AssetKind): HTMLElement {
  const row = document.createElement("li");
  row.dataset["kind"] = kind.kind;
  row.append(textElement("span", "row-name", kind.kind), textElement("span", "muted", kindText(kind)));
  if (kind.damaged > 0) {
    row.append(textElement("span", "row-trouble", `${formatCount(kind.damaged)} damaged`));
  }
  return row;
}

function makeQuarantined({ hash, damage, assets }: Quarantined): HTMLElement {
  const row = document.createElement("li");
  row.dataset["content"] = hash;
  row.append(
    textElement("span", "row-name", assets.join(" ")),
    textElement("span", "row-trouble", damage),
    textElement("span", "muted", `file ${hash.slice(0, 2)}/${hash}`),
  );
  return row;
}
