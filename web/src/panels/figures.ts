/** The row of live figures, each with the course of its last two minutes. */

import { part } from "../dom";
import { formatByteRate, formatCount, formatDuration, formatMs, formatShort } from "../format";
import type { Figures } from "../net/protocol";

/** Figures that are kept for the lines: two minutes at one a second. */
const HISTORY_MAX = 120;

interface Tile {
  readonly id: string;
  /** What the line shows; a tile without one has no line. */
  readonly course?: (figures: Figures) => number;
  /** The smallest value that fills the height of the line, so that noise around zero looks like zero. */
  readonly top?: number;
  readonly value: (figures: Figures) => string;
  readonly detail?: (figures: Figures) => string;
}

const TILES: readonly Tile[] = [
  { id: "clients", course: (f) => f.clients, top: 10, value: (f) => formatCount(f.clients) },
  {
    id: "tick",
    course: (f) => f.tick_ms_mean,
    top: 5,
    value: (f) => `${formatMs(f.tick_ms_mean)} ms`,
    detail: (f) => `longest ${formatMs(f.tick_ms_max)} ms`,
  },
  {
    id: "packets",
    course: (f) => f.packets_in_per_s + f.packets_out_per_s,
    top: 100,
    value: (f) => formatShort(f.packets_in_per_s + f.packets_out_per_s),
    detail: (f) => `${formatShort(f.packets_in_per_s)} in · ${formatShort(f.packets_out_per_s)} out`,
  },
  { id: "bytes", course: (f) => f.bytes_out_per_s, top: 10_000, value: (f) => formatByteRate(f.bytes_out_per_s) },
  {
    id: "dilation",
    course: (f) => f.dilation,
    top: 1,
    value: (f) => f.dilation.toFixed(2),
    detail: (f) => (f.dilation >= 0.995 ? "real time" : "slower than real time"),
  },
  { id: "uptime", value: (f) => formatDuration(f.uptime_s) },
];

export class FiguresPanel {
  private readonly root = part("figures", HTMLElement);
  private history: Figures[] = [];

  /** Shows new figures as the end of the course. */
  push(figures: Figures): void {
    this.history = [...this.history.slice(1 - HISTORY_MAX), figures];
    for (const tile of TILES) {
      const element = part(`figure-${tile.id}`, HTMLElement);
      fill(element, ".figure-value", tile.value(figures));
      if (tile.detail !== undefined) {
        fill(element, ".figure-detail", tile.detail(figures));
      }
      const { course } = tile;
      if (course !== undefined) {
        const points = linePoints(this.history.map(course), tile.top ?? 1);
        element.querySelector("polyline")?.setAttribute("points", points);
      }
    }
  }

  /** Says whether what is shown still holds. */
  setCurrent(current: boolean): void {
    this.root.classList.toggle("outdated", !current);
  }

  /** Begins a new course: these would be the figures of another life of the server. */
  reset(): void {
    this.history = [];
  }
}

/** A line through the values in a box of 120 × 24, newest at the right edge; `top` or the largest value is its height. */
export function linePoints(values: readonly number[], top: number): string {
  const height = Math.max(top, ...values);
  return values
    .map((value, index) => {
      const x = HISTORY_MAX - values.length + index + 1;
      return `${x},${(23 - (Math.max(0, value) / height) * 22).toFixed(1)}`;
    })
    .join(" ");
}

function fill(element: HTMLElement, selector: string, text: string): void {
  const target = element.querySelector(selector);
  if (target !== null) {
    target.textContent = text;
  }
}
