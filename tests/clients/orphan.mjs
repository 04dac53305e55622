// A server ends with the scenario that started it, also when that one is killed and ends nothing itself.
//
//   node orphan.mjs

import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { assert, log, main, Skip } from './harness.mjs';
import { ENDS_WITH_PARENT, Server } from './server.mjs';
import { pulse, until, within } from './wait.mjs';

const CHILD = '--serve';

if (process.argv.includes(CHILD)) await serveUntilKilled();
else await main(killTheScenario);

/** The scenario that is killed: tells of its server, and waits. */
async function serveUntilKilled() {
  const { pid, dataDir } = await Server.start();
  process.stdout.write(`${JSON.stringify({ pid, dataDir })}\n`);
  await new Promise(() => setInterval(() => undefined, 60_000));
}

async function killTheScenario({ step }) {
  if (!ENDS_WITH_PARENT) throw new Skip('setpriv is not installed');
  const scenario = spawn(process.execPath, [fileURLToPath(import.meta.url), CHILD], { stdio: ['ignore', 'pipe', 'inherit'] });
  const told = await step('a scenario starts a server', () => within('its server', firstLine(scenario.stdout)));
  const { pid, dataDir } = JSON.parse(told);
  assert(runs(pid), 'the server runs');
  await step('the scenario is killed, and its server ends', async () => {
    scenario.kill('SIGKILL');
    const ticker = setInterval(pulse, 100);
    await until(`server ${pid} ends`, () => !runs(pid)).finally(() => clearInterval(ticker));
  });
  log('ended', { pid });
  rmSync(dataDir, { recursive: true, force: true });
}

/** A process that has ended may stay in the table until its new parent has asked for its status. */
function runs(pid) {
  if (!existsSync(`/proc/${pid}/stat`)) return false;
  const [, state] = /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  return state !== 'Z';
}

async function firstLine(stream) {
  let text = '';
  for await (const bytes of stream) {
    text += bytes;
    if (text.includes('\n')) return text;
  }
  throw new Error(`the scenario ended early: ${text}`);
}
