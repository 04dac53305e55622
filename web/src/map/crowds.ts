/**
 * Finds the places of a map at which markers would cover each other, with the number of avatars at each. Pure.
 *
 * The ground is divided into square cells that are fixed to it, so that panning changes nothing; with the zoom their side
 * doubles or halves. Full cells make the heat layer. The full ones among four neighbours make a crowd with one number, and crowds
 * closer together than {@link APART_PX} become one: their numbers would cover each other.
 */

/** A marker as it would be drawn, CSS pixels. */
export interface Spot {
  readonly id: number;
  readonly x: number;
  readonly y: number;
}

/** A crowd, CSS pixels. */
export interface Crowd {
  /** Middle of its avatars. */
  readonly x: number;
  readonly y: number;
  readonly count: number;
}

export interface Crowds {
  readonly crowds: readonly Crowd[];
  /** Cells that are full, for the heat layer: their avatars' middle and number. */
  readonly cells: readonly Crowd[];
  /** Avatars that are part of a crowd and have no marker of their own. */
  readonly hidden: ReadonlySet<number>;
  /** Side of a cell, CSS pixels. */
  readonly cell_px: number;
}

/** Smallest side of a cell, CSS pixels; the largest is twice that. */
export const CELL_PX = 28;
/** Fewer avatars than this are drawn one by one, however close. */
export const CROWD_MIN = 6;
/** A cell is full when its markers come to this share of its area: spread at random, most of them touch another then. */
const FULL_SHARE = 0.5;
/** Side of the square that a marker takes with its point and outline, in radii. */
const MARKER_RADII = 2.6;
/** Least distance between two numbers, CSS pixels. */
const APART_PX = 30;

const NONE: Crowds = { crowds: [], cells: [], hidden: new Set(), cell_px: CELL_PX };

interface Cell {
  readonly column: number;
  readonly row: number;
  sumX: number;
  sumY: number;
  readonly ids: number[];
}

/**
 * Crowds among `spots`, whose markers have a radius of `radius` pixels. `origin` is the screen position of the ground's
 * corner and `scale` its pixels per metre. The avatar `kept` never vanishes in a crowd.
 */
export function findCrowds(
  spots: readonly Spot[],
  radius: number,
  scale: number,
  origin: { readonly x: number; readonly y: number },
  kept: number | undefined,
): Crowds {
  if (spots.length < CROWD_MIN) {
    return NONE;
  }
  const cell_px = 2 ** Math.ceil(Math.log2(CELL_PX / scale)) * scale;
  const cells = new Map<string, Cell>();
  for (const { id, x, y } of spots) {
    if (id === kept) {
      continue;
    }
    const [column, row] = [Math.floor((x - origin.x) / cell_px), Math.floor((y - origin.y) / cell_px)];
    const key = `${column} ${row}`;
    let cell = cells.get(key);
    if (cell === undefined) {
      cell = { column, row, sumX: 0, sumY: 0, ids: [] };
      cells.set(key, cell);
    }
    cell.sumX += x;
    cell.sumY += y;
    cell.ids.push(id);
  }
  const fullCount = Math.max(CROWD_MIN, (FULL_SHARE * cell_px * cell_px) / (MARKER_RADII * radius) ** 2);
  const full: Crowd[] = [];
  const groups = new Map<string, Crowd>();
  const hidden = new Set<number>();
  for (const { column, row, sumX, sumY, ids } of cells.values()) {
    if (ids.length >= fullCount) {
      const cell = { x: sumX / ids.length, y: sumY / ids.length, count: ids.length };
      full.push(cell);
      const key = `${column >> 1} ${row >> 1}`;
      groups.set(key, together(groups.get(key), cell));
      ids.forEach((id) => hidden.add(id));
    }
  }
  return { crowds: merge([...groups.values()]), cells: full, hidden, cell_px };
}

/** Two crowds as one, in the middle of all their avatars. */
function together(a: Crowd | undefined, b: Crowd): Crowd {
  if (a === undefined) {
    return b;
  }
  const count = a.count + b.count;
  return { x: (a.x * a.count + b.x * b.count) / count, y: (a.y * a.count + b.y * b.count) / count, count };
}

/** Joins crowds whose numbers would cover each other: the larger one takes the smaller in. */
function merge(groups: readonly Crowd[]): Crowd[] {
  const crowds: Crowd[] = [];
  for (const group of groups.toSorted((a, b) => b.count - a.count || a.x - b.x || a.y - b.y)) {
    const index = crowds.findIndex((crowd) => Math.hypot(crowd.x - group.x, crowd.y - group.y) < APART_PX);
    const crowd = crowds[index];
    if (crowd === undefined) {
      crowds.push(group);
    } else {
      // It keeps its place, so that numbers stay apart whatever joins them.
      crowds[index] = { ...crowd, count: crowd.count + group.count };
    }
  }
  return crowds;
}
