/** Numbers as the page shows them. All functions are pure and return "–" for a value that is not finite. */

const NOTHING = "–";
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

/** `12,345` */
export function formatCount(value: number): string {
  return Number.isFinite(value) ? whole.format(value) : NOTHING;
}

/** Three significant digits with a decimal prefix: `950`, `12.3 k`, `1.25 M`. */
export function formatShort(value: number): string {
  if (!Number.isFinite(value)) {
    return NOTHING;
  }
  let scaled = value;
  let prefix = "";
  for (const next of ["k", "M", "G", "T"]) {
    // 999.5 would round to 1,000 of the smaller unit.
    if (Math.abs(scaled) < 999.5) {
      break;
    }
    scaled /= 1_000;
    prefix = next;
  }
  if (prefix === "") {
    return whole.format(scaled);
  }
  const digits = Math.abs(scaled) < 9.995 ? 2 : Math.abs(scaled) < 99.95 ? 1 : 0;
  return `${scaled.toFixed(digits)} ${prefix}`;
}

/** Bytes per second: `640 B/s`, `1.25 MB/s`. */
export function formatByteRate(value: number): string {
  const short = formatShort(value);
  if (short === NOTHING) {
    return NOTHING;
  }
  return /[kMGT]$/.test(short) ? `${short}B/s` : `${short} B/s`;
}

/** Milliseconds: `0.42`, `3.1`, `48`. */
export function formatMs(value: number): string {
  if (!Number.isFinite(value)) {
    return NOTHING;
  }
  return value.toFixed(value < 1 ? 2 : value < 10 ? 1 : 0);
}

/** A duration in its two largest units: `42 s`, `3 min 12 s`, `5 h 7 min`, `12 d 3 h`. */
export function formatDuration(seconds: number): string {
  if (!Number.isFinite(seconds)) {
    return NOTHING;
  }
  const s = Math.max(0, Math.floor(seconds));
  if (s < 60) {
    return `${s} s`;
  }
  if (s < 3_600) {
    return `${Math.floor(s / 60)} min ${s % 60} s`;
  }
  if (s < 86_400) {
    return `${Math.floor(s / 3_600)} h ${Math.floor((s % 3_600) / 60)} min`;
  }
  return `${Math.floor(s / 86_400)} d ${Math.floor((s % 86_400) / 3_600)} h`;
}

/** A duration in its largest unit, rounded down: `42 s`, `3 min`, `5 h`, `12 d`. */
export function formatAge(seconds: number): string {
  if (!Number.isFinite(seconds)) {
    return NOTHING;
  }
  const s = Math.max(0, Math.floor(seconds));
  if (s < 60) {
    return `${s} s`;
  }
  if (s < 3_600) {
    return `${Math.floor(s / 60)} min`;
  }
  return s < 172_800 ? `${Math.floor(s / 3_600)} h` : `${Math.floor(s / 86_400)} d`;
}
