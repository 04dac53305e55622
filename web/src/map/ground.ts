/**
 * The part of the map that stands still: the shaded ground, a grid, boxes and the rings of portals.
 *
 * It is kept as a picture of its own and drawn anew only when the view or the theme changes, so that ten thousand boxes cost
 * nothing while avatars move over them.
 */

import type { Region } from "../model/region";
import type { MapObjects } from "../net/protocol";
import { context2d } from "./markers";
import type { RegionObjects } from "./objects";
import type { Reliefs } from "./relief";
import type { Viewport } from "./viewport";

/** Colours of the ground, from the style sheet. */
export interface GroundColours {
  readonly dark: boolean;
  readonly ground: string;
  readonly edge: string;
  readonly grid: string;
  readonly box: string;
  readonly boxEdge: string;
  readonly portal: string;
  readonly portalFill: string;
}

/** Metres between two lines of the grid. */
const GRID_M = 64;
/** Boxes are drawn at least this large, CSS pixels. */
const BOX_PX_MIN = 1.5;
/** From this size on a box has an outline. */
const BOX_EDGE_PX = 5;
/** A portal's ring has at least this radius, CSS pixels. */
const PORTAL_PX_MIN = 6;

export class GroundLayer {
  private readonly canvas = document.createElement("canvas");
  private key = "";

  constructor(
    private readonly reliefs: Reliefs,
    private readonly objects: RegionObjects,
  ) {}

  /** Copies the ground to a canvas of the same size, whose transform must be the identity. */
  paint(target: CanvasRenderingContext2D, region: Region, viewport: Viewport, pixelRatio: number, colours: GroundColours): void {
    const relief = this.reliefs.picture(region, colours.dark);
    const objects = this.objects.of(region);
    const { width, height } = target.canvas;
    const view = [viewport.toScreenX(0), viewport.toScreenY(0), viewport.scale, pixelRatio, width, height];
    const key = [...view, region.info.id, region.info.name, colours.ground, relief !== undefined, objects !== undefined].join();
    if (key !== this.key) {
      this.key = key;
      this.canvas.width = width;
      this.canvas.height = height;
      const context = context2d(this.canvas);
      context.setTransform(pixelRatio, 0, 0, pixelRatio, 0, 0);
      paintGround(context, region, viewport, relief, colours);
      if (objects !== undefined) {
        paintBoxes(context, objects, viewport, colours);
        paintPortals(context, objects, viewport, colours);
      }
    }
    if (width > 0 && height > 0) {
      target.drawImage(this.canvas, 0, 0);
    }
  }
}

/** Radius of a portal's ring, CSS pixels. */
export function portalRadius(radius_m: number, viewport: Viewport): number {
  return Math.max(PORTAL_PX_MIN, radius_m * viewport.scale);
}

function paintGround(
  context: CanvasRenderingContext2D,
  region: Region,
  viewport: Viewport,
  relief: HTMLCanvasElement | undefined,
  colours: GroundColours,
): void {
  const { size_m } = region.info;
  const left = viewport.toScreenX(0);
  const top = viewport.toScreenY(size_m);
  const side = size_m * viewport.scale;
  context.save();
  context.beginPath();
  context.roundRect(left, top, side, side, 6);
  context.fillStyle = colours.ground;
  context.fill();
  context.clip();
  if (relief !== undefined) {
    context.imageSmoothingQuality = "high";
    context.drawImage(relief, left, top, side, side);
  }
  context.beginPath();
  for (let metres = GRID_M; metres < size_m; metres += GRID_M) {
    context.moveTo(viewport.toScreenX(metres), top);
    context.lineTo(viewport.toScreenX(metres), top + side);
    context.moveTo(left, viewport.toScreenY(metres));
    context.lineTo(left + side, viewport.toScreenY(metres));
  }
  context.lineWidth = 1;
  context.strokeStyle = colours.grid;
  context.stroke();
  context.restore();
  context.beginPath();
  context.roundRect(left, top, side, side, 6);
  context.lineWidth = 1;
  context.strokeStyle = colours.edge;
  context.stroke();
}

/** All boxes in view as one path: a fill each would take ten times as long. */
function paintBoxes(context: CanvasRenderingContext2D, objects: MapObjects, viewport: Viewport, colours: GroundColours): void {
  const { scale } = viewport;
  const ratio = context.getTransform().a;
  const [right, bottom] = [context.canvas.width / ratio, context.canvas.height / ratio];
  let largest = 0;
  context.beginPath();
  for (const { x, y, width, depth, turn } of objects.boxes) {
    const [cx, cy] = [viewport.toScreenX(x), viewport.toScreenY(y)];
    const [w, d] = [Math.max(BOX_PX_MIN, width * scale), Math.max(BOX_PX_MIN, depth * scale)];
    const reach = w + d;
    if (cx < -reach || cy < -reach || cx > right + reach || cy > bottom + reach) {
      continue;
    }
    largest = Math.max(largest, w, d);
    if (reach < 2 * BOX_EDGE_PX) {
      context.rect(cx - w / 2, cy - d / 2, w, d);
      continue;
    }
    // North is up: canvas angles run the other way round.
    const [ax, ay] = [(Math.cos(turn) * w) / 2, (-Math.sin(turn) * w) / 2];
    const [bx, by] = [(-Math.sin(turn) * d) / 2, (-Math.cos(turn) * d) / 2];
    context.moveTo(cx + ax + bx, cy + ay + by);
    context.lineTo(cx + ax - bx, cy + ay - by);
    context.lineTo(cx - ax - bx, cy - ay - by);
    context.lineTo(cx - ax + bx, cy - ay + by);
    context.closePath();
  }
  context.fillStyle = colours.box;
  context.fill();
  if (largest >= BOX_EDGE_PX) {
    context.lineWidth = 0.75;
    context.strokeStyle = colours.boxEdge;
    context.stroke();
  }
}

function paintPortals(context: CanvasRenderingContext2D, objects: MapObjects, viewport: Viewport, colours: GroundColours): void {
  for (const { x, y, radius_m } of objects.portals) {
    const radius = portalRadius(radius_m, viewport);
    context.beginPath();
    context.arc(viewport.toScreenX(x), viewport.toScreenY(y), radius, 0, 2 * Math.PI);
    context.fillStyle = colours.portalFill;
    context.fill();
    context.lineWidth = 2.5;
    context.strokeStyle = colours.portal;
    context.stroke();
  }
}
