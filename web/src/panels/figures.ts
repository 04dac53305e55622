/** The live figures of the server, each with its course over the last ten minutes: three in visitors' words, six for engineers. */

import { part } from "../dom";
import { formatByteRate, formatCount, formatDuration, formatMs, formatShort } from "../format";
import { HISTORY_MAX, type Figures, type History } from "../net/protocol";

/** The figures that have a course: those that the history has. */
type Sample = Omit<Figures, "type" | "uptime_s">;

interface Tile {
  readonly id: string;
  /** Value of the line; a tile without one has no line. */
  readonly course?: (sample: Sample) => number;
  /** The smallest value that fills the height of the line, so that noise around zero looks like zero. */
  readonly top?: number;
  readonly value: (figures: Figures) => string;
  readonly detail?: (figures: Figures) => string;
}

const TILES: readonly Tile[] = [
  { id: "people", course: (f) => f.clients, top: 10, value: (f) => formatCount(f.clients) },
  {
    id: "speed",
    course: (f) => f.dilation,
    top: 1,
    value: (f) => (isRealTime(f) ? "Normal" : `${Math.floor(f.dilation * 100)} %`),
    detail: (f) => (isRealTime(f) ? "the world runs in real time" : "of real time: the server is busy"),
  },
  { id: "running", value: (f) => formatDuration(f.uptime_s) },
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
    detail: (f) => (isRealTime(f) ? "real time" : "slower than real time"),
  },
  { id: "uptime", value: (f) => formatDuration(f.uptime_s) },
];

/** Slower than this by less than half a percent is within the error of the measurement. */
function isRealTime({ dilation }: Sample): boolean {
  return dilation >= 0.995;
}

export class FiguresPanel {
  private readonly root = part("figures", HTMLElement);
  private readonly course = new Course();

  /** Begins the course anew with the server's history. */
  begin(history: History): void {
    this.course.begin(history);
    const newest = this.course.samples.at(-1);
    if (newest !== undefined) {
      this.paintValues({ type: "figures", uptime_s: history.uptime_s, ...newest });
    }
    this.paintLines();
  }

  /** Shows new figures as the end of the course. */
  push(figures: Figures): void {
    this.course.push(figures);
    this.paintValues(figures);
    this.paintLines();
  }

  private paintValues(figures: Figures): void {
    for (const tile of TILES) {
      const element = part(`figure-${tile.id}`, HTMLElement);
      fill(element, ".figure-value", tile.value(figures));
      if (tile.detail !== undefined) {
        fill(element, ".figure-detail", tile.detail(figures));
      }
    }
  }

  /** Marks the figures as current or outdated. */
  setCurrent(current: boolean): void {
    this.root.classList.toggle("outdated", !current);
  }

  private paintLines(): void {
    for (const { id, course, top } of TILES) {
      if (course !== undefined) {
        const points = linePoints(this.course.samples.map(course), top ?? 1);
        part(`figure-${id}`, HTMLElement).querySelector("polyline")?.setAttribute("points", points);
      }
    }
    // For tests: the number of seconds in the lines.
    this.root.dataset["history"] = String(this.course.samples.length);
  }
}

/** The figures of the last {@link HISTORY_MAX} seconds, each second once. */
export class Course {
  private rows: readonly Sample[] = [];
  /** Uptime of the server at the newest row. */
  private until_s = 0;

  /** The oldest first. */
  get samples(): readonly Sample[] {
    return this.rows;
  }

  /** Begins anew with the rows of a history's columns. */
  begin(history: History): void {
    this.until_s = history.uptime_s;
    this.rows = history.clients.map((clients, index) => ({
      clients,
      tick_ms_max: history.tick_ms_max[index] ?? 0,
      tick_ms_mean: history.tick_ms_mean[index] ?? 0,
      packets_in_per_s: history.packets_in_per_s[index] ?? 0,
      packets_out_per_s: history.packets_out_per_s[index] ?? 0,
      bytes_out_per_s: history.bytes_out_per_s[index] ?? 0,
      dilation: history.dilation[index] ?? 1,
    }));
  }

  /** Adds new figures; those that the history had already change nothing. */
  push(figures: Figures): void {
    if (figures.uptime_s > this.until_s) {
      this.until_s = figures.uptime_s;
      this.rows = [...this.rows.slice(1 - HISTORY_MAX), figures];
    }
  }
}

/**
 * A line through the values in a box of {@link HISTORY_MAX} × 24, newest at the right edge; `top` or the largest value is its
 * height.
 */
export function linePoints(values: readonly number[], top: number): string {
  const height = values.reduce((most, value) => Math.max(most, value), top);
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
