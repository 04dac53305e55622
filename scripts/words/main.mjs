/**
 * Step `words` of `make lint`: prose of comments, string literals and Markdown documents, type names with several meanings, names of
 * tests, and commits without a body.
 *
 *   node scripts/words/main.mjs [--files 10] [--json]
 *
 * Prints the figures of each crate and of all, the files with the most findings, and the names with the most meanings. Exit status 1 when
 * a figure is above its limit (`limits.mjs`). Files of tests, benches and examples have figures of their own: their comments and the names
 * of all tests count, their string literals and types do not.
 */

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { BODIES_SINCE, DISCOURAGED, LIMITS } from './limits.mjs';
import { bodilessPercent, documentText, excesses, findings, indefinitePer1000, literalText, measureFile, measureText, overloadedNames, riddles, sumUp, testNames } from './measure.mjs';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
const { values: options } = parseArgs({ options: { files: { type: 'string', default: '10' }, json: { type: 'boolean', default: false } } });

const crates = join(ROOT, 'crates');
const isProduction = ({ path }) => path.split(sep)[1] === 'src' && !path.includes('tests');
const rust = readdirSync(crates, { recursive: true })
  .filter((path) => path.endsWith('.rs'))
  .sort()
  .map((path) => ({ path, crate: path.split(sep)[0], source: readFileSync(join(crates, path), 'utf8') }));
const sources = rust.filter(isProduction);
const files = sources.map(({ path, crate, source }) => ({ path, crate, ...measureFile(source) }));
const testFiles = rust.filter((file) => !isProduction(file)).map(({ path, source }) => ({ path, ...measureFile(source) }));
const tests = sumUp(testFiles, new Map());
const namesOfTests = rust.flatMap(({ source }) => testNames(source));
const documents = markdown().map((path) => ({ path, ...measureText(documentText(readFileSync(join(ROOT, path), 'utf8'))) }));
const literals = sources.map(({ path, source }) => ({ path: join('crates', path), ...measureText(literalText(source)) }));
const overloaded = overloadedNames(files);
const all = {
  ...sumUp(files, overloaded),
  documents_indefinite_per_1000: indefinitePer1000(documents),
  literals_indefinite_per_1000: indefinitePer1000(literals),
  tests_wh_percent: tests.wh_percent,
  tests_indefinite_per_1000: tests.indefinite_per_1000,
  tests_discouraged_per_1000: tests.discouraged_per_1000,
  test_names_percent: (100 * riddles(namesOfTests).length) / namesOfTests.length,
  bodiless_percent: bodiless(),
};
const byCrate = Object.fromEntries(
  [...new Set(files.map(({ crate }) => crate))].map((crate) => [crate, sumUp(files.filter((file) => file.crate === crate), overloaded)]),
);
const over = excesses(all, LIMITS);

if (options.json) {
  console.log(JSON.stringify({ all, crates: byCrate, limits: LIMITS, over }));
} else {
  print();
}
if (over.length > 0) {
  over.forEach((line) => console.error(`words: ${line}`));
  console.error('words: the comments and names that you changed are the place to begin; the limits are in scripts/words/limits.mjs');
  process.exit(1);
}

/** Paths of the Markdown documents, from the root: those beside it, in `docs`, and the README and notes of crates, tests and examples. */
function markdown() {
  const skipped = /(^|\/)(node_modules|target|dist|data)\//;
  const below = (folder) => readdirSync(join(ROOT, folder), { recursive: true }).map((path) => join(folder, path));
  const beside = readdirSync(ROOT);
  const all = [...beside, ...['crates', 'dashboards', 'docs', 'examples', 'fuzz', 'tests'].flatMap(below)];
  return all.filter((path) => path.endsWith('.md') && !skipped.test(path)).sort();
}

/** A source without its history has no commits to be judged. */
function bodiless() {
  try {
    const range = ['log', '--no-merges', '-z', '--format=%b', `${BODIES_SINCE}..HEAD`];
    const log = execFileSync('git', range, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    return bodilessPercent(log);
  } catch {
    console.error('words: there is no git history here, so commits are not judged');
    return 0;
  }
}

function print() {
  const columns = ['words', 'wh_percent', 'indefinite_per_1000', 'discouraged_per_1000', 'overloaded_percent'];
  const heads = ['crate', 'words', 'wh %', 'indef ‰', 'discour ‰', 'overl %'];
  const row = (cells) => console.log(cells.map((cell, index) => (index === 0 ? cell.padEnd(12) : cell.padStart(10))).join(''));
  const numbers = (figures) => columns.map((column) => (column === 'words' ? `${figures.words}` : figures[column].toFixed(1)));
  row(heads);
  Object.entries(byCrate).forEach(([crate, figures]) => row([crate, ...numbers(figures)]));
  row(['all', ...numbers(all)]);
  row(['limit', '', ...columns.slice(1).map((column) => `${LIMITS[column].max}`)]);
  row(['aim', '', ...columns.slice(1).map((column) => `${LIMITS[column].aim}`)]);
  console.log();
  const keys = ['documents_indefinite_per_1000', 'literals_indefinite_per_1000', 'tests_wh_percent', 'tests_indefinite_per_1000'];
  for (const key of [...keys, 'tests_discouraged_per_1000', 'test_names_percent', 'bodiless_percent']) {
    const { max, aim, unit, of } = LIMITS[key];
    console.log(`${of}: ${all[key].toFixed(1)} ${unit} (limit ${max}, aim ${aim})`);
  }

  console.log('\nfiles with the most findings:');
  const worst = [...files, ...testFiles].toSorted((a, b) => findings(b) - findings(a)).slice(0, Number(options.files));
  for (const file of worst) {
    const discouraged = file.discouraged.reduce((sum, count) => sum + count, 0);
    console.log(`${`${findings(file)}`.padStart(5)}  ${relative(ROOT, join(crates, file.path))}: wh ${file.wh}, indefinite ${file.indefinite}, discouraged ${discouraged}`);
  }
  console.log(`\ntest names that hide their subject: ${riddles(namesOfTests).slice(0, Number(options.files)).join(', ') || 'none'}`);
  const texts = [...documents, ...literals].filter(({ indefinite }) => indefinite > 0).sort((a, b) => b.indefinite - a.indefinite);
  console.log('\ndocuments and sources whose texts have the most indefinite persons:');
  texts.slice(0, Number(options.files)).forEach(({ path, indefinite }) => console.log(`${`${indefinite}`.padStart(5)}  ${path}`));
  const names = [...overloaded].slice(0, Number(options.files)).map(([name, count]) => `${name} ×${count}`);
  console.log(`\nnames with the most meanings: ${names.join(', ')}`);
  const words = DISCOURAGED.map(({ pattern, instead }, index) => ({ pattern, instead, count: files.reduce((sum, file) => sum + file.discouraged[index], 0) }));
  console.log('discouraged words:');
  for (const { pattern, instead, count } of words.filter((word) => word.count > 0).sort((a, b) => b.count - a.count)) {
    console.log(`${`${count}`.padStart(5)}  ${pattern.source.replaceAll('\\b', '')}: ${instead}`);
  }
}
