/**
 * The large map: one canvas with the ground, all avatars on it, the numbers of those in crowds and the names that fit.
 *
 * It draws when asked ({@link RegionMap.paintIfNeeded}, once per animation frame) and only if the picture changed, so
 * that a still world costs nothing. Input lives in `gestures.ts`; what to show is decided by the owner of the map.
 */

import { formatShort } from "../format";
import { MOVING_MIN, type Region } from "../model/region";
import type { MapPortal } from "../net/protocol";
import { CanvasText, paintCard, paintCounts, paintHeat, paintLabels, type CrowdColours } from "./annotations";
import { findCrowds, type Crowd, type Crowds } from "./crowds";
import { GroundLayer, portalRadius, type GroundColours } from "./ground";
import type { LabelWish } from "./labels";
import { context2d, markerRadius, MarkerSheet, POINT, type MarkerColours } from "./markers";
import { portalName, type RegionObjects } from "./objects";
import type { Reliefs } from "./relief";
import { Viewport, ZOOM_MAX } from "./viewport";

/** Up to this number of avatars in view all names are shown; beyond it, the one under the pointer and the followed one. */
const NAMES_MAX = 40;
/** Reach of the pointer around a marker's centre, CSS pixels. */
const REACH_PX = 14;
/** Length of the trail behind a moving avatar: seconds of movement, and its greatest length in radii of the marker. */
const TRAIL_S = 1.5;
const TRAIL_RADII_MAX = 5;
/** In a larger crowd trails say nothing, and cost more than all markers. */
const TRAILS_MAX = 400;
/** Colours of the map, read from the style sheet so that they follow the theme. */
interface Colours extends MarkerColours, GroundColours, CrowdColours {
  readonly trail: string;
  readonly accent: string;
}

/** A part of the map that the pointer can mean. */
export type Target =
  | { readonly kind: "avatar"; readonly id: number }
  | { readonly kind: "crowd"; readonly crowd: Crowd }
  | { readonly kind: "portal"; readonly portal: MapPortal };

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
  private readonly ground: GroundLayer;
  private readonly text: CanvasText;
  private marks: Mark[] = [];
  private crowds: Crowds | undefined;
  private region: Region | undefined;
  private followed: number | undefined;
  private pointer: { x: number; y: number } | undefined;
  private dirty = true;
  private pixelRatio = 1;
  private colours: Colours;

  constructor(
    readonly canvas: HTMLCanvasElement,
    reliefs: Reliefs,
    private readonly objects: RegionObjects,
  ) {
    this.context = context2d(canvas);
    this.ground = new GroundLayer(reliefs, objects);
    this.text = new CanvasText(this.context);
    this.colours = readColours(canvas);
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.resize();
  }

  /** Shows a region from its whole extent on; the same region again keeps the view. */
  showRegion(region: Region): void {
    if (this.region?.info.id !== region.info.id || this.region.info.size_m !== region.info.size_m) {
      this.viewport.reset(region.info.size_m);
      this.followed = undefined;
    }
    this.region = region;
    this.invalidate();
  }

  /** Keeps an avatar in the middle and named; `undefined` follows none. */
  followAvatar(id: number | undefined): void {
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

  /** The avatar, crowd or portal that was drawn nearest to a place, if any is within reach. */
  hit(x: number, y: number): Target | undefined {
    let nearest: Target | undefined;
    let distance = REACH_PX;
    for (const mark of this.marks) {
      const away = Math.hypot(mark.x - x, mark.y - y);
      if (away <= distance && !this.isHidden(mark.id)) {
        distance = away;
        nearest = { kind: "avatar", id: mark.id };
      }
    }
    for (const crowd of this.crowds?.crowds ?? []) {
      const away = Math.hypot(crowd.x - x, crowd.y - y);
      if (away <= distance) {
        distance = away;
        nearest = { kind: "crowd", crowd };
      }
    }
    return nearest ?? this.portalAt(x, y);
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

  /** The part of the theme that the small maps need. */
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
    const { context, canvas, pixelRatio, viewport, colours } = this;
    this.centreOnFollowed(region, now);
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    this.ground.paint(context, region, viewport, pixelRatio, colours);
    context.setTransform(pixelRatio, 0, 0, pixelRatio, 0, 0);
    this.updateMarks(region, now);

    const area_px = (region.info.size_m * viewport.scale) ** 2;
    const radius = markerRadius(area_px, region.placedCount);
    const origin = { x: viewport.toScreenX(0), y: viewport.toScreenY(0) };
    // At the closest view there is nothing to zoom in to: each avatar has its marker.
    const isClosest = viewport.zoom >= ZOOM_MAX;
    this.crowds = isClosest ? undefined : findCrowds(this.marks, radius, viewport.scale, origin, this.followed);
    this.paintTrails(radius);
    if (this.crowds !== undefined) {
      const ground = { left: origin.x, top: viewport.toScreenY(region.info.size_m), side: region.info.size_m * viewport.scale };
      paintHeat(context, this.crowds, ground, colours);
    }
    this.paintMarks(radius);
    if (this.crowds !== undefined) {
      paintCounts(context, this.crowds, colours);
    }
    this.paintNames(region, radius);
    // For tests: what stands here was really drawn.
    canvas.dataset["region"] = region.info.name;
    canvas.dataset["avatars"] = String(this.marks.length);
    canvas.dataset["crowds"] = String(this.crowds?.crowds.length ?? 0);
    canvas.dataset["boxes"] = String(this.objects.of(region)?.boxes.length ?? 0);
    canvas.dataset["portals"] = String(this.objects.of(region)?.portals.length ?? 0);
  }

  private isHidden(id: number): boolean {
    return this.crowds?.hidden.has(id) ?? false;
  }

  private portalAt(x: number, y: number): Target | undefined {
    const portals = (this.region === undefined ? undefined : this.objects.of(this.region))?.portals ?? [];
    const { viewport } = this;
    const portal = portals.find((one) => {
      const away = Math.hypot(viewport.toScreenX(one.x) - x, viewport.toScreenY(one.y) - y);
      return away <= Math.max(REACH_PX, portalRadius(one.radius_m, viewport));
    });
    return portal === undefined ? undefined : { kind: "portal", portal };
  }

  private centreOnFollowed(region: Region, now: number): void {
    const track = this.followed === undefined ? undefined : region.track(this.followed);
    if (track !== undefined) {
      const pose = region.pose(track, now, { x: 0, y: 0, yaw: 0 });
      this.viewport.centreOn(pose.x, pose.y);
    }
  }

  /** Computes the screen position of each avatar in view; the marks are reused, so a crowd makes no garbage. */
  private updateMarks(region: Region, now: number): void {
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
      if (this.isHidden(mark.id)) {
        continue;
      }
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
    for (const { id, x, y, yaw, speed } of this.marks) {
      if (!this.isHidden(id)) {
        sheet.draw(context, x * pixelRatio, y * pixelRatio, yaw, speed > 0);
      }
    }
    context.restore();
  }

  private paintNames(region: Region, radius: number): void {
    const { context, colours, text, viewport } = this;
    const target = this.pointer === undefined ? undefined : this.hit(this.pointer.x, this.pointer.y);
    const pointed = target?.kind === "avatar" ? target.id : undefined;
    const carded = new Set([this.followed, pointed]);
    const shown = this.marks.filter((mark) => !this.isHidden(mark.id));
    const wishes: LabelWish[] = [];
    for (const { x, y, radius_m, to } of this.objects.of(region)?.portals ?? []) {
      const away = portalRadius(radius_m, viewport) - radius * POINT;
      const [screenX, screenY] = [viewport.toScreenX(x), viewport.toScreenY(y)];
      wishes.push({ text: portalName(to), x: screenX, y: screenY - away, width: text.width(portalName(to)) });
    }
    if (shown.length <= NAMES_MAX) {
      for (const mark of shown) {
        const name = region.name(mark.id);
        if (name !== undefined && !carded.has(mark.id)) {
          wishes.push({ text: name, x: mark.x, y: mark.y, width: text.width(name) });
        }
      }
    }
    // For tests: the card under the pointer.
    this.canvas.dataset["pointed"] = (pointed === undefined ? undefined : region.name(pointed)) ?? "";
    paintLabels(context, wishes, [...shown, ...(this.crowds?.crowds ?? [])], radius, colours);
    this.canvas.style.cursor = target === undefined ? "" : target.kind === "crowd" ? "zoom-in" : "pointer";
    for (const id of carded) {
      const mark = this.marks.find((candidate) => candidate.id === id);
      if (mark !== undefined) {
        context.beginPath();
        context.arc(mark.x, mark.y, radius * POINT + 3, 0, 2 * Math.PI);
        context.lineWidth = 2;
        context.strokeStyle = colours.accent;
        context.stroke();
        paintCard(text, mark, region.name(mark.id) ?? "Unknown", radius * POINT + 9, colours);
      }
    }
    if (target?.kind === "crowd") {
      paintCard(text, target.crowd, `${formatShort(target.crowd.count)} people here`, 18, colours);
    } else if (target?.kind === "portal") {
      const at = { x: viewport.toScreenX(target.portal.x), y: viewport.toScreenY(target.portal.y) };
      const words = target.portal.to === null ? "Portal back to where visitors came from" : `Portal to ${target.portal.to}`;
      paintCard(text, at, words, portalRadius(target.portal.radius_m, viewport) + 6, colours);
    }
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
    box: resolve("--map-box"),
    boxEdge: resolve("--map-box-edge"),
    portal: resolve("--map-portal"),
    portalFill: resolve("--map-portal-fill"),
    heat: resolve("--map-heat"),
    count: resolve("--map-count"),
    onCount: resolve("--map-on-count"),
    moving: resolve("--map-moving"),
    standing: resolve("--map-standing"),
    outline: resolve("--map-outline"),
  };
  probe.remove();
  return colours;
}
