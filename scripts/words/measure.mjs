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

/** Names of the test functions of a source. */
export function testNames(source) {
  const declaration = /#\[(?:\w+::)?test\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*|\/\/[^\n]*\n\s*)*(?:async\s+)?fn\s+(\w+)/g;
  return [...source.matchAll(declaration)].map(([, name]) => name);
}

/** Test names that open with a wh-word or have an indefinite person. */
export function riddles(names) {
  return names.filter((name) => {
    const text = name.replaceAll('_', ' ');
    return WH_WORDS.test(text[0].toUpperCase() + text.slice(1)) || text.match(INDEFINITE) !== null;
  });
}

/** Counts of one file. */
export function measureFile(source) {
  const blocks = commentBlocks(source);
  return {
    blocks: blocks.length,
    wh: blocks.filter((block) => WH_WORDS.test(block)).length,
    ...measureText(blocks.join('\n')),
    types: typeNames(source),
  };
}

/** Prose of a Markdown document: without fenced code, code spans and link targets. */
export function documentText(markdown) {
  return markdown
    .replaceAll(/^```[\s\S]*?^```/gm, '')
    .replaceAll(/`[^`\n]*`/g, '')
    .replaceAll(/\]\([^)\n]*\)/g, ']');
}

/** String literals of a source's production code that hold at least two words, as one text. */
export function literalText(source) {
  const [production] = source.split(/#\[cfg\(test\)\]\s*mod \w+ \{/);
  const code = production.replaceAll(/^\s*\/\/.*$/gm, '');
  const literals = [...code.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, text]) => text.replaceAll(/\\\s*\n\s*/g, ''));
  return literals.filter((text) => text.trim().includes(' ')).join('\n');
}

/** Words, indefinite persons and discouraged words of a text. */
export function measureText(text) {
  const matches = (pattern) => [...text.matchAll(pattern)].length;
  return {
    words: text.split(/\s+/).filter(Boolean).length,
    indefinite: matches(INDEFINITE),
    discouraged: DISCOURAGED.map(({ pattern }) => matches(pattern)),
  };
}

/** Indefinite persons per 1,000 words of several texts. */
export function indefinitePer1000(texts) {
  const sum = (of) => texts.reduce((total, text) => total + of(text), 0);
  return share(sum((text) => text.indefinite), sum((text) => text.words), 1_000);
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
