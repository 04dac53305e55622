// A second, independent judge: hippolyzer's client (PyPI), run by hippo.py against a server of its own.

import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { assert, main } from './harness.mjs';
import { installHippolyzer } from './hippolyzer.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));

await main(async ({ loginUri, step }) => {
  const python = await step('hippolyzer is installed', installHippolyzer);
  await step('two hippolyzer clients enter, meet, talk, walk, travel and leave', () =>
    run(python, [join(HERE, 'hippo.py'), '--login', loginUri]),
  );
});

async function run(command, args) {
  const child = spawn(command, args, { stdio: 'inherit' });
  const code = await new Promise((done, fail) => child.once('exit', done).once('error', fail));
  assert(code === 0, `${args[0]} exited with ${code}`);
}
