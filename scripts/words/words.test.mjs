// The measures of step `words` on small samples: node --test scripts/words/words.test.mjs

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from './limits.mjs';
import { bodilessPercent, commentBlocks, documentText, excesses, findings, indefinitePer1000, literalText, measureFile, measureText, overloadedNames, riddles, sumUp, testNames, typeNames } from './measure.mjs';

const SAMPLE = `//! What a mailbox is.
//!
//! A mailbox
//! for whoever writes.

/// Capacity of the mailbox, which is told at the start.
pub struct Mailbox {
    // How many there are.
    count: u32, // Where this stands is code.
}

fn f() {
    let text = "not // a comment";
}
`;

test('comment lines that follow one another are one block', () => {
  assert.deepEqual(commentBlocks(SAMPLE), [
    'What a mailbox is.',
    'A mailbox for whoever writes.',
    'Capacity of the mailbox, which is told at the start.',
    'How many there are.',
  ]);
  assert.deepEqual(commentBlocks(''), []);
});

test('a wh-word counts where a block opens with it, and nowhere else', () => {
  const { blocks, wh } = measureFile(SAMPLE);
  assert.deepEqual([blocks, wh], [4, 2]);
  assert.equal(measureFile('// Whatever it takes\n').wh, 0);
});

test('indefinite persons and discouraged words count wherever they are in a comment', () => {
  const { indefinite, discouraged, words } = measureFile(SAMPLE);
  assert.equal(indefinite, 1);
  assert.equal(discouraged.reduce((sum, count) => sum + count, 0), 1);
  assert.equal(words, 23);
  assert.equal(measureFile('fn nobody() {}\nlet told = "told";\n').indefinite, 0);
});

test('of documents only prose counts', () => {
  const markdown = 'A client.\n\n```sh\nwhoever\n```\n\nSee `nobody` in [the page](nobody.md).\n';
  assert.equal(documentText(markdown).trim().replaceAll(/\s+/g, ' '), 'A client. See in [the page].');
  assert.equal(indefinitePer1000([measureText('Nobody waits.'), measureText('The client waits now.')]), 1_000 / 6);
});

test('of literals only texts of production code count', () => {
  const source = 'let a = "one";\n// "a comment here"\nlet b = "nobody \\"waits\\"";\n#[cfg(test)]\nmod tests {\n let c = "nobody here";\n}\n';
  assert.equal(literalText(source), 'nobody \\"waits\\"');
});

test('type names are those of production code', () => {
  const source = 'pub(crate) struct A;\n  enum B {}\npub trait C {}\nstruct lower;\n#[cfg(test)]\nmod tests {\n  struct D;\n}\n';
  assert.deepEqual(typeNames(source), ['A', 'B', 'C']);
});

test('test names are those under a test attribute, with other attributes and comments between', () => {
  const source =
    '#[test]\nfn a() {}\n#[tokio::test(flavor = "current_thread")]\nasync fn b() {}\n#[test]\n#[ignore = "slow"]\n// A note.\nfn c() {}\nfn d() {}\n';
  assert.deepEqual(testNames(source), ['a', 'b', 'c']);
});

test('a test name hides its subject if it opens with a wh-word or has an indefinite person', () => {
  const names = ['what_is_lost_comes_again', 'who_left_is_gone', 'a_stop_loses_nobody', 'whoever_waits_is_served'];
  assert.deepEqual(riddles([...names, 'lost_objects_are_sent_again', 'a_reader_gets_what_it_reads']), names);
});

test('a name that is declared twice has two meanings, in whichever crates', () => {
  const [one, two] = ['struct State;\nstruct Shard;', 'enum State {}\nstruct Hub;'].map(measureFile);
  const overloaded = overloadedNames([one, two]);
  assert.deepEqual([...overloaded], [['State', 2]]);
  assert.equal(sumUp([one], overloaded).overloaded_percent, 50);
  assert.equal(Math.round(sumUp([one, two], overloaded).overloaded_percent), 33);
});

test('figures are shares of what there is, and 0 of nothing', () => {
  const figures = sumUp([measureFile(SAMPLE)], new Map());
  assert.equal(figures.wh_percent, 50);
  assert.equal(figures.indefinite_per_1000, 1_000 / 23);
  const nothing = sumUp([], new Map());
  assert.deepEqual([nothing.wh_percent, nothing.indefinite_per_1000, nothing.overloaded_percent], [0, 0, 0]);
  assert.equal(findings(measureFile(SAMPLE)), 4);
});

test('a commit whose body is empty or blank has none', () => {
  assert.equal(bodilessPercent('The reason.\n\0\0 \n\0Another.\0'), 50);
  assert.equal(bodilessPercent(''), 0);
});

test('a figure above its limit is named with both, one at its limit is not', () => {
  const figures = Object.fromEntries(Object.entries(LIMITS).map(([key, { max }]) => [key, max]));
  assert.deepEqual(excesses(figures, LIMITS), []);
  const [line, ...rest] = excesses({ ...figures, wh_percent: LIMITS.wh_percent.max + 0.1 }, LIMITS);
  assert.match(line, new RegExp(`wh-word: ${LIMITS.wh_percent.max}\\.1 %, and ${LIMITS.wh_percent.max} are allowed`));
  assert.deepEqual(rest, []);
});
