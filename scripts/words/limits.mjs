/**
 * The limits of `make lint`, step `words`, and the words that it counts. This is the only place for both.
 *
 * `max` fails the step. `aim` is the value of the best trees in this field (quinn, Firecracker), measured the same way.
 */

export const LIMITS = {
  wh_percent: { max: 6, aim: 3, unit: '%', of: 'comment blocks that open with a wh-word' },
  indefinite_per_1000: { max: 1, aim: 0.3, unit: 'per 1,000 words', of: 'indefinite persons in comments' },
  documents_indefinite_per_1000: { max: 1, aim: 0.3, unit: 'per 1,000 words', of: 'indefinite persons in documents' },
  literals_indefinite_per_1000: { max: 1, aim: 0.3, unit: 'per 1,000 words', of: 'indefinite persons in string literals' },
  overloaded_percent: { max: 8, aim: 5, unit: '%', of: 'type names with several meanings' },
  discouraged_per_1000: { max: 1, aim: 0.5, unit: 'per 1,000 words', of: 'discouraged words in comments' },
  tests_wh_percent: { max: 6, aim: 3, unit: '%', of: 'comment blocks of tests that open with a wh-word' },
  tests_indefinite_per_1000: { max: 1, aim: 0.3, unit: 'per 1,000 words', of: 'indefinite persons in comments of tests' },
  tests_discouraged_per_1000: { max: 1, aim: 0.5, unit: 'per 1,000 words', of: 'discouraged words in comments of tests' },
  test_names_percent: { max: 1, aim: 0.3, unit: '%', of: 'test names that open with a wh-word or have an indefinite person' },
  bodiless_percent: { max: 0, aim: 0, unit: '%', of: 'commits without a body' },
};

/** Commits behind this one have to say why: their bodies are not empty. */
export const BODIES_SINCE = '4b808d7';

/** A comment that opens with one of these names its subject late, or never. */
export const WH_WORDS = /^(What|Who|Whom|Whose|Where|When|Whether|How|Which|Why)\b/;

/** Persons without a name: the subject is a client, avatar, world or session. */
export const INDEFINITE =
  /\b(somebody|nobody|everybody|anybody|whoever|those who|who is|who are|what is|what was|so many|so much|one that)\b/gi;

/** Words for which the field, or plain English, has a better one. */
export const DISCOURAGED = [
  { pattern: /\b(DESIGN|PROTOCOL) §/g, instead: 'the fact itself: those papers are not in the repository' },
  { pattern: /\bthe issue\b/gi, instead: 'the fact itself' },
  { pattern: /\b(tells?|told|telling)\b/gi, instead: 'send, report, state, return' },
  { pattern: /\b(park(s|ed|ing)?)\b/gi, instead: 'suspend' },
  { pattern: /\b(woken)\b/gi, instead: 'resumed' },
  { pattern: /\b(stray(s)?)\b/gi, instead: 'orphan' },
  { pattern: /\b(laps?)\b/gi, instead: 'step duration' },
  { pattern: /\b(wishes)\b/gi, instead: 'client intent' },
  { pattern: /\b(depot)\b/gi, instead: 'instance store' },
  { pattern: /\b(reckons?)\b/gi, instead: 'dead reckoning' },
  { pattern: /\b(goes? on|going on|went on)\b/gi, instead: 'continue' },
  { pattern: /\b(takes? down|taken down)\b/gi, instead: 'record' },
  { pattern: /\b(shall)\b/gi, instead: 'must' },
  { pattern: /\b(to be had|be had)\b/gi, instead: 'available' },
  { pattern: /\b(as it were|so to speak|for ever|at any rate)\b/gi, instead: 'nothing' },
];
