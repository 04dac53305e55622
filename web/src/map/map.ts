/**
 * The large map: one canvas with the ground, everybody on it and the names that fit.
 *
 * It draws when asked ({@link RegionMap.paintIfNeeded}, once per animation frame) and only if the picture changed, so
 * that a still world costs nothing. Input lives in `gestures.ts`; what to show is decided by whoever owns the map.
 */

import { MOVING_MIN, type Region } from "../model/region";
import { LABEL_PX, placeLabels, type LabelWish } from "./labels";
import { context2d, markerRadius, MarkerSheet, POINT, type MarkerColours } from "./markers";
import type { Reliefs } from "./relief";
import { Viewport } from "./viewport";

/** Up to so many avatars in view all names are shown; beyond that the one under the pointer and the followed one. */
const NAMES_MAX = 40;
/** How far from a marker's centre the pointer still means it, CSS pixels. */
const REACH_PX = 14;
/** Length of the trail behind a moving avatar: seconds of movement, but at most so many radii of its marker. */
const TRAIL_S = 1.5;
const TRAIL_RADII_MAX = 5;
/** In a larger crowd trails say nothing, and cost more than all markers. */
const TRAILS_MAX = 400;
/** Measured names that are kept; when full, all are forgotten. */
const TEXT_WIDTHS_MAX = 1_000;
const FONT = "600 12px system-ui, sans-serif";

/** Colours of the map, read from the style sheet so that they follow the theme. */
interface Colours extends MarkerColours {
  readonly dark: boolean;
  readonly ground: string;
  readonly edge: string;
  readonly grid: string;
  readonly trail: string;
  readonly text: string;
  readonly halo: string;
  readonly accent: string;
}

/** An avatar as it was last drawn. */
interface Mark {
  id: number;
  x: number;
  y: number;
  yaw: number;
  /** Metres per second; 0 for one who stands. */
  speed: number;
}

export class RegionMap {
  readonly viewport = new Viewport();
  private readonly context: CanvasRenderingContext2D;
  private readonly sheet = new MarkerSheet();
  private readonly textWidths = new Map<string, number>();
  private marks: Mark[] = [];
  private region: Region | undefined;
  private followed: number | undefined;
  private pointer: { x: number; y: number } | undefined;
  private dirty = true;
  private pixelRatio = 1;
  private colours: Colours;

  constructor(
    readonly canvas: HTMLCanvasElement,
    private readonly reliefs: Reliefs,
  ) {
    this.context = context2d(canvas);
    this.colours = readColours(canvas);
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.resize();
  }

  /** Shows a region from its whole extent on; the same region again keeps the view. */
  show(region: Region): void {
    if (this.region?.info.id !== region.info.id || this.region.info.size_m !== region.info.size_m) {
      this.viewport.reset(region.info.size_m);
      this.followed = undefined;
    }
    this.region = region;
    this.invalidate();
  }

  /** Keeps an avatar in the middle and named, or nobody. */
  follow(id: number | undefined): void {
    this.followed = id;
    this.invalidate();
  }

  get followedId(): number | undefined {
    return this.followed;
  }

  /** Tells where the pointer is, in CSS pixels of the canvas. */
  point(pointer: { x: number; y: number } | undefined): void {
    this.pointer = pointer;
    this.invalidate();
  }

  /** Who was drawn nearest to a place, if anyone is within reach. */
  hit(x: number, y: number): number | undefined {
    let nearest: number | undefined;
    let distance = REACH_PX;
    for (const mark of this.marks) {
      const away = Math.hypot(mark.x - x, mark.y - y);
      if (away <= distance) {
        distance = away;
        nearest = mark.id;
      }
    }
    return nearest;
  }

  /** The next animation frame draws anew. */
  invalidate(): void {
    this.dirty = true;
  }

  /** Reads the colours again. */
  themeChanged(): void {
    this.colours = readColours(this.canvas);
    this.invalidate();
  }

  /** What the small maps need of the theme. */
  get thumbnailColours(): { readonly dark: boolean; readonly dot: string } {
    return { dark: this.colours.dark, dot: this.colours.moving };
  }

  /** Draws if anything is different; returns whether it did. */
  paintIfNeeded(now: number): boolean {
    if (this.region === undefined || (!this.dirty && !this.region.isMoving(now))) {
      return false;
    }
    this.dirty = false;
    this.paint(this.region, now);
    return true;
  }

  private resize(): void {
    this.pixelRatio = window.devicePixelRatio;
    const { clientWidth, clientHeight } = this.canvas;
    this.canvas.width = Math.round(clientWidth * this.pixelRatio);
    this.canvas.height = Math.round(clientHeight * this.pixelRatio);
    this.viewport.resize(clientWidth, clientHeight);
    this.invalidate();
  }

  private paint(region: Region, now: number): void {
    const { context, canvas, pixelRatio } = this;
    this.centreOnFollowed(region, now);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.setTransform(pixelRatio, 0, 0, pixelRatio, 0, 0);
    this.paintGround(region);
    this.takeMarks(region, now);

    const area_px = (region.info.size_m * this.viewport.scale) ** 2;
    const radius = markerRadius(area_px, region.placedCount);
    this.paintTrails(radius);
    this.paintMarks(radius);
    this.paintNames(region, radius);
    // For tests: what stands here was really drawn.
    canvas.dataset["region"] = region.info.name;
    canvas.dataset["avatars"] = String(this.marks.length);
  }

  private centreOnFollowed(region: Region, now: number): void {
    const track = this.followed === undefined ? undefined : region.track(this.followed);
    if (track !== undefined) {
      const pose = region.pose(track, now, { x: 0, y: 0, yaw: 0 });
      this.viewport.centreOn(pose.x, pose.y);
    }
  }

  private paintGround(region: Region): void {
    const { context, viewport, colours } = this;
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
    const picture = this.reliefs.picture(region, colours.dark);
    if (picture !== undefined) {
      context.imageSmoothingQuality = "high";
      context.drawImage(picture, left, top, side, side);
    }
    context.beginPath();
    for (let metres = 64; metres < size_m; metres += 64) {
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

  /** Works out where everybody in view is; the marks are reused, so a crowd makes no garbage. */
  private takeMarks(region: Region, now: number): void {
    const { viewport, marks } = this;
    const { clientWidth, clientHeight } = this.canvas;
    const pose = { x: 0, y: 0, yaw: 0 };
    let count = 0;
    for (const track of region.avatars) {
      region.pose(track, now, pose);
      const x = viewport.toScreenX(pose.x);
      const y = viewport.toScreenY(pose.y);
      if (x < -20 || y < -20 || x > clientWidth + 20 || y > clientHeight + 20) {
        continue;
      }
      const mark = (marks[count] ??= { id: 0, x: 0, y: 0, yaw: 0, speed: 0 });
      mark.id = track.id;
      mark.x = x;
      mark.y = y;
      mark.yaw = pose.yaw;
      mark.speed = track.speed >= MOVING_MIN ? track.speed : 0;
      count += 1;
    }
    marks.length = count;
  }

  private paintTrails(radius: number): void {
    if (this.marks.length > TRAILS_MAX) {
      return;
    }
    const { context, viewport, colours } = this;
    context.beginPath();
    for (const mark of this.marks) {
      const length = Math.min(radius * TRAIL_RADII_MAX, mark.speed * TRAIL_S * viewport.scale);
      if (length > radius) {
        context.moveTo(mark.x, mark.y);
        context.lineTo(mark.x - Math.cos(mark.yaw) * length, mark.y + Math.sin(mark.yaw) * length);
      }
    }
    context.lineCap = "round";
    context.lineWidth = radius * 0.7;
    context.strokeStyle = colours.trail;
    context.stroke();
  }

  private paintMarks(radius: number): void {
    const { context, sheet, pixelRatio } = this;
    sheet.prepare(radius, pixelRatio, this.colours);
    context.save();
    context.setTransform(1, 0, 0, 1, 0, 0);
    for (const { x, y, yaw, speed } of this.marks) {
      sheet.draw(context, x * pixelRatio, y * pixelRatio, yaw, speed > 0);
    }
    context.restore();
  }

  private paintNames(region: Region, radius: number): void {
    const { context, colours, marks } = this;
    context.font = FONT;
    context.textAlign = "center";
    context.textBaseline = "bottom";
    context.lineJoin = "round";
    const pointed = this.pointer === undefined ? undefined : this.hit(this.pointer.x, this.pointer.y);
    const carded = new Set([this.followed, pointed]);
    if (marks.length <= NAMES_MAX) {
      const wishes: LabelWish[] = [];
      for (const mark of marks) {
        const text = region.name(mark.id);
        if (text !== undefined && !carded.has(mark.id)) {
          wishes.push({ text, x: mark.x, y: mark.y, width: this.textWidth(text) });
        }
      }
      context.lineWidth = 3.5;
      context.strokeStyle = colours.halo;
      context.fillStyle = colours.text;
      for (const { text, x, y } of placeLabels(wishes, marks, radius)) {
        context.strokeText(text, x, y);
        context.fillText(text, x, y);
      }
    }
    this.canvas.style.cursor = pointed === undefined ? "" : "pointer";
    for (const id of carded) {
      const mark = marks.find((candidate) => candidate.id === id);
      if (mark !== undefined) {
        this.paintCard(mark, region.name(mark.id) ?? "Somebody", radius);
      }
    }
  }

  /** A ring around an avatar and its name on a card, above all others. */
  private paintCard(mark: Mark, name: string, radius: number): void {
    const { context, colours } = this;
    context.beginPath();
    context.arc(mark.x, mark.y, radius * POINT + 3, 0, 2 * Math.PI);
    context.lineWidth = 2;
    context.strokeStyle = colours.accent;
    context.stroke();

    const width = this.textWidth(name) + 16;
    const height = LABEL_PX + 8;
    const left = Math.min(this.canvas.clientWidth - width - 4, Math.max(4, mark.x - width / 2));
    const above = mark.y - radius * POINT - 9 - height;
    const top = above >= 4 ? above : mark.y + radius * POINT + 9;
    context.beginPath();
    context.roundRect(left, top, width, height, 6);
    context.fillStyle = colours.text;
    context.fill();
    context.fillStyle = colours.halo;
    context.textBaseline = "middle";
    context.fillText(name, left + width / 2, top + height / 2 + 0.5);
    context.textBaseline = "bottom";
  }

  private textWidth(text: string): number {
    let width = this.textWidths.get(text);
    if (width === undefined) {
      // Names come and go for as long as the page is open; the few that are drawn are measured again in no time.
      if (this.textWidths.size >= TEXT_WIDTHS_MAX) {
        this.textWidths.clear();
      }
      width = this.context.measureText(text).width;
      this.textWidths.set(text, width);
    }
    return width;
  }
}

function readColours(canvas: HTMLCanvasElement): Colours {
  const style = getComputedStyle(canvas);
  // Custom properties come back as written; a colour property resolves `light-dark()` to what the theme makes of it.
  const probe = document.createElement("i");
  canvas.parentElement?.append(probe);
  const resolve = (name: string): string => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const colours: Colours = {
    dark: style.getPropertyValue("color-scheme").trim() === "dark",
    ground: resolve("--map-ground"),
    edge: resolve("--map-edge"),
    grid: resolve("--map-grid"),
    trail: resolve("--map-trail"),
    text: resolve("--map-text"),
    halo: resolve("--map-halo"),
    accent: resolve("--accent"),
    moving: resolve("--map-moving"),
    standing: resolve("--map-standing"),
    outline: resolve("--map-outline"),
  };
  probe.remove();
  return colours;
}
