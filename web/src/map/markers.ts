/**
 * The avatar markers: drops whose point shows the heading, drawn once per direction into a sheet and then copied.
 *
 * Copying spares a fill and a stroke per avatar and picture. One path for all of them would spare that too, but cannot
 * show whose outline lies above whose.
 */

/** Colours of the markers. */
export interface MarkerColours {
  readonly moving: string;
  readonly standing: string;
  readonly outline: string;
}

/** Directions in the sheet: 5.6° apart, which cannot be seen at this size. */
const DIRECTIONS = 64;
const COLUMNS = 16;
/** Distance of the point from the centre, in radii. */
export const POINT = 1.75;

export class MarkerSheet {
  private readonly canvas = document.createElement("canvas");
  private key = "";
  private cell = 0;

  /** Makes the sheet for a radius in CSS pixels, unless it is this one already. */
  prepare(radius: number, pixelRatio: number, colours: MarkerColours): void {
    const key = [radius, pixelRatio, colours.moving, colours.standing, colours.outline].join();
    if (key === this.key) {
      return;
    }
    this.key = key;
    const outline = Math.max(0.75, radius * 0.22);
    // Whole device pixels per cell: a fraction would let neighbours bleed in.
    this.cell = Math.ceil(2 * (radius * POINT + outline + 1) * pixelRatio);
    this.canvas.width = this.cell * COLUMNS;
    this.canvas.height = (this.cell * 2 * DIRECTIONS) / COLUMNS;
    const context = context2d(this.canvas);
    for (let index = 0; index < 2 * DIRECTIONS; index += 1) {
      context.setTransform(pixelRatio, 0, 0, pixelRatio, this.left(index) + this.cell / 2, this.top(index) + this.cell / 2);
      // Canvas angles run clockwise because its y points down; headings run counter-clockwise.
      context.rotate((-(index % DIRECTIONS) / DIRECTIONS) * 2 * Math.PI);
      traceDrop(context, radius);
      context.lineJoin = "round";
      context.lineWidth = 2 * outline;
      context.strokeStyle = colours.outline;
      context.stroke();
      context.fillStyle = index < DIRECTIONS ? colours.standing : colours.moving;
      context.fill();
    }
  }

  /** Copies a marker; `x` and `y` are device pixels, and the context must have no transform. */
  draw(context: CanvasRenderingContext2D, x: number, y: number, yaw: number, moving: boolean): void {
    const turned = Math.round((yaw / (2 * Math.PI)) * DIRECTIONS);
    const direction = ((turned % DIRECTIONS) + DIRECTIONS) % DIRECTIONS;
    const index = moving ? direction + DIRECTIONS : direction;
    const { cell } = this;
    context.drawImage(this.canvas, this.left(index), this.top(index), cell, cell, x - cell / 2, y - cell / 2, cell, cell);
  }

  private left(index: number): number {
    return (index % COLUMNS) * this.cell;
  }

  private top(index: number): number {
    return Math.floor(index / COLUMNS) * this.cell;
  }
}

/**
 * Radius of a marker in CSS pixels for `count` avatars on `area_px` square pixels: as large as the crowd allows, in
 * steps, so that a person more or less does not redraw the sheet.
 */
export function markerRadius(area_px: number, count: number): number {
  const spacing = Math.sqrt(area_px / Math.max(1, count));
  return Math.round(2 * Math.min(6.5, Math.max(2.5, spacing * 0.16))) / 2;
}

/** A 2D context, which every browser that runs this page has. */
export function context2d(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
  const context = canvas.getContext("2d");
  if (context === null) {
    throw new Error("this browser has no 2D canvas");
  }
  return context;
}

/** A circle with a point in direction 0. */
function traceDrop(context: CanvasRenderingContext2D, radius: number): void {
  const shoulder = Math.PI / 3.4;
  context.beginPath();
  context.arc(0, 0, radius, shoulder, -shoulder);
  context.lineTo(radius * POINT, 0);
  context.closePath();
}
