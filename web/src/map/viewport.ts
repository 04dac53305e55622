/** The part of a region that the map shows. Pure arithmetic: metres (north up) ↔ CSS pixels (down), zoom and pan. */

/** Zoom 1 shows the whole region. */
export const ZOOM_MAX = 16;
/** Free space around a region at zoom 1, CSS pixels. */
const MARGIN_PX = 12;

export class Viewport {
  private width = 1;
  private height = 1;
  private size_m = 256;
  private factor = 1;
  private centreX = 128;
  private centreY = 128;

  /** Sets the canvas size in CSS pixels. */
  resize(width: number, height: number): void {
    this.width = Math.max(1, width);
    this.height = Math.max(1, height);
    this.constrain();
  }

  /** Shows the whole of a region whose side is `size_m`. */
  reset(size_m: number): void {
    this.size_m = size_m;
    this.factor = 1;
    this.centreX = size_m / 2;
    this.centreY = size_m / 2;
  }

  /** Shows the whole of the region again. */
  showAll(): void {
    this.reset(this.size_m);
  }

  get zoom(): number {
    return this.factor;
  }

  /** CSS pixels per metre. */
  get scale(): number {
    return (Math.max(1, Math.min(this.width, this.height) - 2 * MARGIN_PX) / this.size_m) * this.factor;
  }

  toScreenX(x: number): number {
    return this.width / 2 + (x - this.centreX) * this.scale;
  }

  toScreenY(y: number): number {
    return this.height / 2 - (y - this.centreY) * this.scale;
  }

  /** Zooms by `ratio` around the given pixel; without one, around the centre. */
  zoomBy(ratio: number, pixelX = this.width / 2, pixelY = this.height / 2): void {
    const x = this.centreX + (pixelX - this.width / 2) / this.scale;
    const y = this.centreY - (pixelY - this.height / 2) / this.scale;
    this.factor = Math.min(ZOOM_MAX, Math.max(1, this.factor * ratio));
    this.centreX = x - (pixelX - this.width / 2) / this.scale;
    this.centreY = y + (pixelY - this.height / 2) / this.scale;
    this.constrain();
  }

  /** Moves the ground by a number of CSS pixels. */
  panBy(pixelsX: number, pixelsY: number): void {
    this.centreX -= pixelsX / this.scale;
    this.centreY += pixelsY / this.scale;
    this.constrain();
  }

  /** Puts a place in the middle, as far as the borders allow. */
  centreOn(x: number, y: number): void {
    this.centreX = x;
    this.centreY = y;
    this.constrain();
  }

  /** Keeps the region on the canvas: centred where it fits, edge to edge where it does not. */
  private constrain(): void {
    this.centreX = constrainAxis(this.centreX, this.size_m, (this.width - 2 * MARGIN_PX) / this.scale);
    this.centreY = constrainAxis(this.centreY, this.size_m, (this.height - 2 * MARGIN_PX) / this.scale);
  }
}

function constrainAxis(centre: number, size_m: number, visible_m: number): number {
  if (visible_m >= size_m) {
    return size_m / 2;
  }
  return Math.min(size_m - visible_m / 2, Math.max(visible_m / 2, centre));
}
