// node-metaverse clients that mingle, for the experiment `bot-fidelity`: they walk, rest and talk in rounds.
//
//   node fidelity.mjs --login URI --clients N
//
// Says `in` when all are in, mingles until standard input ends, says `out` when all are out. Our bots do the same with
// `--behavior mingle` (crates/bots/src/behavior.rs): keep the numbers equal.

import { createRequire } from 'node:module';
import { parseArgs } from 'node:util';
import { Client } from './client.mjs';

const { Logger } = createRequire(import.meta.url)('@caspertech/node-metaverse/dist/lib/classes/Logger.js');

const ROUND_MS = 20_000;
const WALK_MS = 8_000;
const WORDS_AT_MS = 14_000;
const WORDS = 'Did you see how many we are today?';

const { values } = parseArgs({ options: { login: { type: 'string' }, clients: { type: 'string', default: '20' } } });
// Standard output is for the experiment; whatever node-metaverse says goes where errors go. A client that fails ends the run.
console.log = console.error;
Logger.Log = (level, message) => console.error(level, message);
for (const event of ['uncaughtException', 'unhandledRejection']) {
  process.on(event, (error) => {
    console.error(event, error);
    process.exit(1);
  });
}

const clients = Array.from(
  { length: Number(values.clients) },
  (_, n) => new Client({ loginUri: values.login, first: `Fidelity${n}` }),
);
// One after the other: a crowd's login is not what is compared.
for (const client of clients) await client.enter();
const rounds = clients.map(mingle);
process.stdout.write('in\n');

process.stdin.resume();
await new Promise((ended) => process.stdin.once('end', ended));
rounds.forEach((stop) => stop());
await Promise.all(clients.map((client) => client.leave()));
process.stdout.write('out\n');
process.exit(0);

/** Begins rounds at some time of the first one, out in a random direction and back in the next; gives how to stop. */
function mingle(client) {
  let heading;
  let isOut = false;
  let timers = [];
  const at = (ms, action) => timers.push(setTimeout(action, ms));
  const round = () => {
    timers = [];
    heading = isOut ? heading + Math.PI : Math.random() * 2 * Math.PI;
    isOut = !isOut;
    client.walk(heading);
    at(WALK_MS, () => client.rest());
    at(WORDS_AT_MS, () => client.say(WORDS));
    at(ROUND_MS, round);
  };
  at(Math.random() * ROUND_MS, round);
  return () => {
    timers.forEach(clearTimeout);
    client.rest();
  };
}
