/** The map's writing over its markers: names, cards under the pointer, and the heat and numbers of crowds. */

import { formatShort } from "../format";
import type { Crowds } from "./crowds";
import { LABEL_PX, placeLabels, type LabelWish } from "./labels";

/** Measured texts that are kept; when full, all are forgotten. */
const WIDTHS_MAX = 1_000;
const FONT = "600 12px system-ui, sans-serif";
/** A crowd's disc grows with the number in it, between these radii in CSS pixels. */
const DISC_PX_MIN = 11;
const DISC_PX_MAX = 17;

export interface TextColours {
  readonly text: string;
  readonly halo: string;
}

export interface CrowdColours extends TextColours {
  readonly heat: string;
  readonly count: string;
  readonly onCount: string;
}

/** The ground on the screen, CSS pixels. */
export interface Square {
  readonly left: number;
  readonly top: number;
  readonly side: number;
}

interface Point {
  readonly x: number;
  readonly y: number;
}

/** A canvas with measured texts: measuring a name again in each picture would cost more than drawing it. */
export class CanvasText {
  private readonly widths = new Map<string, number>();

  constructor(readonly context: CanvasRenderingContext2D) {}

  width(text: string): number {
    let width = this.widths.get(text);
    if (width === undefined) {
      if (this.widths.size >= WIDTHS_MAX) {
        this.widths.clear();
      }
      this.context.font = FONT;
      width = this.context.measureText(text).width;
      this.widths.set(text, width);
    }
    return width;
  }
}

/** Writes the labels that fit beside the markers `marks` of a radius. */
export function paintLabels(
  context: CanvasRenderingContext2D,
  wishes: readonly LabelWish[],
  marks: Iterable<Point>,
  radius: number,
  colours: TextColours,
): void {
  context.font = FONT;
  context.textAlign = "center";
  context.textBaseline = "bottom";
  context.lineJoin = "round";
  context.lineWidth = 3.5;
  context.strokeStyle = colours.halo;
  context.fillStyle = colours.text;
  for (const { text, x, y } of placeLabels(wishes, marks, radius, context.canvas.clientWidth)) {
    context.strokeText(text, x, y);
    context.fillText(text, x, y);
  }
}

/** A card with a text, `distance` pixels above a place; below it at the upper edge of the canvas. */
export function paintCard(measured: CanvasText, at: Point, text: string, distance: number, colours: TextColours): void {
  const { context } = measured;
  const { clientWidth } = context.canvas;
  const width = measured.width(text) + 16;
  const height = LABEL_PX + 8;
  const left = Math.min(clientWidth - width - 4, Math.max(4, at.x - width / 2));
  const above = at.y - distance - height;
  const top = above >= 4 ? above : at.y + distance;
  context.beginPath();
  context.roundRect(left, top, width, height, 6);
  context.fillStyle = colours.text;
  context.fill();
  context.font = FONT;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = colours.halo;
  context.fillText(text, left + width / 2, top + height / 2 + 0.5);
}

/** The heat layer: a soft spot for every full cell, the stronger the more avatars stand in it. */
export function paintHeat(context: CanvasRenderingContext2D, { cells, cell_px }: Crowds, ground: Square, colours: CrowdColours): void {
  const most = cells.reduce((count, cell) => Math.max(count, cell.count), 1);
  context.save();
  context.beginPath();
  context.rect(ground.left, ground.top, ground.side, ground.side);
  context.clip();
  for (const { x, y, count } of cells) {
    const gradient = context.createRadialGradient(x, y, 0, x, y, cell_px);
    gradient.addColorStop(0, colours.heat);
    gradient.addColorStop(1, "transparent");
    context.globalAlpha = 0.25 + 0.55 * Math.sqrt(count / most);
    context.fillStyle = gradient;
    context.fillRect(x - cell_px, y - cell_px, 2 * cell_px, 2 * cell_px);
  }
  context.restore();
}

/** The number of avatars in each crowd. */
export function paintCounts(context: CanvasRenderingContext2D, { crowds }: Crowds, colours: CrowdColours): void {
  context.font = FONT;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (const { x, y, count } of crowds) {
    const radius = Math.min(DISC_PX_MAX, Math.max(DISC_PX_MIN, 10 + 2 * Math.log10(count)));
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fillStyle = colours.count;
    context.fill();
    context.lineWidth = 1.5;
    context.strokeStyle = colours.halo;
    context.stroke();
    context.fillStyle = colours.onCount;
    context.fillText(formatShort(count).replace(" ", ""), x, y + 0.5);
  }
}
