/**
 * One region as the page knows it: its avatars, and their poses at any moment between two position frames.
 *
 * Positions come five times a second and the map is drawn sixty times. Each frame starts a new stretch for every
 * avatar, from where it is *drawn* at that moment to where the frame says it is; so no avatar jumps, whatever the
 * network does to the spacing of frames, and the picture is about one frame old. The model knows no canvas and no
 * clock: `now` is an argument, in milliseconds.
 */

import type { Positions, RegionInfo, Roster } from "../net/protocol";

/** Pose of an avatar: metres from the south-west corner, radians counter-clockwise from east. */
export interface Pose {
  x: number;
  y: number;
  yaw: number;
}

/** An avatar on its way from one pose to the next. */
export interface Track {
  readonly id: number;
  readonly from: Pose;
  readonly to: Pose;
  /** Metres per second, as the server measured it. */
  speed: number;
}

/** Nominal time between two frames; measurements move the estimate within the limits below. */
export const FRAME_MS = 200;
const FRAME_MS_MIN = 100;
const FRAME_MS_MAX = 600;
/** Weight of a new measurement in the estimate of the time between frames. */
const FRAME_MS_WEIGHT = 0.1;
/** Stretches are this much longer than the estimate, so that a slightly late frame does not halt all avatars. */
const STRETCH = 1.2;
/** No avatar walks or flies this far between two frames (25.5 m/s is 5 m): it is a teleport, and drawn as one. */
const JUMP_M = 20;
/** Slower than this an avatar counts as standing; smaller movements are the last of an interpolation. */
export const MOVING_MIN = 0.2;

export class Region {
  private names: ReadonlyMap<number, string> = new Map();
  private tracks = new Map<number, Track>();
  private stretchAt = 0;
  private stretchMs = FRAME_MS * STRETCH;
  private frameMs = FRAME_MS;
  private frameAt: number | undefined;
  private changing = false;

  constructor(readonly info: RegionInfo) {}

  /** Replaces the list of names. */
  applyRoster(roster: Roster): void {
    this.names = new Map(roster.avatars.map((avatar) => [avatar.id, avatar.name]));
  }

  /** Takes a frame that arrived at `now`. */
  applyPositions(positions: Positions, now: number): void {
    this.learnSpacing(now);
    const size = this.info.size_m;
    const progress = this.progress(now);
    const next = new Map<number, Track>();
    this.changing = positions.sightings.length !== this.tracks.size;
    for (const sighting of positions.sightings) {
      const to: Pose = { x: sighting.east * size, y: sighting.north * size, yaw: sighting.yaw };
      const known = this.tracks.get(sighting.id);
      const from = known === undefined ? { ...to } : interpolate(known, progress, { x: 0, y: 0, yaw: 0 });
      if (Math.hypot(to.x - from.x, to.y - from.y) > JUMP_M) {
        from.x = to.x;
        from.y = to.y;
        from.yaw = to.yaw;
      }
      this.changing ||= known === undefined || from.x !== to.x || from.y !== to.y || from.yaw !== to.yaw;
      next.set(sighting.id, { id: sighting.id, from, to, speed: sighting.speed });
    }
    this.tracks = next;
    this.stretchAt = now;
    this.stretchMs = this.frameMs * STRETCH;
  }

  /** Pose of `track` at `now`; fills and returns `out`. */
  pose(track: Track, now: number, out: Pose): Pose {
    return interpolate(track, this.progress(now), out);
  }

  /** Avatars with a position. */
  get avatars(): Iterable<Track> {
    return this.tracks.values();
  }

  /** Number of avatars with a position. */
  get placedCount(): number {
    return this.tracks.size;
  }

  /** Number of names in the roster. */
  get rosterCount(): number {
    return this.names.size;
  }

  /** Names by id, in the order of the roster. */
  get roster(): ReadonlyMap<number, string> {
    return this.names;
  }

  track(id: number): Track | undefined {
    return this.tracks.get(id);
  }

  name(id: number): string | undefined {
    return this.names.get(id);
  }

  /** True while a picture drawn at `now` differs from one drawn after the current stretch. */
  isMoving(now: number): boolean {
    return this.changing && now <= this.stretchAt + this.stretchMs;
  }

  private progress(now: number): number {
    return Math.min(1, Math.max(0, (now - this.stretchAt) / this.stretchMs));
  }

  private learnSpacing(now: number): void {
    const spacing = this.frameAt === undefined ? FRAME_MS : now - this.frameAt;
    this.frameAt = now;
    // A longer pause says that the server or this tab slept, not that frames are rarer now.
    if (spacing <= FRAME_MS_MAX) {
      const measured = Math.max(FRAME_MS_MIN, spacing);
      this.frameMs += (measured - this.frameMs) * FRAME_MS_WEIGHT;
    }
  }
}

function interpolate(track: Track, progress: number, out: Pose): Pose {
  const { from, to } = track;
  out.x = from.x + (to.x - from.x) * progress;
  out.y = from.y + (to.y - from.y) * progress;
  out.yaw = progress === 1 ? to.yaw : from.yaw + shortestTurn(from.yaw, to.yaw) * progress;
  return out;
}

/** The turn from one heading to another the short way round: −π ≤ turn < π. */
export function shortestTurn(from: number, to: number): number {
  const turn = (to - from + Math.PI) % (2 * Math.PI);
  return (turn < 0 ? turn + 2 * Math.PI : turn) - Math.PI;
}
