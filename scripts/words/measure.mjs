/** Measures how comments and type names of Rust sources read. Pure: it gets texts and returns numbers. Limits are in `limits.mjs`. */

import { DISCOURAGED, INDEFINITE, WH_WORDS } from './limits.mjs';

/** Lines of comments that follow one another, without their slashes: one text for each block. An empty comment line ends a block. */
export function commentBlocks(source) {
  const blocks = [];
  let block = [];
  for (const line of `${source}\n`.split('\n')) {
    const text = /^\s*\/\/[/!]?\s?(.*)$/.exec(line)?.[1]?.trim() ?? '';
    if (text !== '') {
      block.push(text);
    } else if (block.length > 0) {
      blocks.push(block.join(' '));
      block = [];
    }
  }
  return blocks;
}

/** Names of the structs, enums and traits of a source, without those of its tests. */
export function typeNames(source) {
  const [production] = source.split(/#\[cfg\(test\)\]\s*mod \w+ \{/);
  const declaration = /^\s*(?:pub(?:\([^)]*\))?\s+)?(?:struct|enum|trait)\s+([A-Z]\w*)/gm;
  return [...production.matchAll(declaration)].map(([, name]) => name);
}

/** Counts of one file. */
export function measureFile(source) {
  const blocks = commentBlocks(source);
  const text = blocks.join('\n');
  const discouraged = DISCOURAGED.map(({ pattern }) => [...text.matchAll(pattern)].length);
  return {
    blocks: blocks.length,
    words: text.split(/\s+/).filter(Boolean).length,
    wh: blocks.filter((block) => WH_WORDS.test(block)).length,
    indefinite: [...text.matchAll(INDEFINITE)].length,
    discouraged,
    types: typeNames(source),
  };
}

/** Files of one crate, or all of them, as one: `overloaded` has the type names that several declarations of the workspace share. */
export function sumUp(files, overloaded) {
  const sum = (of) => files.reduce((total, file) => total + of(file), 0);
  const words = sum((file) => file.words);
  const names = new Set(files.flatMap((file) => file.types));
  return {
    blocks: sum((file) => file.blocks),
    words,
    types: names.size,
    wh_percent: share(sum((file) => file.wh), sum((file) => file.blocks), 100),
    indefinite_per_1000: share(sum((file) => file.indefinite), words, 1_000),
    discouraged_per_1000: share(sum((file) => sumOf(file.discouraged)), words, 1_000),
    overloaded_percent: share([...names].filter((name) => overloaded.has(name)).length, names.size, 100),
  };
}

/** Type names that are declared more than once, each with the number of its declarations. */
export function overloadedNames(files) {
  const counts = new Map();
  for (const name of files.flatMap((file) => file.types)) {
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return new Map([...counts].filter(([, count]) => count > 1).sort(([a, m], [b, n]) => n - m || a.localeCompare(b)));
}

/** Share of commits without a body, percent. `log` is the output of `git log -z --format=%b`: bodies, each followed by NUL. */
export function bodilessPercent(log) {
  const bodies = log.split('\0').slice(0, -1);
  return share(bodies.filter((body) => body.trim() === '').length, bodies.length, 100);
}

/** Findings that make a file worth rewriting first. */
export function findings(file) {
  return file.wh + file.indefinite + sumOf(file.discouraged);
}

/** The figures that are above their limits, in words. */
export function excesses(figures, limits) {
  return Object.entries(limits)
    .filter(([key, { max }]) => figures[key] > max)
    .map(([key, { max, unit, of }]) => `${of}: ${figures[key].toFixed(1)} ${unit}, and ${max} are allowed`);
}

function share(part, whole, scale) {
  return whole === 0 ? 0 : (scale * part) / whole;
}

function sumOf(counts) {
  return counts.reduce((total, count) => total + count, 0);
}
