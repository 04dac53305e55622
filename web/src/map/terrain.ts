/**
 * Turns a height field into a shaded picture of land and water, as a cartographer would: colour by height above the
 * water, light from the north-west, a contour every few metres. It writes pixels and knows no canvas.
 */

type Colour = readonly [red: number, green: number, blue: number];

/** Colours of one theme. */
export interface Palette {
  readonly deep: Colour;
  readonly shallow: Colour;
  /** Land by height above the water in metres, rising. */
  readonly land: readonly (readonly [height_m: number, colour: Colour])[];
  readonly rock: Colour;
  /** Strength of light and shade on slopes, 0–1. */
  readonly relief: number;
  /** Darkness of a contour, 0–1. */
  readonly contour: number;
}

export const LIGHT: Palette = {
  deep: [118, 168, 199],
  shallow: [176, 213, 225],
  land: [
    [0, [236, 226, 192]],
    [1, [226, 222, 180]],
    [3, [197, 214, 163]],
    [18, [156, 190, 135]],
    [40, [171, 172, 143]],
    [70, [240, 240, 236]],
  ],
  rock: [176, 164, 143],
  relief: 0.36,
  contour: 0.13,
};

export const DARK: Palette = {
  deep: [14, 30, 45],
  shallow: [27, 59, 77],
  land: [
    [0, [88, 82, 64]],
    [1, [76, 76, 56]],
    [3, [52, 68, 48]],
    [18, [44, 60, 46]],
    [40, [66, 66, 60]],
    [70, [128, 132, 136]],
  ],
  rock: [70, 66, 60],
  relief: 0.5,
  contour: 0.2,
};

/** Pixels per side of a picture, per sample of the height field. */
export const PIXELS_PER_SAMPLE = 6;
/** Depth at which water has its full colour, metres. */
const DEEP_M = 8;
/** Half the height over which land turns into water: antialiases the shore. */
const SHORE_M = 0.12;
/** Height between two contours, metres. */
const CONTOUR_M = 5;
/** Below this rise per pixel there is no contour: a plain at just that height would be all line. */
const CONTOUR_RISE_MIN = 0.015;
/** Slopes (rise ÷ run) between which grass turns into rock. */
const ROCK_FROM = 0.7;
const ROCK_TO = 1.4;

/** A square field of heights in metres, rows from south to north. */
export class HeightField {
  constructor(
    readonly side: number,
    readonly samples: Float32Array,
  ) {
    if (samples.length !== side * side) {
      throw new RangeError(`${samples.length} samples are not ${side}²`);
    }
  }

  /** The sample at a place, or the nearest one of the border. */
  at(column: number, row: number): number {
    const last = this.side - 1;
    const index = Math.min(last, Math.max(0, row)) * this.side + Math.min(last, Math.max(0, column));
    return this.samples[index] ?? 0;
  }

  /** A field with `factor`² as many samples, smooth through the old ones (Catmull–Rom, first rows, then columns). */
  enlarge(factor: number): HeightField {
    const side = this.side * factor;
    const taps = Array.from({ length: side }, (_, index) => catmullRom((index + 0.5) / factor - 0.5));
    const wide = new Float32Array(side * this.side);
    for (let row = 0; row < this.side; row += 1) {
      for (const [column, { first, weights }] of taps.entries()) {
        wide[row * side + column] =
          weights[0] * this.at(first, row) +
          weights[1] * this.at(first + 1, row) +
          weights[2] * this.at(first + 2, row) +
          weights[3] * this.at(first + 3, row);
      }
    }
    const tall = new Float32Array(side * side);
    const last = this.side - 1;
    for (const [row, { first, weights }] of taps.entries()) {
      const starts = [0, 1, 2, 3].map((tap) => Math.min(last, Math.max(0, first + tap)) * side);
      const [a = 0, b = 0, c = 0, d = 0] = starts;
      for (let column = 0; column < side; column += 1) {
        tall[row * side + column] =
          weights[0] * (wide[a + column] ?? 0) +
          weights[1] * (wide[b + column] ?? 0) +
          weights[2] * (wide[c + column] ?? 0) +
          weights[3] * (wide[d + column] ?? 0);
      }
    }
    return new HeightField(side, tall);
  }
}

/** The picture of a field: RGBA, `field.side`² pixels, rows from north to south as a canvas wants them. */
export function shade(field: HeightField, size_m: number, water_m: number, palette: Palette): Uint8ClampedArray<ArrayBuffer> {
  const { side } = field;
  const pixels = new Uint8ClampedArray(side * side * 4);
  const step_m = size_m / side;
  let offset = 0;
  for (let row = side - 1; row >= 0; row -= 1) {
    for (let column = 0; column < side; column += 1) {
      const height = field.at(column, row);
      const eastward = (field.at(column + 1, row) - field.at(column - 1, row)) / 2;
      const northward = (field.at(column, row + 1) - field.at(column, row - 1)) / 2;
      const slope = Math.hypot(eastward, northward) / step_m;
      // Light from the north-west, 45° high: a surface that falls towards it is lit, one that falls away is dark.
      const lit = (eastward - northward) / step_m / Math.hypot(1, slope);

      const dry = smoothstep(-SHORE_M, SHORE_M, height - water_m);
      const wet = smoothstep(0, DEEP_M, water_m - height);
      const rocky = smoothstep(ROCK_FROM, ROCK_TO, slope);
      const light = 1 + palette.relief * Math.max(-0.7, Math.min(0.35, lit));
      const dark = 1 - palette.contour * contour(height, Math.hypot(eastward, northward));
      const land = landColour(palette, height - water_m);
      for (let channel = 0; channel < 3; channel += 1) {
        const ground = mix(land[channel] ?? 0, palette.rock[channel] ?? 0, rocky) * light * dark;
        // The bed shows a little through shallow water.
        const water = mix(palette.shallow[channel] ?? 0, palette.deep[channel] ?? 0, wet) * mix(light, 1, 0.75);
        pixels[offset + channel] = mix(water, ground, dry);
      }
      pixels[offset + 3] = 255;
      offset += 4;
    }
  }
  return pixels;
}

/** Coverage of a pixel of this height by a contour line, 0–1; lines are about one pixel wide on any slope. */
function contour(height: number, rise: number): number {
  if (rise < CONTOUR_RISE_MIN) {
    return 0;
  }
  const distance_m = Math.abs(height - Math.round(height / CONTOUR_M) * CONTOUR_M);
  return Math.max(0, 1 - distance_m / rise / 1.1);
}

function landColour(palette: Palette, height_m: number): Colour {
  let [lowerHeight, lower] = palette.land[0] ?? [0, palette.rock];
  for (const [upperHeight, upper] of palette.land) {
    if (height_m < upperHeight) {
      const share = Math.max(0, (height_m - lowerHeight) / (upperHeight - lowerHeight));
      return [mix(lower[0], upper[0], share), mix(lower[1], upper[1], share), mix(lower[2], upper[2], share)];
    }
    [lowerHeight, lower] = [upperHeight, upper];
  }
  return lower;
}

/** The four samples around a position, and what each counts for. */
function catmullRom(position: number): { first: number; weights: readonly [number, number, number, number] } {
  const floor = Math.floor(position);
  const t = position - floor;
  return {
    first: floor - 1,
    weights: [
      ((2 - t) * t - 1) * t * 0.5,
      ((3 * t - 5) * t * t + 2) * 0.5,
      ((4 - 3 * t) * t + 1) * t * 0.5,
      (t - 1) * t * t * 0.5,
    ],
  };
}

function mix(from: number, to: number, share: number): number {
  return from + (to - from) * share;
}

function smoothstep(from: number, to: number, value: number): number {
  const t = Math.min(1, Math.max(0, (value - from) / (to - from)));
  return t * t * (3 - 2 * t);
}
