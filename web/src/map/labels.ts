/** Chooses the names that fit on the map without covering each other. Pure: it gets widths and returns places. */

import { POINT } from "./markers";

/** A name that wants a place. */
export interface LabelWish {
  readonly text: string;
  /** Centre of its marker, CSS pixels. */
  readonly x: number;
  readonly y: number;
  /** Width of the text, CSS pixels. */
  readonly width: number;
}

export interface LabelPlace {
  readonly text: string;
  /** Middle of the text's lower edge. */
  readonly x: number;
  readonly y: number;
}

/** Height that a line of text takes. */
export const LABEL_PX = 15;
/** Free space between a marker and its name, and left and right of a name. */
const SPACE_PX = 3;

interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** Least distance of a name from the left and right edge of the map. */
const EDGE_PX = 4;

/**
 * Places each wish above its marker, or below if another marker or the upper edge is in the way, and leaves out those
 * that would cover an earlier name. A name at the left or right edge of a map of `width_px` is moved inwards rather than
 * cut. The order should not change from picture to picture, or names flicker.
 */
export function placeLabels(
  wishes: readonly LabelWish[],
  marks: Iterable<{ readonly x: number; readonly y: number }>,
  radius: number,
  width_px: number,
): LabelPlace[] {
  const markers: Box[] = [];
  for (const { x, y } of marks) {
    markers.push({ left: x - radius, right: x + radius, top: y - radius, bottom: y + radius });
  }
  const names: Box[] = [];
  const places: LabelPlace[] = [];
  for (const { text, x: wishedX, y, width } of wishes) {
    const half = width / 2 + EDGE_PX;
    const x = Math.max(half, Math.min(width_px - half, wishedX));
    const distance = radius * POINT + SPACE_PX;
    const sides = [y - distance, y + distance + LABEL_PX]
      .map((bottom) => ({ left: x - width / 2 - SPACE_PX, right: x + width / 2 + SPACE_PX, top: bottom - LABEL_PX, bottom }))
      .filter((box) => box.top >= 0 && !names.some((name) => overlaps(box, name)));
    // A name over a stranger's marker is better than no name.
    const box = sides.find((side) => !markers.some((marker) => overlaps(side, marker))) ?? sides[0];
    if (box !== undefined) {
      names.push(box);
      places.push({ text, x, y: box.bottom });
    }
  }
  return places;
}

function overlaps(a: Box, b: Box): boolean {
  return a.left < b.right && a.right > b.left && a.top < b.bottom && a.bottom > b.top;
}
